//! A pool that is at rest: without processes, and without requests for some. It takes little memory and no descriptor.

use super::Pool;
use super::state::{Phase, State};
use crate::backend::{Backend, Common as _};

impl<B: Backend> Pool<B> {
    /// Gives up what only a pool with processes needs, if it has none and nobody waits for any.
    pub(crate) fn rest(&self) {
        let mut state = self.lock();
        if state.is_at_rest() {
            state.give_back_space();
            // Under the lock, so that nobody begins to need it meanwhile.
            self.common.rest();
        }
    }
}

impl<B: Backend> State<B> {
    /// Returns whether there are no processes, nor requests that need some.
    pub(crate) fn is_at_rest(&self) -> bool {
        matches!(self.phase, Phase::Cold | Phase::Failed(..))
            && self.records.is_empty()
            && self.waiting() == 0
            && self.abandoned.is_empty()
    }

    pub(crate) fn give_back_space(&mut self) {
        self.records.shrink_to_fit();
        self.idle = Vec::new();
        self.placed.shrink_to_fit();
        self.queue.shrink_to_fit();
        self.abandoned = Vec::new();
        self.kills = Vec::new();
        self.retired = Vec::new();
    }
}
