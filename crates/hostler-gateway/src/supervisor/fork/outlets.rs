//! The workers' standard error: a pipe for each. A worker that serves one request leaves its own to a later one: making
//! one anew, watching it and hearing of its end costs more than all that most of them say.

use super::parent::Host;
use crate::backend::ring::Pool;
use crate::pool::WorkerId;
use crate::supervisor::lines::{LineResult, Lines};
use hostler_sys::pipe::Pipe;
use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The most that are kept for later workers.
const KEPT: usize = 64;

/// The destination of lines, with their worker.
type Sink = Rc<dyn Fn(WorkerId, &[u8])>;

/// A worker's pipe.
struct Outlet {
    lines: Rc<Lines>,
    /// Of one that can be left to another: the end to write to.
    writer: Option<Rc<OwnedFd>>,
    /// The worker it belongs to.
    whose: Rc<Cell<WorkerId>>,
}

/// All that are in use, or were.
pub(super) struct Outlets {
    used: HashMap<WorkerId, Outlet>,
    free: Vec<Outlet>,
    sink: Sink,
}

impl Outlets {
    /// Keeps the output of a pool's workers for the cause of an error, and passes it to the host.
    pub(super) fn of<H: Host + 'static>(pool: &Arc<Pool>, host: &Rc<H>) -> Self {
        let (pool, host) = (Arc::downgrade(pool), host.clone());
        Self::new(move |id, line| {
            let worker = pool.upgrade().and_then(|p| Some(p.lock().records.get(&id)?.worker.clone()));
            let pid = worker.as_ref().map_or(0, |worker| worker.pid.load(Relaxed));
            if let Some(worker) = worker {
                worker.keep_line(line);
            }
            host.line(pid, line);
        })
    }

    /// `sink`: where their lines go.
    pub(super) fn new(sink: impl Fn(WorkerId, &[u8]) + 'static) -> Self {
        Self { used: HashMap::new(), free: Vec::new(), sink: Rc::new(sink) }
    }

    /// For a worker that serves one request: the end to write to, if there is one of another worker's.
    pub(super) fn reuse(&mut self, worker: WorkerId) -> Option<Rc<OwnedFd>> {
        let outlet = self.free.pop()?;
        let writer = outlet.writer.clone()?;
        outlet.whose.set(worker);
        self.used.insert(worker, outlet);
        Some(writer)
    }

    /// For a worker: the end to write to of a pipe for what it writes. `passing`: it serves one request.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn open(
        &mut self,
        worker: WorkerId,
        passing: bool,
        (reader, writer): Pipe,
    ) -> io::Result<Rc<OwnedFd>> {
        let (whose, writer) = (Rc::new(Cell::new(worker)), Rc::new(writer));
        let (sink, speaker) = (self.sink.clone(), whose.clone());
        let lines = Lines::follow(reader, move |line| sink(speaker.get(), line))?;
        self.used.insert(worker, Outlet { lines, writer: passing.then(|| writer.clone()), whose });
        Ok(writer)
    }

    /// A worker has ended: what it wrote last is taken.
    pub(super) fn close(&mut self, worker: WorkerId) {
        let Some(outlet) = self.used.remove(&worker) else { return };
        let taken = outlet.lines.take_now();
        let is_told = outlet.lines.rest();
        // One that a process which it has left behind keeps full is of no use to another.
        if is_told && taken == LineResult::Nothing && outlet.writer.is_some() && self.free.len() < KEPT {
            self.free.push(outlet);
        }
    }

    /// The workers that have closed theirs, all of them alike: whoever has ended, and not been told of.
    pub(super) fn ended(&self) -> Vec<WorkerId> {
        self.used.iter().filter(|(_, outlet)| outlet.lines.has_ended()).map(|(worker, _)| *worker).collect()
    }

    /// A worker has not come to be.
    pub(super) fn forget(&mut self, worker: WorkerId) {
        self.used.remove(&worker);
    }

    /// Returns the outlets of the workers that are still there when no more can be forked.
    pub(super) fn into_lines(self) -> HashMap<WorkerId, Rc<Lines>> {
        self.used.into_iter().map(|(worker, outlet)| (worker, outlet.lines)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    type LineBuffer = Rc<RefCell<Vec<(WorkerId, Vec<u8>)>>>;

    fn outlets() -> (Outlets, LineBuffer) {
        let said = LineBuffer::default();
        let heard = said.clone();
        (Outlets::new(move |worker, line| heard.borrow_mut().push((worker, line.to_vec()))), said)
    }

    fn pipe() -> Pipe {
        hostler_sys::pipe::Direction::FromProgram.pipe().unwrap()
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test);
    }

    #[test]
    fn a_pipe_is_left_to_a_later_worker_and_lines_are_told_apart() {
        run(async {
            let (mut outlets, said) = outlets();
            let first = outlets.open(1, true, pipe()).unwrap();
            rustix::io::write(&first, b"one\nrest").unwrap();
            outlets.close(1);
            let second = outlets.reuse(2).unwrap();
            assert!(Rc::ptr_eq(&first, &second));
            rustix::io::write(&second, b"two\n").unwrap();
            outlets.close(2);
            let expected = [(1, b"one".to_vec()), (1, b"rest".to_vec()), (2, b"two".to_vec())];
            assert_eq!(*said.borrow(), expected);
        });
    }

    #[test]
    fn the_pipe_of_a_worker_that_lasts_ends_with_it() {
        run(async {
            let (mut outlets, _) = outlets();
            let first = outlets.open(1, false, pipe()).unwrap();
            assert_eq!(Rc::strong_count(&first), 1);
            outlets.close(1);
            assert!(outlets.reuse(2).is_none());
        });
    }
}
