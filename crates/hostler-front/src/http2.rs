//! HTTP/2 (RFC 9113): hyper speaks it, this turns its requests into ours and our answers into its.
//!
//! Attacks by frames (rapid reset, CONTINUATION floods, HPACK bombs) are bounded by h2; stalls are ended here. `guard` reports
//! errors of frames and header blocks as RFC 9113 has them.

mod guard;
mod left;
mod pace;
mod tunnel;
mod unread;

use crate::hook::reply::Reply;
use crate::http1::send::bodiless;
use crate::io::body::{Body, BodyError, BodyStream, RequestBody};
use crate::io::deadline::Deadline;
use crate::io::sent::Delivery;
use crate::io::sent::SendError;
use crate::limits::unread::{AllUnread, OpenStream};
use crate::request::Request;
use crate::request::connection::Peer;
use crate::request::thread::Thread;
use crate::request::trailers::Trailers;
use crate::values::table::Table;
use bytes::Bytes;
use guard::Guarded;
use hostler_http1::head::{HTTP_2, Limits};
use hostler_wire::plan::SiteId;
use http_body::{Body as _, Frame, SizeHint};
use hyper::rt::Executor;
use hyper_util::rt::{TokioIo, TokioTimer};
use pace::Pace;
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use unread::Unread;

/// State that the streams of a connection share, so that a connection without progress can be ended.
struct Activity {
    peer: Rc<Peer>,
    deadline: Deadline,
    /// Handlers at work: they have their own timeouts.
    working: Cell<u32>,
    /// Answers being sent.
    sending: Cell<u32>,
    unread: Unread,
    pace: Pace,
    /// Requests that go on without their streams.
    alone: Cell<u32>,
}

impl Activity {
    fn new(thread: &Thread, peer: &Rc<Peer>) -> Rc<Self> {
        let activity = Self {
            peer: peer.clone(),
            deadline: Deadline::new(peer.remote.ip().into()),
            working: Cell::new(0),
            sending: Cell::new(0),
            unread: Unread::new(thread.shared.of::<Arc<AllUnread>>()),
            pace: Pace::default(),
            alone: Cell::new(0),
        };
        activity.moved();
        Rc::new(activity)
    }

    /// Something was received, sent or finished: how long there may be silence from here on.
    fn moved(&self) {
        let settings = &self.peer.settings;
        self.deadline.active();
        if self.working.get() > 0 {
            return;
        }
        if self.is_sending() {
            self.deadline.set(settings.timeout);
        } else {
            self.deadline.set(settings.keep_alive_timeout);
            self.deadline.silent(self.peer.requests.get() > 0);
        }
    }

    fn is_sending(&self) -> bool {
        self.sending.get() > 0
    }
}

/// A request's body.
pub(crate) struct Incoming {
    body: hyper::body::Incoming,
    /// The trailers after it.
    trailers: Rc<Trailers>,
    activity: Rc<Activity>,
    received: u64,
    /// The request's bytes for the log (`%I`).
    counted: Counted,
    /// `Timeout`: how long the client may send nothing.
    timeout: Duration,
    silence: Option<Pin<Box<tokio::time::Sleep>>>,
    /// `LimitRequestBody`, in bytes; 0 is none.
    limit: u64,
}

impl crate::io::body::Incoming for Incoming {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
                return self.poll_silence(cx);
            };
            self.silence = None;
            let Some(frame) = frame else { return Poll::Ready(None) };
            self.activity.moved();
            let Ok(frame) = frame else { return Poll::Ready(Some(Err(BodyError::ClientGone))) };
            let chunk = match frame.into_data() {
                Ok(chunk) => chunk,
                Err(frame) => {
                    for (name, value) in frame.trailers_ref().into_iter().flatten() {
                        let name = Bytes::copy_from_slice(name.as_str().as_bytes());
                        self.trailers.ask(name, &Bytes::copy_from_slice(value.as_bytes()));
                    }
                    continue;
                }
            };
            if chunk.is_empty() {
                continue;
            }
            self.received += chunk.len() as u64;
            self.counted.set(self.counted.get() + chunk.len() as u64 + FRAME);
            if self.limit > 0 && self.received > self.limit {
                return Poll::Ready(Some(Err(BodyError::TooLarge)));
            }
            return Poll::Ready(Some(Ok(chunk)));
        }
    }

    fn limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// h2 refuses bodies that are not as long as they say.
    fn length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }
}

impl Incoming {
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let silence = self.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.timeout)));
        silence.as_mut().poll(cx).map(|()| Some(Err(BodyError::Timeout)))
    }
}

