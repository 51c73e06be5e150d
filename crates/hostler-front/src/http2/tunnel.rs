//! Requests for another protocol over HTTP/2 (RFC 8441): to everybody else they are what they would be over HTTP/1.1, GET
//! with a wish. A handler that fulfils it gives a tunnel, and bytes go both ways over the stream.

use super::{CONNECTION_FIELDS, Working};
use crate::hook::reply::Reply;
use crate::io::body::Body;
use crate::io::deadline::Deadline;
use crate::io::sent::Delivery;
use crate::request::Request;
use crate::request::thread::Thread;
use bytes::Bytes;
use hyper::ext::Protocol;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::rc::Rc;

/// A request of that kind.
pub(super) struct ExtendedConnect {
    pub(super) is_websocket: bool,
    stream: OnUpgrade,
}

/// Returns whether it is one.
pub(super) fn asked<B>(request: &mut hyper::Request<B>) -> Option<ExtendedConnect> {
    let is_websocket = request.extensions().get::<Protocol>()?.as_str().eq_ignore_ascii_case("websocket");
    Some(ExtendedConnect { is_websocket, stream: hyper::upgrade::on(request) })
}

/// Treats it like a GET.
pub(super) fn as_get(request: &mut Request) {
    request.target.method = Bytes::from_static(b"GET");
    request.client.line = [b"GET ", &request.client.target[..], b" HTTP/2.0"].concat().into();
    // The stream itself is the handshake: a key is no word of it, nor what answers one (RFC 8441 §5).
    request.target.headers_in.unset("Sec-WebSocket-Key");
    request.client.is_websocket = true;
}

impl ExtendedConnect {
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
                    reply.request.reply.status = 501;
                } else {
                    reply.body = body;
                }
                return Err(Box::new(reply));
            }
        };
        reply.status = 200;
        reply.request.reply.status = 200;
        let mut response = hyper::Response::new(());
        for (name, value) in reply.headers.iter() {
            let parsed = (http::HeaderName::from_bytes(name), http::HeaderValue::from_bytes(value));
            if let (Ok(name), Ok(value)) = parsed
                && !CONNECTION_FIELDS.contains(&name.as_str())
                && name != http::header::CONTENT_LENGTH
                && name != http::header::SEC_WEBSOCKET_ACCEPT
            {
                response.headers_mut().append(name, value);
            }
        }
        reply.detach();
        let (thread, stream) = (thread.clone(), self.stream);
        tokio::task::spawn_local(async move {
            let mut sent = Delivery::default();
            let mut received = 0;
            if let Ok(stream) = stream.await {
                let deadline = Deadline::new(reply.request.client.peer.remote.ip().into());
                let stops = thread.server_drains();
                tunnel.is_websocket = self.is_websocket;
                (sent.body, received) =
                    tunnel.carry(TokioIo::new(stream), Bytes::new(), deadline, stops).await;
                sent.total = sent.body;
                tunnel.upstream.count(received, sent.body);
            }
            reply.finish(&thread, sent, &Ok(()), received, true);
            drop(working);
        });
        Ok(response)
    }
}
