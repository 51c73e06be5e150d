//! Writing an answer: head, then body with its length or in chunks, pieces of files sent by the kernel.

use super::wire::Wire;
use crate::hook::alone;
use crate::io::body::{Body, BodyError, BodyStream, FILE_PIECE, Segment};
use crate::io::open_file::OpenFile;
use crate::io::sent::{Delivery, SendError};
use crate::values::status;
use crate::values::table::Table;
use bytes::Bytes;
use hostler_http1::head::{HTTP_09, HTTP_11, Version};
use hostler_http1::response::{Connection, connection, field};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// The longest time for which a response that is generated while it is sent, to a client that reads as fast, is
/// continued before other work gets its turn.
const TURN: Duration = Duration::from_millis(1);

/// An answer ready to be written.
pub(crate) struct Outgoing<'a> {
    pub(crate) version: Version,
    pub(crate) status: u16,
    /// A reason phrase of the script's own.
    pub(crate) reason: Option<&'a [u8]>,
    pub(crate) headers: &'a Table,
    pub(crate) body: Body,
    /// The answer to a HEAD request: everything but the body.
    pub(crate) head_only: bool,
    /// The connection's state after the response.
    pub(crate) connection: Connection,
    /// An nph- script's bytes: no head of ours.
    pub(crate) raw: bool,
    /// The client takes fields behind a body (`TE: trailers`).
    pub(crate) trailers: bool,
    /// A body that is made while it is sent is made to its end if the client leaves.
    pub(crate) runs_on: bool,
}

/// Returns whether this status never has a body (RFC 9110 §6.4.1).
pub(crate) fn bodiless(status: u16) -> bool {
    status < 200 || status == 204 || status == 304
}

/// Writes the answer. An error means that the connection is of no further use.
pub(crate) async fn send(
    wire: &Rc<Wire>,
    answer: Outgoing<'_>,
    sent: &mut Delivery,
) -> Result<(), SendError> {
    let no_body = answer.head_only || bodiless(answer.status);
    let length = answer.body.len();
    let chunked = length.is_none()
        && !no_body
        && answer.version >= HTTP_11
        && !answer.raw
        && !answer.headers.contains("Content-Length");
    let mut head = Vec::with_capacity(512);
    if !answer.raw && answer.version != HTTP_09 {
        write_head(&mut head, &answer, length, chunked);
    }
    sent.total += head.len() as u64;
    sent.length = length.filter(|_| !bodiless(answer.status));
    if no_body {
        let result = wire.write(&[&head]).await;
        if let Body::Stream(stream) = answer.body
            && answer.runs_on
        {
            // The head may have been flushed long before the program's end.
            Box::pin(alone::finish(stream)).await;
        }
        return result;
    }
    match answer.body {
        Body::Empty | Body::Tunnel(_) => wire.write(&[&head]).await,
        Body::Bytes(bytes) => {
            sent.total += bytes.len() as u64;
            sent.body += bytes.len() as u64;
            wire.write(&[&head, &bytes]).await
        }
        Body::Segments(segments) => send_segments(wire, head, segments, sent).await,
        Body::Stream(stream) => {
            let declared = declared(answer.headers);
            let mut stream = stream;
            let (runs_on, how) = (answer.runs_on && !stream.ends_with_client(), (chunked, answer.trailers));
            let result = send_stream(wire, (head, &mut *stream), how, declared, sent).await;
            if runs_on && matches!(result, Err(SendError::Gone)) {
                Box::pin(alone::finish(stream)).await;
            }
            result
        }
    }
}

fn declared(headers: &Table) -> Option<u64> {
    hostler_http1::framing::decimal(headers.find("Content-Length")?)
}

fn write_head(out: &mut Vec<u8>, answer: &Outgoing<'_>, length: Option<u64>, chunked: bool) {
    // The version is ours, not the request's (RFC 9110 §2.5).
    out.extend_from_slice(b"HTTP/1.1 ");
    status_line(out, answer.status, answer.reason);
    for (name, value) in answer.headers.iter() {
        if length.is_some() && name.eq_ignore_ascii_case(b"content-length") && !answer.head_only {
            continue;
        }
        field(out, name, value);
    }
    if let Some(n) = length
        && !bodiless(answer.status)
        && !(answer.head_only && (answer.headers.contains("Content-Length") || n == 0))
    {
        field(out, b"Content-Length", crate::values::text::decimal(n).as_bytes());
    }
    if chunked {
        field(out, b"Transfer-Encoding", b"chunked");
    }
    if answer.status != 101 {
        connection(out, answer.connection);
    }
    out.extend_from_slice(b"\r\n");
}

fn status_line(out: &mut Vec<u8>, code: u16, reason: Option<&[u8]>) {
    out.extend_from_slice(crate::values::text::decimal(u64::from(code)).as_bytes());
    out.push(b' ');
    out.extend_from_slice(reason.unwrap_or_else(|| status::reason(code).as_bytes()));
    out.extend_from_slice(b"\r\n");
}