/// Streams run on the connection's own thread.
#[derive(Clone, Copy)]
struct Here;

impl<F: Future + 'static> Executor<F> for Here
where
    F::Output: 'static,
{
    fn execute(&self, future: F) {
        tokio::task::spawn_local(hostler_gateway::backend::ring::attentive(Box::pin(future)));
    }
}

/// A header block that is longer than what it may have come to by so many times ends the connection; h2 answers to those in between.
const BLOCKS: usize = 4;

/// A connection on which HTTP/2 was agreed.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin + 'static>(
    thread: Rc<Thread>,
    stream: S,
    peer: Rc<Peer>,
) {
    let activity = Activity::new(&thread, &peer);
    let service = {
        let (thread, peer, activity) = (thread.clone(), peer.clone(), activity.clone());
        hyper::service::service_fn(move |request| {
            answer(thread.clone(), peer.clone(), activity.clone(), request)
        })
    };
    let settings = &peer.hosts.default_server().conf.core.http2;
    let longest = settings.max_header_block.unwrap_or(64 << 10);
    let mut builder = hyper::server::conn::http2::Builder::new(Here);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(settings.max_session_streams.unwrap_or(100))
        .initial_stream_window_size(settings.window_size.unwrap_or(65_535))
        .max_header_list_size(longest)
        .max_send_buf_size(64 << 10)
        .enable_connect_protocol();
    let stream = Guarded::new(stream, BLOCKS * longest as usize);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut drain = thread.shared.drain.clone();
    let (mut draining, mut closing) = (false, false);
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = drain.wait_for(|d| *d), if !draining => {
                draining = true;
                connection.as_mut().graceful_shutdown();
            }
            () = activity.deadline.expired() => {
                // A client that answers neither GOAWAY nor PING is not waited for.
                if activity.is_sending() || activity.deadline.is_closed() || closing {
                    return;
                }
                closing = true;
                connection.as_mut().graceful_shutdown();
                activity.deadline.set(peer.settings.keep_alive_timeout);
            }
        }
    }
}

async fn answer(
    thread: Rc<Thread>,
    peer: Rc<Peer>,
    activity: Rc<Activity>,
    mut request: hyper::Request<hyper::body::Incoming>,
) -> Result<hyper::Response<Sending>, Infallible> {
    activity.working.set(activity.working.get() + 1);
    activity.moved();
    let working = Working(activity.clone());
    let open = thread.shared.of::<Arc<AllUnread>>().opened();
    activity.pace.begin(activity.working.get()).await;
    let extended = tunnel::asked(&mut request);
    let line = || Bytes::from(format!("{} {} HTTP/2.0", request.method(), request.uri().path()));
    let counted: Counted = Rc::new(Cell::new(head_length(&request)));
    let reply = match (thread.shared.clients.may_ask(peer.remote.ip()), unfit(&request, &peer.limits)) {
        (Err(wait), _) => crate::hook::serve::too_many(&thread, &peer, wait, &line()).await,
        (Ok(()), Some((status, why))) => {
            crate::hook::serve::refuse(&thread, &peer, status, why, &line()).await
        }
        (Ok(()), None) if extended.as_ref().is_some_and(|asked| !asked.is_websocket) => {
            crate::hook::serve::refuse(&thread, &peer, 501, "no such protocol can be asked for", &line())
                .await
        }
        (Ok(()), None) => {
            let mut request = convert(&thread, &peer, (&activity, &counted), request);
            if extended.is_some() {
                tunnel::as_get(&mut request);
            }
            let budget = request.budget.clone();
            let own = thread.clone();
            let serving = async move { crate::hook::serve::serve(&own, Box::new(request)).await };
            left::Serving::new(&thread, &activity, budget, serving).await
        }
    };
    peer.requests.set(peer.requests.get() + 1);
    let reply = match extended {
        Some(asked) => match asked.follow(&thread, reply, working) {
            Ok(response) => return Ok(response.map(|()| Sending::nothing(thread, activity, open))),
            Err(reply) => *reply,
        },
        None => {
            drop(working);
            reply
        }
    };
    Ok(respond(thread, activity, reply, counted, open))
}

/// Bytes of a frame beside its content (RFC 9113 §4.1).
const FRAME: u64 = 9;

/// Bytes of a request, as far as they have come.
type Counted = Rc<Cell<u64>>;

