//! Requests for another protocol over HTTP/2 (RFC 8441): to everybody else they are what they would be over HTTP/1.1, GET
//! with a wish. A handler that fulfils it gives a tunnel, and bytes go both ways over the stream.

use super::{CONNECTION_FIELDS, Working};
use crate::hook::reply::Reply;
use crate::http1::wire::with_scratch;
use crate::io::body::Body;
use crate::io::sent::Sent;
use crate::io::tunnel::{EXTENDED, Tunnel};
use crate::request::Request;
use crate::request::thread::Thread;
use bytes::{Buf as _, Bytes};
use hyper::ext::Protocol;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A request of that kind.
pub(super) struct Asked {
    pub(super) is_websocket: bool,
    stream: OnUpgrade,
}

/// Whether it is one.
pub(super) fn asked<B>(request: &mut hyper::Request<B>) -> Option<Asked> {
    let is_websocket = request.extensions().get::<Protocol>()?.as_str().eq_ignore_ascii_case("websocket");
    Some(Asked { is_websocket, stream: hyper::upgrade::on(request) })
}

/// What holds for a GET holds for it.
pub(super) fn as_get(request: &mut Request) {
    request.method = Bytes::from_static(b"GET");
    request.line = [b"GET ", &request.target[..], b" HTTP/2.0"].concat().into();
    request.notes.set(EXTENDED, Bytes::from_static(b"websocket"));
}

impl Asked {
    /// The answer's head, if a tunnel follows it; else the answer, which must not look as if one did.
    pub(super) fn follow(
        self,
        thread: &Rc<Thread>,
        mut reply: Reply,
        working: Working,
    ) -> Result<hyper::Response<()>, Box<Reply>> {
        let mut tunnel = match std::mem::take(&mut reply.body) {
            Body::Tunnel(tunnel) => tunnel,
            body => {
                if (200..300).contains(&reply.status) {
                    reply.status = 501;
                    reply.request.status = 501;
                } else {
                    reply.body = body;
                }
                return Err(Box::new(reply));
            }
        };
        reply.status = 200;
        reply.request.status = 200;
        let mut response = hyper::Response::new(());
        for (name, value) in reply.headers.iter() {
            let parsed = (http::HeaderName::from_bytes(name), http::HeaderValue::from_bytes(value));
            if let (Ok(name), Ok(value)) = parsed
                && !CONNECTION_FIELDS.contains(&name.as_str())
                && name != http::header::CONTENT_LENGTH
            {
                response.headers_mut().append(name, value);
            }
        }
        let (thread, stream) = (thread.clone(), self.stream);
        tokio::task::spawn_local(async move {
            let mut sent = Sent::default();
            let mut received = 0;
            if let Ok(stream) = stream.await {
                let mut stream = TokioIo::new(stream);
                (sent.body, received) = carry(&mut stream, &mut tunnel).await;
                sent.total = sent.body;
                tunnel.upstream.count(received, sent.body);
            }
            reply.finish(&thread, sent, &Ok(()), received, true);
            drop(working);
        });
        Ok(response)
    }
}

/// One way of the two.
#[derive(Default)]
struct Way {
    /// What there is no room for yet.
    rest: Bytes,
    /// Whoever speaks has said all.
    is_over: bool,
    bytes: u64,
}

impl Way {
    fn took(&mut self, piece: Bytes) {
        self.bytes += piece.len() as u64;
        self.is_over = piece.is_empty();
        self.rest = piece;
    }
}

type Stream = TokioIo<Upgraded>;

/// Carries bytes until one side is done; how many went to the client and to the server.
async fn carry(stream: &mut Stream, tunnel: &mut Tunnel) -> (u64, u64) {
    let mut down = Way { rest: std::mem::take(&mut tunnel.early), ..Way::default() };
    let mut up = Way::default();
    down.bytes = down.rest.len() as u64;
    poll_fn(|context| {
        let (one, other) =
            (poll_down(stream, tunnel, &mut down, context), poll_up(stream, tunnel, &mut up, context));
        if one.is_ready() || matches!(other, Poll::Ready(Err(()))) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    (down.bytes, up.bytes)
}

/// Pieces that one turn carries at most: others have streams, too.
const TURN: usize = 8;

/// From the server to the client.
fn poll_down(
    stream: &mut Stream,
    tunnel: &mut Tunnel,
    way: &mut Way,
    context: &mut Context<'_>,
) -> Poll<Result<(), ()>> {
    for _ in 0..TURN {
        while !way.rest.is_empty() {
            let written = ready!(Pin::new(&mut *stream).poll_write(context, &way.rest)).map_err(|_| ())?;
            if written == 0 {
                return Poll::Ready(Err(()));
            }
            way.rest.advance(written);
        }
        if way.is_over {
            return Pin::new(&mut *stream).poll_shutdown(context).map_err(|_| ());
        }
        let read = with_scratch(|scratch| {
            let read = tunnel.connection.poll_read(context, scratch);
            read.map_ok(|read| Bytes::copy_from_slice(&scratch[..read]))
        });
        way.took(ready!(read).map_err(|_| ())?);
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

/// From the client to the server.
fn poll_up(
    stream: &mut Stream,
    tunnel: &mut Tunnel,
    way: &mut Way,
    context: &mut Context<'_>,
) -> Poll<Result<(), ()>> {
    for _ in 0..TURN {
        if !way.rest.is_empty() {
            tunnel.connection.push(std::mem::take(&mut way.rest));
        }
        ready!(tunnel.connection.poll_flush(context)).map_err(|_| ())?;
        if way.is_over {
            return tunnel.connection.poll_shutdown(context).map_err(|_| ());
        }
        let read = with_scratch(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            let read = Pin::new(&mut *stream).poll_read(context, &mut buffer);
            read.map_ok(|()| Bytes::copy_from_slice(buffer.filled()))
        });
        way.took(ready!(read).map_err(|_| ())?);
    }
    context.waker().wake_by_ref();
    Poll::Pending
}
