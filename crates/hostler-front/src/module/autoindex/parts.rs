//! HeaderName and ReadmeName: files of the site above and below a listing. HTML is asked for by a sub-request, so
//! it may be a page with includes or a program's output; other text is shown as it is.

use crate::hook::handler;
use crate::hook::{follow, walk};
use crate::io::body::Body;
use crate::limits::kept;
use crate::module::core::source;
use crate::module::include;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::request::{FileEntry, Origin, Request};
use bytes::Bytes;
use hostler_config::directives::alias::escape_path;
use hostler_config::directives::autoindex::Part;

/// Longest part, in bytes.
const LONGEST: usize = 16 << 20;

/// The shown content.
pub(super) enum Content {
    None,
    Html(Bytes),
    Text(Bytes),
}

impl Content {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Html(bytes) | Self::Text(bytes) => bytes.len(),
        }
    }

    pub(super) fn part(&self) -> Part<'_> {
        match self {
            Self::None => Part::None,
            Self::Html(html) => Part::Html(html),
            Self::Text(text) => Part::Text(text),
        }
    }
}

/// HeaderName. It gets the listing's query, and is asked for text whatever the client wants.
///
/// # Errors
/// It is too much beside what else is kept of the site.
pub(super) async fn header(request: &mut Request) -> Result<Content, Halt> {
    let dir = request.resource.dir.clone();
    let Some(name) = dir.autoindex.header_name(&request.resource.filename) else { return Ok(Content::None) };
    let target = target(&request.target.uri, name, request.target.args.as_deref());
    let wishes = request.target.headers_in.clone();
    request.target.headers_in.set("Accept", Bytes::from_static(b"text/html, text/plain"));
    request.target.headers_in.unset("Accept-Encoding");
    let content = Box::pin(read(walk::look_up(request, &target).await)).await;
    request.target.headers_in = wishes;
    content
}

/// ReadmeName.
///
/// # Errors
/// As of [`header`].
pub(super) async fn readme(request: &Request) -> Result<Content, Halt> {
    match request.resource.dir.autoindex.readme_name(&request.resource.filename) {
        Some(name) => {
            Box::pin(read(walk::look_up(request, &target(&request.target.uri, name, None)).await)).await
        }
        None => Ok(Content::None),
    }
}

/// The URL of a name that is relative to the directory.
fn target(uri: &[u8], name: &str, query: Option<&[u8]>) -> Vec<u8> {
    let mut target = Vec::new();
    if !name.starts_with('/') {
        let end = uri.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        target = escape_path(&uri[..end]);
    }
    target.extend_from_slice(name.as_bytes());
    if let Some(query) = query {
        target.push(b'?');
        target.extend_from_slice(query);
    }
    target
}

async fn read((sub, phase): (Request, crate::request::flow::Continue)) -> Result<Content, Halt> {
    let FileEntry::File(_, file) = &sub.resource.found else { return Ok(Content::None) };
    let Some(kind) = sub.resource.content_type.as_deref().filter(|_| phase.is_ok()) else {
        return Ok(Content::None);
    };
    let essence = kind.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    if essence.eq_ignore_ascii_case(b"text/html") || essence.eq_ignore_ascii_case(b"application/xhtml+xml") {
        return Ok(Box::pin(run(sub)).await.map_or(Content::None, Content::Html));
    }
    let is_text = kind.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"text/"));
    let is_text = is_text && !source::is_hidden(&sub);
    let Some(file) = file.as_ref().ok().filter(|_| is_text) else { return Ok(Content::None) };
    Ok(kept::read(&sub, file, LONGEST as u64).await?.map_or(Content::None, Content::Text))
}

/// All that the sub-request's handler says; `None` if it fails.
async fn run(mut sub: Request) -> Option<Bytes> {
    let outcome = Box::pin(handler::invoke(&mut sub)).await;
    let (sub, outcome) = follow::follow(sub, outcome, |_| {}).await;
    match outcome {
        Ok(body) | Err(Halt::Done(body)) => {
            let of = sub.for_log();
            kept::collect(&of, expanded(sub, body).await?, LONGEST).await.ok()
        }
        Err(Halt::Redirect { .. } | Halt::Status(_)) => None,
    }
}

/// A page with includes leaves it to whoever includes it to expand it.
async fn expanded(mut sub: Request, body: Body) -> Option<Body> {
    let file = match &sub.resource.found {
        FileEntry::File(_, Ok(file)) if sub.reply.marks.have(Marks::NESTED) => file.clone(),
        _ => return Some(body),
    };
    sub.origin = Origin::Redirect;
    Box::pin(include::handle(&mut sub, file)).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_to_the_directory() {
        let url = |name, query| String::from_utf8(target(b"/a b/", name, query)).unwrap();
        assert_eq!(url("HEADER.html", None), "/a%20b/HEADER.html");
        assert_eq!(url("/inc/head.html", None), "/inc/head.html");
        assert_eq!(url("h.cgi", Some(b"C=N")), "/a%20b/h.cgi?C=N");
    }
}
