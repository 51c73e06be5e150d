//! `SetHandler reflector` (mod_reflector): a request's body, as the filters for bodies make it, is its answer, which goes
//! through the filters for answers. So others let filters work for them.

use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::io::through::Through;
use crate::log::{self, Severity};
use crate::module::core::file;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::values::text::http_date;
use bytes::Bytes;
use hostler_config::directives::core::Trace;
use std::task::{Context, Poll};

pub(crate) static MODULE: Module = Module {
    handlers: &[Handler {
        names: &["reflector"],
        types: &[],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    ..Module::new("reflector", |_| false)
};

/// A body of so many bytes is read whole before its answer begins: what is wrong with it has a status then.
const WHOLE: usize = 64 << 10;

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    match &*request.target.method {
        b"POST" => reflected(request).await,
        b"OPTIONS" => {
            file::drop_body(request).await?;
            request.reply.headers_out.set("Allow", allowed(request));
            Ok(Body::Empty)
        }
        _ => {
            request.reply.headers_out.set("Allow", allowed(request));
            Err(Halt::Status(405))
        }
    }
}

/// Methods that are answered, as they are told.
fn allowed(request: &Request) -> Bytes {
    let traces = request.server.conf.core.trace.unwrap_or_default() != Trace::Off;
    Bytes::from_static(if traces { b"OPTIONS,POST,TRACE" } else { b"OPTIONS,POST" })
}

async fn reflected(request: &mut Request) -> Result<Body, Halt> {
    let dir = request.resource.dir.clone();
    for (from, to) in &dir.reflector.headers {
        if let Some(value) = request.target.headers_in.find(&**from).cloned() {
            request.reply.headers_out.set(to.as_bytes().to_vec(), value);
        }
    }
    if let Some(kind) = request.target.headers_in.find("Content-Type").cloned() {
        request.resource.content_type = Some(kind);
    }
    // It is of now, and nobody knows before its end how long it is.
    let now = http_date(request.client.second());
    request.reply.headers_out.set("Last-Modified", Bytes::copy_from_slice(&now));
    request.reply.headers_out.set("Accept-Ranges", Bytes::from_static(b"bytes"));
    request.reply.marks.set(Marks::FLUSHED);
    request.reply.marks.set(Marks::UNRANGED);
    let mut first = Vec::new();
    while first.len() < WHOLE {
        let Some(piece) = request.target.body.chunk().await else { return Ok(Body::Bytes(first.into())) };
        let piece = piece.map_err(|error| {
            log::request(request, Severity::Info, "reflector", &format!("the body can't be read: {error}"));
            Halt::Status(error.status())
        })?;
        first.extend_from_slice(&piece);
    }
    let rest = std::mem::take(&mut request.target.body);
    let mut first = Some(Bytes::from(first));
    let whole = Through(move |cx: &mut Context<'_>| match first.take() {
        Some(first) => Poll::Ready(Some(Ok(first))),
        None => rest.poll_chunk(cx),
    });
    Ok(Body::Stream(Box::new(whole)))
}
