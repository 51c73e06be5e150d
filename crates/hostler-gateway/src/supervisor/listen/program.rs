//! A program that runs: its lines, and its end.

use super::{Host, RunningProgram};
use crate::pool::worker::describe;
use crate::supervisor::Process;
use crate::supervisor::lines::Lines;
use hostler_wire::site::Exit;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// Lines that are kept for the cause of an error, and bytes of each.
const KEPT: usize = 10;
const KEPT_LINE: usize = 300;

/// A program that was started.
pub(super) struct Program {
    pub(super) pid: u32,
    pub(super) socket: Vec<u8>,
    pub(super) since: Instant,
    process: RefCell<Box<dyn Process>>,
    /// Known once it has ended; the inner `None`: nobody can say how.
    exit: Cell<Option<Option<Exit>>>,
    /// Its end was asked for.
    asked: Cell<bool>,
    ended: Notify,
    lines: RefCell<Vec<Rc<Lines>>>,
    last: Rc<RefCell<VecDeque<String>>>,
    /// The second recipient of its lines.
    listener: Rc<RefCell<Option<Listener>>>,
}

/// Something that is done with each line.
type Listener = Box<dyn Fn(&[u8])>;

impl Program {
    /// Watches over a program; must be called on a thread's `LocalSet`. `gone`: told when it has ended.
    pub(super) fn watch<H: Host>(
        started: RunningProgram,
        host: &Rc<H>,
        gone: impl FnOnce(&Rc<Self>) + 'static,
    ) -> io::Result<Rc<Self>> {
        let RunningProgram { pid, process, output, socket } = started;
        let program = Rc::new(Self {
            pid,
            socket,
            since: Instant::now(),
            process: RefCell::new(process),
            exit: Cell::new(None),
            asked: Cell::new(false),
            ended: Notify::new(),
            lines: RefCell::default(),
            last: Rc::default(),
            listener: Rc::default(),
        });
        for pipe in output {
            let (host, last, listener) = (host.clone(), program.last.clone(), program.listener.clone());
            let lines = Lines::follow(pipe, move |line| {
                keep(&mut last.borrow_mut(), line);
                if let Some(listener) = &*listener.borrow() {
                    listener(line);
                }
                host.line(pid, line);
            })?;
            program.lines.borrow_mut().push(lines);
        }
        let (watched, host) = (program.clone(), host.clone());
        tokio::task::spawn_local(async move {
            let exit = poll_fn(|context| watched.process.borrow_mut().poll_exit(context)).await;
            watched.has_ended(exit, &*host);
            gone(&watched);
        });
        Ok(program)
    }

    fn has_ended<H: Host>(&self, exit: Option<Exit>, host: &H) {
        for lines in self.lines.take() {
            lines.take_now();
            lines.rest();
        }
        self.exit.set(Some(exit));
        self.ended.notify_waiters();
        if !self.asked.get() && exit != Some(Exit::Status(0)) {
            host.line(self.pid, format!("the program ended unasked: {}", self.how()).as_bytes());
        }
    }

    /// Has its lines told to somebody else, too: to nobody who was before.
    pub(super) fn attend(&self, listener: Listener) {
        self.listener.replace(Some(listener));
    }

    /// Returns whether it runs, and is not to end.
    pub(super) fn is_up(&self) -> bool {
        self.exit.get().is_none() && !self.asked.get()
    }

    /// Returns its exit status, if known.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit.get().flatten()
    }

    /// Describes its exit in words.
    pub(super) fn how(&self) -> String {
        match self.exit.get() {
            None => "it runs".to_owned(),
            Some(None) => "the site's process ended, and the program with it".to_owned(),
            Some(Some(exit)) => describe(exit),
        }
    }

    /// Waits for its end, but not longer than this.
    pub(super) async fn end_within(&self, time: Duration) {
        let ended = self.ended.notified();
        if self.exit.get().is_none() {
            // How long it takes makes no difference: what is known by then counts.
            let _ = timeout(time, ended).await;
        }
    }

    /// Has it end.
    pub(super) fn kill(&self) {
        if self.exit.get().is_none() && !self.asked.replace(true) {
            self.process.borrow_mut().kill();
        }
    }

    /// The last lines that it has written.
    pub(super) fn last_lines(&self) -> Vec<String> {
        self.last.borrow().iter().cloned().collect()
    }
}

fn keep(last: &mut VecDeque<String>, line: &[u8]) {
    if last.len() == KEPT {
        last.pop_front();
    }
    last.push_back(line[..line.len().min(KEPT_LINE)].escape_ascii().to_string());
}
