//! `XML2ENC` (mod_xml2enc): a page of any character set becomes UTF-8. Its character set is what its media type says, or
//! its first bytes, its XML declaration, its `<meta>`, or xml2EncDefault.
//!
//! **Diagnostics**: under `xml2enc`.

use crate::hook::registry::{Module, Name, Output};
use crate::io::body::Body;
use crate::io::through::Through;
use crate::log::{self, Severity};
use crate::module::charset_lite;
use crate::request::Request;
use bytes::Bytes;
use hostler_config::directives::charset_lite::{Charset, Code};
use hostler_html::charset::{charset_of, is_text, skip, sniff, with_charset};
use std::future::poll_fn;
use std::task::{Context, Poll};

pub(crate) static MODULE: Module = Module {
    outputs: &[Output {
        name: Name::Own("XML2ENC"),
        sees_bodiless: false,
        run: |request, body, _| Box::pin(changed(request, body)),
    }],
    ..Module::new("xml2enc", |_| false)
};

/// So much of a page is looked at, in bytes, unless it ends before.
const LOOKED_AT: usize = 4096;
/// So much of what has come by then is searched at most, in bytes.
const SEARCHED: usize = 64 << 10;

async fn changed(request: &mut Request, body: Body) -> Body {
    if matches!(body, Body::Empty) || !is_text(request.resource.content_type.as_deref().unwrap_or_default()) {
        return body;
    }
    let mut source = body.into_stream();
    let mut first = Vec::new();
    while first.len() < LOOKED_AT {
        match poll_fn(|cx| source.poll_chunk(cx)).await {
            None => break,
            Some(Ok(piece)) => first.extend_from_slice(&piece),
            Some(Err(error)) => return crate::hook::filter::failed(request, "xml2enc", &error.to_string()),
        }
    }
    let kind = request.resource.content_type.clone().unwrap_or_default();
    // What comes at once may be very much, and nobody else gets a turn meanwhile.
    let more = first.split_off(first.len().min(SEARCHED));
    let found = sniff(&kind, &mut first);
    let config = request.resource.dir.xml2enc.clone();
    let charset = match &found {
        Some(name) => request.server.conf.xml2enc.charset(name),
        None => config.default.clone(),
    };
    if let (Some(name), None) = (&found, &charset) {
        log::request(request, Severity::Error, "xml2enc", &format!("the character set {name} is not known"));
    }
    let code = charset.or(config.default.clone()).map_or(Code::Latin1, |charset| charset.code);
    if let Some(starts) = &config.starts {
        skip(&mut first, starts);
    }
    request.resource.content_type = Some(with_charset(&kind, "utf-8").into());
    request.reply.headers_out.unset("Content-Length");
    let mut begun = [more, first].map(Bytes::from).to_vec();
    begun.retain(|piece| !piece.is_empty());
    let whole = Through(move |cx: &mut Context<'_>| match begun.pop() {
        Some(first) => Poll::Ready(Some(Ok(first))),
        None => source.poll_chunk(cx),
    });
    charset_lite::translate(request, "xml2enc", Body::Stream(Box::new(whole)), code, charset_lite::UTF_8)
        .await
}

/// The character set that a media type names.
pub(crate) fn named(request: &Request, kind: &[u8]) -> Option<Charset> {
    request.server.conf.xml2enc.charset(&charset_of(kind)?)
}
