//! A task that can go on for ever is followed by a look at what others wait for.

use super::thread;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A task of the front's, after each turn of which workers are announced and heard, if the thread has not parked for a
/// while. To be used for all tasks that may be ready again and again, as a client's is who can always be sent more:
/// others' requests would else wait for a thread that never parks.
pub fn attentive<F: Future + Unpin>(task: F) -> Attentive<F> {
    Attentive(task)
}

/// See [`attentive`].
#[derive(Debug)]
pub struct Attentive<F>(F);

impl<F: Future + Unpin> Future for Attentive<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let polled = Pin::new(&mut self.0).poll(context);
        thread::between_turns();
        polled
    }
}
