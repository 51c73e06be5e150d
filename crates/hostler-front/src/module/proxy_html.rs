//! `PROXY-HTML` (mod_proxy_html): links in the pages of servers behind this one. What is no link stays as it is, byte for
//! byte; Apache writes every page anew, and mends what it takes for mistakes.
//!
//! A page that can't be changed is a 500, or breaks off: links that lead past this server must not go through. The site's
//! other work takes turns with it.
//!
//! **Diagnostics**: under `proxy_html`.

use crate::hook::filter;
use crate::hook::lead;
use crate::hook::registry::{Module, Name, Output};
use crate::io::body::{Body, BodyError};
use crate::io::through::Through;
use crate::limits::budget;
use crate::limits::kept::Share;
use crate::limits::pieces::Pieces;
use crate::log::{self, Severity};
use crate::module::proxy::answer::is_of_connection;
use crate::module::{charset_lite, xml2enc};
use crate::request::reply::Marks;
use crate::request::{Request, expr_host};
use bytes::Bytes;
use hostler_config::directives::filter::RESOURCE;
use hostler_config::directives::proxy_html::Rules;
use hostler_expr::Captures;
use hostler_html::charset::with_charset;
use hostler_html::{Page, meta};
use std::future::poll_fn;
use std::task::Context;

const NAME: &str = "proxy-html";

pub(crate) static MODULE: Module = Module {
    outputs: &[Output {
        name: Name::Added(NAME, RESOURCE, |request| {
            request.resource.dir.proxy_html.enabled == Some(true) && !filter::is_named(request, NAME)
        }),
        sees_bodiless: false,
        run: |request, body, _| Box::pin(changed(request, body)),
    }],
    ..Module::new("proxy_html", |_| false)
};

/// Of a page that is changed before others get their turn, in bytes.
const TURN: usize = 8 << 10;

/// Returns whether it is a page of another server, or one that a variable says is to be taken for one.
fn is_meant(request: &Request) -> bool {
    let kind = request.resource.content_type.as_deref().unwrap_or_default();
    let is = |start: &[u8]| kind.get(..start.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(start));
    let is_proxied = request.resource.handler.as_deref().is_some_and(|name| name.starts_with(b"proxy"));
    let is_page = is_proxied && (is(b"text/html") || is(b"application/xhtml+xml"));
    (is_page || request.env.contains("PROXY_HTML_FORCE")) && request.resource.dir.proxy_html.links.is_some()
}

async fn changed(request: &mut Request, body: Body) -> Body {
    if matches!(body, Body::Empty) || !is_meant(request) {
        return body;
    }
    if request.reply.headers_out.contains("Content-Encoding") {
        let why = "a page that is compressed is passed on with its links as they are: RequestHeader unset Accept-Encoding";
        log::request(request, Severity::Warn, "proxy_html", why);
        return body;
    }
    let rules = match rules(request).await {
        Ok(rules) => rules,
        Err(why) => return filter::failed(request, "proxy_html", &why),
    };
    request.reply.headers_out.unset("Content-Length");
    request.reply.marks.set(Marks::UNRANGED);
    let is_stream = matches!(body, Body::Stream(_));
    let mut source = body.into_stream();
    let mut first = Bytes::new();
    if request.resource.dir.proxy_html.meta == Some(true) {
        match poll_fn(|cx| source.poll_chunk(cx)).await {
            None => {}
            Some(Ok(piece)) => first = piece,
            Some(Err(error)) => {
                return filter::failed(request, "proxy_html", &error.to_string());
            }
        }
        for (name, value) in fields(&first) {
            request.reply.headers_out.set(name.into_bytes(), value.into_bytes());
        }
    }
    let mut page = Page::new(request.resource.dir.clone(), rules, request.resource.content_type.as_deref());
    // A tag or a script that has not ended is held: it counts for its site.
    let (mut share, mut held, most) = (Share::of(request), 0, request.budget.most());
    let mut text = Pieces::new(request, TURN, first, move |piece: &[u8], last| {
        let made = budget::alone(most, || page.push(piece, last)).map_err(BodyError::Filter)?;
        held = if made.is_empty() { held + piece.len() } else { piece.len() };
        share.reach(held)?;
        Ok(made)
    });
    let answer = Through(move |cx: &mut Context<'_>| text.poll(cx, |cx| source.poll_chunk(cx)));
    let body = lead::begin(request, "proxy_html", answer, is_stream).await;
    let Some(Some(to)) = request.resource.dir.proxy_html.charset_out.clone() else { return body };
    let kind = request.resource.content_type.clone().unwrap_or_default();
    let from = xml2enc::named(request, &kind).map_or(charset_lite::UTF_8, |charset| charset.code);
    request.resource.content_type = Some(with_charset(&kind, &to.name).into());
    charset_lite::translate(request, "proxy_html", body, from, to.code).await
}

/// The fields of the answer that the beginning of a page names. How it is sent is nothing that a page could say.
fn fields(page: &[u8]) -> impl Iterator<Item = (String, String)> {
    meta::fields(page).into_iter().filter(|(name, _)| !is_of_connection(name.as_bytes()))
}

/// The maps that hold for the request.
async fn rules(request: &Request) -> Result<Rules, String> {
    let dir = request.resource.dir.clone();
    let dir = &dir.proxy_html;
    let mut holds = vec![true; dir.maps.len()];
    if dir.interpolates == Some(true) {
        for (holds, map) in holds.iter_mut().zip(&dir.maps) {
            if let Some(condition) = &map.condition {
                let tested = expr_host::test(request, condition, &mut Captures::new()).await;
                *holds = tested.map_err(|error| format!("a condition can't be carried out: {error}"))?;
            }
        }
    }
    let variable = |name: &str| request.env.find(name).map(|value| value.to_vec());
    Rules::of(dir, &variable, &holds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_does_not_say_how_it_is_sent() {
        let page = b"<meta http-equiv=Transfer-Encoding content=chunked><meta http-equiv=X-A content=b>";
        assert_eq!(fields(page).collect::<Vec<_>>(), [("X-A".to_owned(), "b".to_owned())]);
    }
}
