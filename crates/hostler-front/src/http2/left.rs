//! Streams whose clients have reset them, or closed the connection: their requests are served to their end as those over
//! HTTP/1 are ([`crate::hook::alone`]). hyper drops what serves a stream; here it goes on in a task of its own.
//!
//! A reset costs a client less than a new connection, so each connection has only so many at a time, and each of them takes
//! a place among the connections of its address. Further ones are abandoned.

use super::Activity;
use crate::hook::alone;
use crate::hook::reply::Reply;
use crate::io::body::BodyStream;
use crate::io::sent::{Delivery, SendError};
use crate::limits::budget::Budget;
use crate::request::thread::{SharedState, Thread};
use crate::values::address::Client;
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Requests of one connection that go on without their streams.
const MOST: u32 = 100;

/// The place of such a request.
struct Place {
    activity: Rc<Activity>,
    shared: Arc<SharedState>,
    client: Client,
}

impl Place {
    /// `None`: the connection, or its address, has as many as it may.
    fn take(thread: &Thread, activity: &Rc<Activity>) -> Option<Self> {
        let alone: &Cell<u32> = &activity.alone;
        if alone.get() >= MOST {
            return None;
        }
        let client = Client::from(activity.peer.remote.ip());
        alone.set(alone.get() + 1);
        let is_within = thread.shared.clients.connected(client);
        let place = Self { activity: activity.clone(), shared: thread.shared.clone(), client };
        is_within.then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.clients.left(self.client);
        self.activity.alone.set(self.activity.alone.get() - 1);
    }
}

/// A request that is being served.
pub(super) struct Serving {
    /// `None`: it has been.
    future: Option<Pin<Box<dyn Future<Output = Reply>>>>,
    thread: Rc<Thread>,
    activity: Rc<Activity>,
    budget: Rc<Budget>,
}

impl Serving {
    pub(super) fn new(
        thread: &Rc<Thread>,
        activity: &Rc<Activity>,
        budget: Rc<Budget>,
        future: impl Future<Output = Reply> + 'static,
    ) -> Self {
        let (thread, activity) = (thread.clone(), activity.clone());
        Self { future: Some(Box::pin(future)), thread, activity, budget }
    }
}

impl Future for Serving {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        let reply = std::task::ready!(future.as_mut().poll(context));
        self.future = None;
        Poll::Ready(reply)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let Some(future) = self.future.take().filter(|_| !self.budget.ends_with_client()) else { return };
        let Some(place) = Place::take(&self.thread, &self.activity) else { return };
        let thread = self.thread.clone();
        tokio::task::spawn_local(async move {
            if let Some(reply) = alone::served(future).await {
                reply.finish(&thread, Delivery::default(), &Err(SendError::Gone), 0, false);
            }
            drop(place);
        });
    }
}

/// Has the rest of a body made whose stream has been reset.
pub(super) fn finish(thread: &Rc<Thread>, activity: &Rc<Activity>, body: Box<dyn BodyStream>) {
    let Some(place) = Place::take(thread, activity) else { return };
    tokio::task::spawn_local(async move {
        alone::finish(body).await;
        drop(place);
    });
}
