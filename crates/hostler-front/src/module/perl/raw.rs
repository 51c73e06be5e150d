//! Answers that a program has written with their own head (`assbackwards`, `nph-`): HTTP/2 has no raw bytes, so
//! there status and fields are taken out of them.

use crate::io::body::Body;
use crate::limits::kept;
use crate::log::{self, Severity};
use crate::module::cgi;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use hostler_cgi::{NphParser, Progress};
use hostler_http1::head::HTTP_2;

/// Longest raw answer over HTTP/2, in bytes: its head can only be found in memory.
const LONGEST: usize = 16 << 20;

/// Makes an answer with its own head fit for the client.
pub(super) async fn arrange(request: &mut Request, body: Body) -> Result<Body, Halt> {
    if request.client.version < HTTP_2 || !request.reply.marks.have(Marks::RAW) {
        return Ok(body);
    }
    request.reply.marks.unset(Marks::RAW);
    let text =
        kept::collect(request, body, LONGEST).await.map_err(|error| failed(request, &error.to_string()))?;
    let mut parser = NphParser::new(cgi::LIMITS);
    match parser.parse(&text) {
        Progress::Complete { consumed } => {
            cgi::nph_fields(request, parser.into_header());
            Ok(Body::Bytes(text.slice(consumed..)))
        }
        Progress::Failed(error) => Err(failed(request, &error.to_string())),
        Progress::More => Err(failed(request, &parser.ended().to_string())),
    }
}

fn failed(request: &Request, why: &str) -> Halt {
    log::request(
        request,
        Severity::Error,
        super::engine(request).log,
        &format!("a raw answer can't be sent over HTTP/2: {why}"),
    );
    Halt::Status(500)
}
