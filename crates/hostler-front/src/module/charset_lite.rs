//! `XLATEOUT` and `XLATEIN` (mod_charset_lite): texts sent in another character set than they are stored in, and bodies of
//! requests the other way. Nobody has to name the filters; they are where both character sets are.
//!
//! A character that is none, or that the other character set does not have, ends the body: what was to be translated is not
//! passed on as it is. The site's other work takes turns with it.
//!
//! **Diagnostics**: under `charset_lite`.

mod converter;

use crate::hook::filter;
use crate::hook::lead;
use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Input, Module, Name, Output, Run};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::io::through::Through;
use crate::limits::pieces::{FilterResult, Pieces};
use crate::request::Request;
use crate::request::flow::{Flow, Outcome};
use crate::request::reply::Marks;
use crate::request::slots::{Relation, State};
use bytes::Bytes;
use converter::Converter;
use hostler_config::directives::charset_lite::{Charset, Code};
use hostler_config::directives::filter::RESOURCE;
use std::task::Context;

const OUT: &str = "xlateout";
const IN: &str = "xlatein";

pub(crate) static MODULE: Module = Module {
    outputs: &[Output {
        name: Name::Added(OUT, RESOURCE, |request| adds(request) && !filter::is_named(request, OUT)),
        sees_bodiless: false,
        run: |request, body, _| Box::pin(answer(request, body)),
    }],
    inputs: &[Input {
        name: Name::Added(IN, RESOURCE, |request| adds(request) && !is_named_for_bodies(request)),
        run: |request, _| {
            posted(request);
            Box::pin(std::future::ready(Ok(())))
        },
    }],
    hooks: &[Hook {
        phase: Phase::Fixup,
        after: &["speling"],
        before: &[],
        when: |request| translation(request).is_some(),
        effect: Effect::Notes,
        run: Run::Now(note),
    }],
    ..Module::new("charset_lite", |_| false)
};

/// Of a body that is translated before others get their turn, in bytes.
const TURN: usize = 32 << 10;

fn translation(request: &Request) -> Option<(&Charset, &Charset)> {
    let is_passed_on = || request.resource.handler.as_deref().is_some_and(|name| name.starts_with(b"proxy"));
    request.resource.dir.charset_lite.translation().filter(|_| !is_passed_on())
}

/// Returns whether the filters are there although no directive names them.
fn adds(request: &Request) -> bool {
    request.resource.dir.charset_lite.adds != Some(false) && translation(request).is_some()
}

fn is_named_for_bodies(request: &Request) -> bool {
    request.resource.dir.core.input_filters.iter().flatten().any(|name| name.eq_ignore_ascii_case(IN))
}

/// An answer is translated, from this character set.
struct Translated(Box<str>);

impl State for Translated {
    fn copy(&self) -> Box<dyn State> {
        Box::new(Self(self.0.clone()))
    }

    fn related(&self, _: &Request, relation: Relation) -> Option<Box<dyn State>> {
        (relation == Relation::Sub).then(|| Box::new(Outer(self.0.clone())) as _)
    }
}

/// The answer that a part goes into is translated, from this character set.
struct Outer(Box<str>);

impl State for Outer {
    fn copy(&self) -> Box<dyn State> {
        Box::new(Self(self.0.clone()))
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        Some(self.copy())
    }
}

fn note(request: &mut Request) -> Outcome {
    if let Some((source, _)) = translation(request) {
        let source = source.name.clone();
        request.slots.put(Translated(source));
    }
    Ok(Flow::Declined)
}

/// Returns whether the content is translated: texts and messages, unless CharsetOptions says all. A part is, where the
/// answer that it goes into does not go on from another character set.
fn is_meant(request: &Request, default: &Charset) -> bool {
    let kind = request.resource.content_type.as_deref();
    let is = |start: &[u8]| {
        kind.and_then(|kind| kind.get(..start.len())).is_some_and(|kind| kind.eq_ignore_ascii_case(start))
    };
    let fits = request.slots.find::<Outer>().is_none_or(|outer| *outer.0 == *default.name);
    let all = request.resource.dir.charset_lite.all_types == Some(true);
    fits && kind.is_some() && (all || is(b"text/") || is(b"message/"))
}

async fn answer(request: &mut Request, body: Body) -> Body {
    let Some((source, default)) = translation(request).filter(|(_, default)| is_meant(request, default))
    else {
        return body;
    };
    if matches!(body, Body::Empty) {
        return body;
    }
    let (from, to) = (source.code, default.code);
    if !(from.is_single_byte() && to.is_single_byte()) {
        request.reply.headers_out.unset("Content-Length");
        request.reply.marks.set(Marks::UNRANGED);
    }
    let is_stream = matches!(body, Body::Stream(_));
    let answer = through(request, body, Converter::new(from, to));
    lead::begin(request, "charset_lite", answer, is_stream).await
}

/// UTF-8.
pub(crate) const UTF_8: Code = Code::Standard(encoding_rs::UTF_8);

/// An answer in another character set; what is no character in its own is left out.
pub(crate) async fn translate(
    request: &Request,
    module: &'static str,
    body: Body,
    from: Code,
    to: Code,
) -> Body {
    if from == to {
        return body;
    }
    let answer = through(request, body, Converter::new(from, to).skipping());
    lead::begin(request, module, answer, true).await
}

fn through(request: &Request, body: Body, converter: Converter) -> impl BodyStream + use<> {
    let mut text = text(request, converter);
    let mut source = body.into_stream();
    Through(move |cx: &mut Context<'_>| text.poll(cx, |cx| source.poll_chunk(cx)))
}

/// Bodies of POST and PUT are translated, whatever they are.
fn posted(request: &mut Request) {
    let Some((source, default)) = translation(request) else { return };
    if !matches!(&*request.target.method, b"POST" | b"PUT") {
        return;
    }
    let mut text = text(request, Converter::new(default.code, source.code));
    request.target.body = std::mem::take(&mut request.target.body)
        .through(move |source, cx| text.poll(cx, |cx| source.poll_chunk(cx)));
}

/// A body on its way into another character set.
fn text(
    request: &Request,
    mut converter: Converter,
) -> Pieces<impl FnMut(&[u8], bool) -> FilterResult + use<>> {
    Pieces::new(request, TURN, Bytes::new(), move |piece, last| {
        let mut out = Vec::new();
        converter.convert(piece, last, &mut out).map_err(BodyError::Filter)?;
        Ok(out)
    })
}
