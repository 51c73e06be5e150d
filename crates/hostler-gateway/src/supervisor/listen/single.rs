//! One program for all connections of a pool: started with the first of them, again when it has ended, and ended when the
//! pool rests.

use super::Host;
use super::program::Program;
use crate::backend::stream::{Pool, Protocol};
use crate::supervisor::connect;
use crate::{Error, Kind};
use hostler_wire::site::Exit;
use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// The time to wait after a failed connection for the program's exit, which is the cause.
const CAUSE: Duration = Duration::from_millis(250);

impl<P: Protocol> Pool<P> {
    /// Keeps one program, and connections to it, until the pool is closed. To be spawned on a thread's `LocalSet`, once
    /// for each pool.
    pub async fn keep_program<H: Host>(self: Arc<Self>, host: H) {
        let pool = self.clone();
        let single = Single {
            host: Rc::new(host),
            program: RefCell::default(),
            starting: Mutex::new(()),
            note: Box::new(move |socket| pool.common.listens_at(socket)),
        };
        self.maintain(single).await;
    }

    /// Returns the name of the socket of the pool's program, for connections of their own to it; `None`: none was started.
    pub fn program_socket(&self) -> Option<Box<[u8]>> {
        self.common.program()
    }
}

/// Notes the name of a socket.
type Note = Box<dyn Fn(&[u8])>;

/// The program, as something to connect to.
struct Single<H> {
    host: Rc<H>,
    program: RefCell<Option<Rc<Program>>>,
    /// Held while the program is being started: all others wait for that.
    starting: Mutex<()>,
    /// Notes the name of its socket.
    note: Note,
}

impl<H: Host> Single<H> {
    async fn program(&self) -> Result<Rc<Program>, Error> {
        let _alone = self.starting.lock().await;
        if let Some(program) = self.program.borrow().as_ref().filter(|program| program.is_up()) {
            return Ok(program.clone());
        }
        let started = self.host.start().await?;
        let program = Program::watch(started, &self.host, |_| ())?;
        (self.note)(&program.socket);
        self.program.replace(Some(program.clone()));
        Ok(program)
    }
}

impl<H: Host> connect::Host for Single<H> {
    async fn connect(&self) -> Result<OwnedFd, Error> {
        let program = self.program().await?;
        let error = match self.host.connect(&program.socket).await {
            Ok(socket) => return Ok(socket),
            Err(error) => error,
        };
        program.end_within(CAUSE).await;
        if program.is_up() {
            return Err(error);
        }
        let mut error = Error::because(Kind::NotConnected, format!("the program: {}", program.how()));
        error.last_lines = program.last_lines();
        Err(error)
    }

    fn room(&self, open: usize) -> usize {
        self.host.room(open)
    }

    fn in_use(&self) {
        self.host.in_use();
    }

    fn rest(&self) {
        if let Some(program) = self.program.take() {
            program.kill();
        }
    }

    fn process(&self) -> Option<u32> {
        self.program.borrow().as_ref().map(|program| program.pid)
    }

    async fn ended(&self) -> Option<(Exit, Vec<String>)> {
        let program = self.program.borrow().clone()?;
        program.end_within(Duration::MAX).await;
        Some((program.exit()?, program.last_lines()))
    }

    fn line(&self, line: &[u8]) {
        let pid = self.program.borrow().as_ref().map_or(0, |program| program.pid);
        self.host.line(pid, line);
    }
}

impl<H> Drop for Single<H> {
    fn drop(&mut self) {
        if let Some(program) = self.program.take() {
            program.kill();
        }
    }
}