/// A request's head as it would be without compression (RFC 9113 §8.3.1): hyper does not say what came.
fn head_length<B>(request: &hyper::Request<B>) -> u64 {
    let uri = request.uri();
    let said = [
        uri.scheme_str(),
        uri.authority().map(http::uri::Authority::as_str),
        uri.path_and_query().map(http::uri::PathAndQuery::as_str),
    ];
    let said = said.into_iter().flatten().map(str::len).sum::<usize>() + request.method().as_str().len();
    let names = ":method:scheme:authority:path".len();
    let fields =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>();
    FRAME + (said + names + fields) as u64
}

struct Working(Rc<Activity>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.working.set(self.0.working.get() - 1);
        self.0.moved();
    }
}

/// Checks that h2 does not make although RFC 9113 requires them: values with white space at an end (§8.2.1); URLs of
/// other schemes, which belong to a forward proxy (Apache answers 400); and the limits that apply to HTTP/1 too.
/// Returns the status, and a sentence for the log.
fn unfit<B>(request: &hyper::Request<B>, limits: &Limits) -> Option<(u16, &'static str)> {
    let headers = request.headers();
    let together = |name| headers.get_all(name).iter().map(|value| value.len() + 2).sum::<usize>() - 2;
    let padded = |value: &http::HeaderValue| value.as_bytes().trim_ascii().len() != value.len();
    let is_web = |scheme: &str| ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if headers.values().any(padded) {
        Some((400, "a field's value begins or ends with white space"))
    } else if !request.uri().scheme_str().is_none_or(is_web) {
        Some((400, "its :scheme is neither http nor https"))
    } else if request.uri().path_and_query().is_some_and(|path| path.as_str().len() > limits.line) {
        Some((414, "the path is longer than LimitRequestLine"))
    } else if limits.fields > 0 && headers.len() > limits.fields + (headers.get_all("cookie").iter().count())
    {
        Some((431, "there are more header fields than LimitRequestFields"))
    } else if headers.keys().any(|name| together(name) > limits.field_size) {
        Some((431, "a header field is longer than LimitRequestFieldSize"))
    } else {
        None
    }
}

/// hyper's request as ours. h2 has checked names, values and pseudo-fields.
fn convert(
    thread: &Rc<Thread>,
    peer: &Rc<Peer>,
    (activity, counted): (&Rc<Activity>, &Counted),
    from: hyper::Request<hyper::body::Incoming>,
) -> Request {
    let (parts, body) = from.into_parts();
    let mut request = Request::new(thread, peer);
    request.client.version = HTTP_2;
    request.target.method = Bytes::copy_from_slice(parts.method.as_str().as_bytes());
    let target = parts.uri.path_and_query().map_or("/", |p| p.as_str());
    request.client.target = Bytes::copy_from_slice(target.as_bytes());
    request.client.line = format!("{} {target} HTTP/2.0", parts.method).into();
    // RFC 9113 §8.2.3: pieces of one cookie field.
    let mut cookie = Vec::new();
    for (name, value) in &parts.headers {
        let (name, value) = (name.as_str(), value.as_bytes());
        if name == "cookie" {
            cookie.extend_from_slice(if cookie.is_empty() { b"" } else { b"; " });
            cookie.extend_from_slice(value);
        } else {
            request.receive(Bytes::copy_from_slice(name.as_bytes()), &Bytes::copy_from_slice(value));
        }
    }
    if parts.headers.contains_key("cookie") {
        request.target.headers_in.set(Bytes::from_static(b"cookie"), cookie);
    }
    if let Some(authority) = parts.uri.authority() {
        request
            .target
            .headers_in
            .set(Bytes::from_static(b"Host"), Bytes::copy_from_slice(authority.as_str().as_bytes()));
    }
    if !body.is_end_stream() {
        let incoming = Incoming {
            body,
            trailers: request.client.trailers.clone(),
            activity: activity.clone(),
            received: 0,
            counted: counted.clone(),
            timeout: peer.settings.timeout,
            silence: None,
            limit: 0,
        };
        request.target.body = RequestBody::Incoming(Rc::new(RefCell::new(incoming)));
    }
    request
}

/// Fields that speak of a connection have no place in HTTP/2 (RFC 9113 §8.2.2).
const CONNECTION_FIELDS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