async fn send_segments(
    wire: &Rc<Wire>,
    head: Vec<u8>,
    segments: Vec<Segment>,
    sent: &mut Delivery,
) -> Result<(), SendError> {
    let mut text = head;
    for segment in segments {
        match segment {
            Segment::Bytes(bytes) => {
                sent.body += bytes.len() as u64;
                sent.total += bytes.len() as u64;
                text.extend_from_slice(&bytes);
            }
            Segment::File { file, offset, length } => {
                wire.write_more(&[&text]).await?;
                text.clear();
                send_file(wire, &file, offset, length, sent).await?;
            }
        }
    }
    if text.is_empty() { Ok(()) } else { wire.write(&[&text]).await }
}

async fn send_file(
    wire: &Rc<Wire>,
    file: &OpenFile,
    mut offset: u64,
    mut left: u64,
    sent: &mut Delivery,
) -> Result<(), SendError> {
    while left > 0 {
        let n = if wire.is_tls() {
            let piece = file.read(offset, left.min(FILE_PIECE as u64) as usize).map_err(SendError::Body)?;
            wire.write(&[&piece]).await?;
            piece.len() as u64
        } else {
            match wire.send_file(file, offset, left.min(1 << 30) as usize).await? {
                0 => return Err(SendError::Body(crate::io::body::BodyError::Truncated)),
                n => n as u64,
            }
        };
        offset += n;
        left -= n;
        sent.body += n;
        sent.total += n;
    }
    Ok(())
}

fn last_chunk(out: &mut Vec<u8>, trailers: Option<&Table>) {
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers.into_iter().flat_map(Table::iter) {
        field(out, name, value);
    }
    out.extend_from_slice(b"\r\n");
}

/// The next piece of a body, as the stream gives it. `None`: there is none yet, and the head has not been sent.
async fn next_piece(
    wire: &Wire,
    stream: &mut dyn BodyStream,
    is_headless: bool,
) -> Result<Option<Option<Result<Bytes, BodyError>>>, SendError> {
    let polled = pin!(poll_fn(|cx| match stream.poll_chunk(cx) {
        Poll::Pending if wire.deadline.poll_cut_off(cx) => Poll::Ready(Err(SendError::Timeout)),
        Poll::Pending if is_headless && !stream.rests() => Poll::Ready(Ok(None)),
        polled => polled.map(|piece| Ok(Some(piece))),
    }));
    wire.while_there(polled).await.unwrap_or(Err(SendError::Gone))
}

/// Sends the bytes received so far; the missing end makes the break visible.
async fn break_off(wire: &Wire, text: &[u8], error: BodyError) -> Result<(), SendError> {
    if !text.is_empty() {
        wire.write(&[text]).await?;
    }
    Err(SendError::Body(error))
}

async fn send_stream(
    wire: &Rc<Wire>,
    (head, stream): (Vec<u8>, &mut dyn BodyStream),
    (chunked, trailers): (bool, bool),
    declared: Option<u64>,
    sent: &mut Delivery,
) -> Result<(), SendError> {
    let mut text = head;
    let mut left = declared;
    let mut is_headless = true;
    wire.watch.is_strict.set(stream.ends_with_client());
    let mut since = Instant::now();
    loop {
        if since.elapsed() > TURN {
            tokio::task::yield_now().await;
            since = Instant::now();
        }
        let Some(next) = next_piece(wire, stream, is_headless).await? else {
            // The body comes slowly: the client may have the head before.
            wire.write(&[&text]).await?;
            text.clear();
            is_headless = false;
            continue;
        };
        is_headless = false;
        let chunk = match next.transpose() {
            Ok(chunk) => chunk,
            Err(error) => return break_off(wire, &text, error).await,
        };
        let Some(mut chunk) = chunk else { break };
        if let Some(left) = &mut left {
            chunk.truncate((*left).min(chunk.len() as u64) as usize);
            *left -= chunk.len() as u64;
        }
        if chunk.is_empty() {
            continue;
        }
        let start = text.len();
        if chunked {
            text.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        }
        sent.total += (text.len() - start + chunk.len()) as u64;
        sent.body += chunk.len() as u64;
        wire.write(&[&text, &chunk]).await?;
        text.clear();
        if chunked {
            text.extend_from_slice(b"\r\n");
            sent.total += 2;
        }
    }
    if left.is_some_and(|n| n > 0) {
        return Err(SendError::Body(crate::io::body::BodyError::Script(
            "it sent less than its Content-Length".into(),
        )));
    }
    if chunked {
        let before = text.len();
        last_chunk(&mut text, stream.trailers().filter(|_| trailers).as_ref());
        sent.total += (text.len() - before) as u64;
    }
    if text.is_empty() { Ok(()) } else { wire.write(&[&text]).await }
}
