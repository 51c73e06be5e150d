//! Turns: whoever always has more to say is listened to for a while only.

use std::pin::pin;
use std::task::Context;

/// The most that is processed in a row before other work gets its turn: messages, and their bytes.
const TURN: (u32, usize) = (128, 256 << 10);

/// The input processed in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    messages: u32,
    bytes: usize,
    /// It is over, and others have theirs.
    pub(crate) rests: bool,
}

impl Turn {
    pub(crate) fn is_over(self) -> bool {
        self.messages >= TURN.0 || self.bytes >= TURN.1
    }

    /// A message with so many bytes.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes;
    }

    /// Ends it: the task is woken when the thread has looked for what clients have sent, not at once.
    pub(crate) fn end(&mut self, context: &mut Context<'_>) {
        *self = Self { rests: true, ..Self::default() };
        let _ = pin!(tokio::task::yield_now()).poll(context);
    }
}
