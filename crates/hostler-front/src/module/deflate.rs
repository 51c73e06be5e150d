//! DEFLATE and BROTLI_COMPRESS (mod_deflate, mod_brotli): which answers are compressed, and what that changes in
//! their header.
//!
//! ```text
//! accept     whether the client takes a coding
//! encoder    the compressors
//! stream     a body compressed on its way
//! variants   compressed copies of small files, kept with the open file
//! ```

mod encoder;
mod inflate;
mod stream;
mod variants;

use crate::request::reply::Marks;
pub(crate) use stream::Totals;
use variants::Variants;

use crate::hook::registry::{Module, Name, Output};
use crate::io::body::{Body, BodyError, BodyStream, Segment};
use crate::request::slots::{Relation, State};
use crate::request::{FileEntry, Request};
use crate::values::codings;
use bytes::Bytes;
use encoder::Recipe;
use hostler_config::directives::filter::AlterETag;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Bodies of known length up to this many bytes are compressed at once, so that their new length is known.
const WHOLE: u64 = 64 << 10;

/// mod_deflate leaves bodies alone that have fewer bytes: they would hardly become shorter.
const WORTHWHILE: u64 = 69;

/// Codings have a class in the key of what is remembered, and `Vary` tells of them.
pub(crate) static MODULE: Module = Module {
    outputs: &[output("DEFLATE"), output("BROTLI_COMPRESS"), inflate::OUTPUT],
    inputs: &[inflate::INPUT],
    changed_tags: Some(changed_tags),
    before_log: Some(note),
    ..Module::new("deflate", |_| false)
};

/// A content coding that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Brotli,
}

impl Coding {
    /// By the filter's name, lower or upper case.
    fn of_filter(name: &[u8]) -> Option<Self> {
        match name {
            _ if name.eq_ignore_ascii_case(b"deflate") => Some(Self::Gzip),
            _ if name.eq_ignore_ascii_case(b"brotli_compress") => Some(Self::Brotli),
            _ => None,
        }
    }

    /// The token in `Content-Encoding` and at the end of entity tags.
    const fn token(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
        }
    }

    /// The variable that switches the filter off.
    const fn switch(self) -> &'static str {
        match self {
            Self::Gzip => "no-gzip",
            Self::Brotli => "no-brotli",
        }
    }

    /// `DeflateAlterETag`, `BrotliAlterETag`.
    fn alter_etag(self, request: &Request) -> AlterETag {
        let conf = &request.server.conf.filter;
        match self {
            Self::Gzip => conf.deflate_etag,
            Self::Brotli => conf.brotli_etag,
        }
        .unwrap_or_default()
    }
}

/// The filter of this name.
const fn output(name: &'static str) -> Output {
    let name = Name::Own(name);
    Output {
        name,
        sees_bodiless: true,
        run: |request, body, name| {
            Box::pin(async move {
                let body = if is_empty_at_last(request, &body) { begun(request, body).await } else { body };
                apply(request, body, &name)
            })
        },
    }
}

/// Returns whether a body may turn out to be empty. Such a one is left alone: it would become longer.
fn is_empty_at_last(request: &Request, body: &Body) -> bool {
    matches!(body, Body::Stream(_))
        && request.target.headers_in.contains("Accept-Encoding")
        && !request.is_sub()
}

/// The body, once it has begun.
async fn begun(request: &mut Request, body: Body) -> Body {
    let mut rest = match body {
        Body::Stream(rest) => rest,
        other => return other,
    };
    let is_awaited = request.reply.marks.have(Marks::AWAITED);
    let first = poll_fn(|context| match rest.poll_chunk(context) {
        Poll::Pending if !rest.rests() && !is_awaited => Poll::Ready(None),
        polled => polled.map(Some),
    });
    match first.await {
        Some(None) => {
            request.reply.marks.unset(Marks::FLUSHED);
            Body::Empty
        }
        // It comes slowly: its head has been flushed, and Apache compresses what has been flushed.
        None => Body::Stream(rest),
        Some(first) => Body::Stream(Box::new(Begun { first, rest })),
    }
}

/// A body of which the first piece is here.
struct Begun {
    first: Option<Result<Bytes, BodyError>>,
    rest: Box<dyn BodyStream>,
}

impl BodyStream for Begun {
    fn rests(&self) -> bool {
        self.rest.rests()
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => self.rest.poll_chunk(context),
        }
    }
}

