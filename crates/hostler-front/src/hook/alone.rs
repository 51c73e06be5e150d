//! Requests whose clients have left. As in Apache a request that has been read is served to its end, whatever serves it: programs
//! do work of their own in requests that nobody waits for (`wget --timeout` in a crontab, webhooks, beacons).
//!
//! The rule is the same for all techniques. A request keeps its place in queues, its limits and its connection's place
//! (`HostlerConnectionsPerAddress`): a client gains nothing by leaving. Its output is discarded. It is abandoned when it has
//! produced much output, goes on producing some for long, or is not done after [`LONGEST`]; what that means for the program is
//! decided by `OnAbandon` of its technique. A technique whose programs hear of a client that leaves (ASGI's `http.disconnect`)
//! ends it at once ([`Budget::end_with_client`](crate::limits::budget::Budget::end_with_client)).
//!
//! **Diagnostics**: at the level `info`, under `http`: a client has left, and a request was abandoned.

use crate::hook::reply::Reply;
use crate::io::body::{Body, BodyStream};
use crate::log::{self, Severity};
use std::future::poll_fn;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The longest that a request may take after its client has left.
const LONGEST: Duration = Duration::from_secs(600);
/// The longest that it may go on producing output: Apache notices with the second piece that nobody reads it.
const WRITING: Duration = Duration::from_secs(10);
/// The output that is discarded, in bytes: about as much as the buffers of a socket take.
const DISCARDED: usize = 1 << 20;

/// Serves a request to its end. `None`: it has taken too long.
pub(crate) async fn served(serving: impl Future<Output = Reply>) -> Option<Reply> {
    let until = Instant::now() + LONGEST;
    let mut reply = timeout_at(until, serving).await.ok()?;
    log::request(&reply.request, Severity::Info, "http", "the client has left before it had an answer");
    if let Body::Stream(stream) = std::mem::take(&mut reply.body)
        && !reply.request.budget.ends_with_client()
        && !discard(stream, until).await
    {
        log::request(
            &reply.request,
            Severity::Info,
            "http",
            "abandoned: its client has left, and it goes on writing",
        );
    }
    Some(reply)
}

/// Waits for a worker's answer as long as a request may go on.
pub(crate) async fn answer<T>(answering: impl Future<Output = T>) -> Option<T> {
    timeout_at(Instant::now() + LONGEST, answering).await.ok()
}

/// Has the rest of a body made, for nobody.
pub(crate) async fn finish(stream: Box<dyn BodyStream>) {
    discard(stream, Instant::now() + LONGEST).await;
}

/// Returns whether the body has come to its end.
async fn discard(mut stream: Box<dyn BodyStream>, mut until: Instant) -> bool {
    let (mut length, mut writes) = (0, false);
    while let Ok(piece) = timeout_at(until, poll_fn(|context| stream.poll_chunk(context))).await {
        let Some(Ok(piece)) = piece else { return true };
        length += piece.len();
        if length > DISCARDED {
            return false;
        }
        if !std::mem::replace(&mut writes, true) {
            until = until.min(Instant::now() + WRITING);
        }
        tokio::task::yield_now().await;
    }
    false
}