fn respond(
    thread: Rc<Thread>,
    activity: Rc<Activity>,
    mut reply: Reply,
    counted: Counted,
    open: OpenStream,
) -> hyper::Response<Sending> {
    let body = std::mem::take(&mut reply.body);
    let no_body = reply.head_only || bodiless(reply.status);
    let length = body.len();
    let mut response = hyper::Response::new(());
    *response.status_mut() =
        hyper::StatusCode::from_u16(reply.status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    let mut total = 9;
    for (name, value) in reply.headers.iter() {
        let (Ok(name), Ok(value)) =
            (http::HeaderName::from_bytes(name), http::HeaderValue::from_bytes(value.trim_ascii()))
        else {
            continue;
        };
        if !CONNECTION_FIELDS.contains(&name.as_str())
            && (name != http::header::CONTENT_LENGTH || length.is_none())
        {
            total += name.as_str().len() + value.len();
            response.headers_mut().append(name, value);
        }
    }
    if let Some(n) = length.filter(|_| !bodiless(reply.status)) {
        response.headers_mut().insert(http::header::CONTENT_LENGTH, n.into());
    }
    let site = thread.shared.sites.of(&reply.request.server);
    let body = match body {
        Body::Stream(stream) if no_body && !reply.request.budget.ends_with_client() => {
            left::finish(&thread, &activity, stream);
            Body::Empty
        }
        _ if no_body => Body::Empty,
        Body::Bytes(whole) => Body::Bytes(activity.unread.count_whole(site, whole)),
        body => body,
    };
    activity.sending.set(activity.sending.get() + 1);
    activity.moved();
    let sending = Sending {
        length: body.len(),
        stream: body.into_stream(),
        reply: Some(reply),
        sent: Delivery { total: total as u64, body: 0, length },
        counted,
        failed: None,
        done: false,
        site,
        open,
        thread,
        activity,
    };
    response.map(|()| sending)
}

fn trailers(fields: &Table) -> http::HeaderMap {
    let pairs = fields.iter().filter_map(|(name, value)| {
        let name = http::HeaderName::from_bytes(name).ok()?;
        Some((name, http::HeaderValue::from_bytes(value).ok()?))
    });
    pairs.collect()
}

/// An answer on its way; the log line is written when it has gone or broken off.
struct Sending {
    stream: Box<dyn BodyStream>,
    length: Option<u64>,
    reply: Option<Reply>,
    sent: Delivery,
    counted: Counted,
    failed: Option<BodyError>,
    done: bool,
    site: SiteId,
    #[expect(dead_code, reason = "it counts while it is there")]
    open: OpenStream,
    thread: Rc<Thread>,
    activity: Rc<Activity>,
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let most = ready!(this.activity.unread.poll_room(this.site, this.stream.divides(), cx));
        let chunk = ready!(this.stream.poll_piece(cx, most));
        this.activity.moved();
        Poll::Ready(match chunk {
            None => {
                this.done = true;
                // hyper asks no more after them.
                this.stream.trailers().map(|fields| Ok(Frame::trailers(trailers(&fields))))
            }
            Some(Err(error)) => {
                this.failed = Some(error.clone());
                Some(Err(error))
            }
            Some(Ok(chunk)) => {
                this.sent.body += chunk.len() as u64;
                this.sent.total += chunk.len() as u64 + FRAME;
                this.done = this.length == Some(this.sent.body);
                Some(Ok(Frame::data(this.activity.unread.count(this.site, chunk))))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.length == Some(self.sent.body)
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, |n| SizeHint::with_exact(n.saturating_sub(self.sent.body)))
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.activity.sending.set(self.activity.sending.get() - 1);
        self.activity.moved();
        let result = match self.failed.take() {
            Some(error) => Err(SendError::Body(error)),
            None if self.done || self.is_end_stream_now() => Ok(()),
            None => Err(SendError::Gone),
        };
        if let Some(reply) = self.reply.take() {
            let runs_on = !reply.request.budget.ends_with_client() && !self.stream.ends_with_client();
            if runs_on && self.length.is_none() && matches!(result, Err(SendError::Gone)) {
                let stream = std::mem::replace(&mut self.stream, Body::Empty.into_stream());
                left::finish(&self.thread, &self.activity, stream);
            }
            reply.finish(&self.thread, self.sent, &result, self.counted.get(), true);
        }
    }
}

impl Sending {
    /// The body of an answer after which there are bytes of another protocol.
    fn nothing(thread: Rc<Thread>, activity: Rc<Activity>, open: OpenStream) -> Self {
        activity.sending.set(activity.sending.get() + 1);
        let (stream, sent) = (Body::Empty.into_stream(), Delivery::default());
        let counted = Counted::default();
        Self {
            stream,
            length: Some(0),
            reply: None,
            sent,
            counted,
            failed: None,
            done: true,
            site: SiteId::MAX,
            open,
            thread,
            activity,
        }
    }

    fn is_end_stream_now(&self) -> bool {
        self.length == Some(self.sent.body)
    }
}