/// Compresses if the client takes it, and nothing has done so before.
fn apply(request: &mut Request, body: Body, name: &[u8]) -> Body {
    let Some(coding) = Coding::of_filter(name) else { return body };
    if !is_wanted(request, coding, body.len()) {
        return body;
    }
    fields(request, coding);
    if request.reply.status == 304 { body } else { encode(request, body, coding) }
}

/// Entity tags with the suffix of each coding that may be applied.
fn changed_tags(request: &Request, etag: &[u8]) -> Vec<Vec<u8>> {
    let mut tags = Vec::new();
    for coding in crate::hook::filter::names(request).iter().filter_map(|name| Coding::of_filter(name)) {
        if coding.alter_etag(request) == AlterETag::AddSuffix && is_accepted(request, coding) {
            tags.extend(with_suffix(etag, coding));
        }
    }
    tags
}

/// The filter's conditions in Apache's order; where they let it come as far as the client's wishes, `Vary` says so.
fn is_wanted(request: &mut Request, coding: Coding, length: Option<u64>) -> bool {
    // Quirk(apache): Brotli makes a byte of nothing, but not of a redirection's or an error's.
    let is_left = request.reply.status >= 300 && !request.reply.marks.have(Marks::FLUSHED);
    if length == Some(0) && is_left && request.reply.status != 304 && !request.is_head() {
        return false;
    }
    if coding == Coding::Gzip {
        let only_html = request.env.find("gzip-only-text/html").is_some_and(|value| &**value == b"1");
        let is_html =
            request.resource.content_type.as_deref().is_some_and(|kind| kind.starts_with(b"text/html"));
        if (only_html && !is_html)
            || (length.is_some_and(|n| n < WORTHWHILE)
                && !request.reply.marks.have(Marks::FLUSHED)
                && !is_revalidated(request))
        {
            return false;
        }
    }
    if request.is_sub()
        || request.reply.status == 204
        || request.env.contains(coding.switch())
        || request.reply.headers_out.contains("Content-Range")
        || is_encoded(request)
    {
        return false;
    }
    request.vary(b"Accept-Encoding");
    (coding == Coding::Gzip && request.env.contains("force-gzip")) || is_accepted(request, coding)
}

fn is_accepted(request: &Request, coding: Coding) -> bool {
    let field = request.target.headers_in.joined(b"Accept-Encoding");
    field.is_some_and(|field| codings::takes(&field, coding.token()))
}

/// A 304 for a client that asked with the compressed copy's tag. Apache has none: for it that tag never fits.
fn is_revalidated(request: &Request) -> bool {
    let Some(etag) = request.reply.headers_out.find("ETag") else { return false };
    let Some(asked) = request.target.headers_in.joined(b"If-None-Match") else { return false };
    let suffixed = with_suffix(etag, Coding::Gzip);
    request.reply.status == 304
        && suffixed.is_some_and(|tag| crate::hook::conditional::lists(&asked, &tag, true))
}

