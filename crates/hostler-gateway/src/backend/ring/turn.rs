//! Turns: whoever is always ready leaves others theirs. A worker that says ever more is listened to for a while only, and
//! a task that can go on for ever is followed by a look at what others wait for.

use super::{Frame, thread};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// What is said in a row before others get their turn: messages, and bytes of them.
const TURN: (u32, usize) = (128, 256 << 10);

/// What has been said in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    messages: u32,
    bytes: usize,
    /// It is over, and others have theirs.
    pub(super) rests: bool,
}

impl Turn {
    pub(super) fn is_over(self) -> bool {
        self.messages >= TURN.0 || self.bytes >= TURN.1
    }

    pub(super) fn spend(&mut self, frame: &Frame) {
        self.messages += 1;
        self.bytes += frame.body.len();
    }

    /// Ends it: the task is woken when the thread has looked for what clients have sent, not at once.
    pub(super) fn end(&mut self, context: &mut Context<'_>) {
        *self = Self { rests: true, ..Self::default() };
        let _ = pin!(tokio::task::yield_now()).poll(context);
    }
}

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