/// Returns whether a coding has been applied already.
fn is_encoded(request: &Request) -> bool {
    const NONE: [&[u8]; 4] = [b"identity", b"7bit", b"8bit", b"binary"];
    let there = [&request.reply.headers_out, &request.reply.err_headers_out]
        .map(|table| table.joined(b"Content-Encoding"));
    let there = there.iter().flatten().chain(&request.resource.content_encoding);
    there
        .flat_map(|value| value.split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .any(|token| !token.is_empty() && !NONE.contains(&token))
}

/// Changes the header for the coding.
fn fields(request: &mut Request, coding: Coding) {
    request.reply.headers_out.set("Content-Encoding", Bytes::from_static(coding.token().as_bytes()));
    request.reply.err_headers_out.unset("Content-Encoding");
    request.resource.content_encoding = Some(Bytes::from_static(coding.token().as_bytes()));
    request.reply.headers_out.unset("Content-Length");
    request.reply.headers_out.unset("Content-MD5");
    match coding.alter_etag(request) {
        AlterETag::NoChange => {}
        AlterETag::Remove => request.reply.headers_out.unset("ETag"),
        AlterETag::AddSuffix => {
            let changed = request.reply.headers_out.find("ETag").and_then(|etag| with_suffix(etag, coding));
            if let Some(changed) = changed {
                request.reply.headers_out.set("ETag", changed);
            }
        }
    }
}

/// `"x"` becomes `"x-gzip"`; what is no tag stays as it is.
fn with_suffix(etag: &[u8], coding: Coding) -> Option<Vec<u8>> {
    suffixed(etag, coding.token())
}

fn suffixed(etag: &[u8], suffix: &str) -> Option<Vec<u8>> {
    let opaque = etag.strip_suffix(b"\"").filter(|opaque| opaque.len() > 1)?;
    Some([opaque, b"-", suffix.as_bytes(), b"\""].concat())
}

fn encode(request: &mut Request, body: Body, coding: Coding) -> Body {
    let recipe = Recipe::of(request, coding);
    let Some(plain) = whole(&body) else {
        let totals = Rc::new(Totals::new(coding));
        request.slots.put(CompressStream(totals.clone()));
        return Body::Stream(Box::new(stream::CompressStream::of(
            request,
            body.into_stream(),
            recipe,
            totals,
        )));
    };
    let encoded = match file_of(request, &plain) {
        Some(file) => file.extensions.of::<Variants>().find_or_make(recipe, || encoder::all(recipe, &plain)),
        None => encoder::all(recipe, &plain),
    };
    note_totals(request, &Totals::of(coding, plain.len(), encoded.len()));
    Body::Bytes(encoded)
}

/// All of a short body.
fn whole(body: &Body) -> Option<Bytes> {
    body.len().filter(|&length| length <= WHOLE)?;
    match body {
        Body::Empty => Some(Bytes::new()),
        Body::Bytes(bytes) => Some(bytes.clone()),
        Body::Segments(segments) => {
            let mut all = Vec::new();
            for segment in segments {
                let Segment::Bytes(bytes) = segment else { return None };
                all.extend_from_slice(bytes);
            }
            Some(all.into())
        }
        Body::Stream(_) | Body::Tunnel(_) => None,
    }
}

/// The request's file, if these very bytes are its content in memory.
fn file_of<'a>(request: &'a Request, bytes: &Bytes) -> Option<&'a Rc<crate::io::open_file::OpenFile>> {
    let FileEntry::File(info, Ok(file)) = &request.resource.found else { return None };
    let is_same = info.size == bytes.len() as u64
        && file.content().is_some_and(|content| std::ptr::eq(content.as_ptr(), bytes.as_ptr()));
    is_same.then_some(file)
}

/// Once a compressed stream is sent, what compressing it came to is noted for the log.
fn note(request: &mut Request) {
    if let Some(compressed) = request.slots.take::<CompressStream>() {
        note_totals(request, &compressed.0);
    }
}

/// Counts the compression of a request's response.
#[derive(Clone)]
struct CompressStream(Rc<Totals>);

impl State for CompressStream {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        None
    }
}

/// DeflateFilterNote, BrotliFilterNote.
fn note_totals(request: &mut Request, totals: &Totals) {
    let conf = &request.server.clone().conf.filter;
    let notes = if totals.coding == Coding::Gzip { &conf.deflate_notes } else { &conf.brotli_notes };
    let (input, output) = (totals.input.get(), totals.output.get());
    let mut set = |name: &Option<Box<str>>, value: String| {
        if let Some(name) = name {
            request.notes.set(name.to_string(), value);
        }
    };
    set(&notes.input, input.to_string());
    set(&notes.output, output.to_string());
    let ratio = (output * 100).checked_div(input);
    set(&notes.ratio, ratio.map_or_else(|| "-".into(), |percent| percent.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_get_a_suffix_inside_of_their_quotes() {
        let changed =
            |tag: &str| with_suffix(tag.as_bytes(), Coding::Gzip).map(|tag| String::from_utf8(tag).unwrap());
        assert_eq!(changed("\"a-1\"").as_deref(), Some("\"a-1-gzip\""));
        assert_eq!(changed("W/\"a\"").as_deref(), Some("W/\"a-gzip\""));
        for odd in ["", "\"", "\"\"", "a"] {
            assert_eq!(changed(odd), None, "{odd}");
        }
    }

    #[test]
    fn filters_have_apaches_names() {
        assert_eq!(Coding::of_filter(b"Deflate"), Some(Coding::Gzip));
        assert_eq!(Coding::of_filter(b"brotli_compress"), Some(Coding::Brotli));
        assert_eq!(Coding::of_filter(b"inflate"), None);
    }

    #[test]
    fn short_bodies_are_one_piece() {
        let piece = |text: &'static [u8]| Segment::Bytes(Bytes::from_static(text));
        let body = Body::Segments(vec![piece(b"ab"), piece(b"c")]);
        assert_eq!(whole(&body).unwrap(), &b"abc"[..]);
        assert_eq!(whole(&Body::Bytes(vec![0; WHOLE as usize + 1].into())), None);
    }
}
