//! The loop: requests from all connections, one after the other, and ended programs.

use hostler_sys::exec::Launcher;
use hostler_sys::pipe;
use hostler_sys::process::{Change, ExitCause, Pid, Signal, next_change};
use hostler_sys::signal::Signals;
use hostler_wire::frame::FrameError;
use hostler_wire::site::{
    Connect, Exit, FromSite, MOST_PIPES, Program, RequestId, Run, RunError, RunningListener, ToSite,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::connect::Connects;
use crate::connection::{Connection, Message, malformed};
use crate::door::Door;
use crate::homes::Homes;
use crate::parents::Parent;
use crate::programs::{ConnectionId, Kept, Programs, User};
use crate::shared::Shared;
use crate::{append, list, listen, run, walk};

/// The site process.
#[derive(Debug)]
pub(crate) struct Site {
    connections: Vec<(ConnectionId, Connection)>,
    /// The socket over which the master attaches further fronts.
    door: Option<Door>,
    next_id: ConnectionId,
    programs: Programs,
    connects: Connects,
    launcher: Launcher,
    engines: run::Engines,
    homes: Homes,
    signals: Signals,
    stopping: bool,
}

impl Site {
    /// A site with its first connection and the socket to the master; `engines`: those that were passed.
    pub(crate) fn new(
        socket: OwnedFd,
        door: Option<OwnedFd>,
        engines: run::Engines,
        homes: Homes,
    ) -> io::Result<Self> {
        // A terminal's SIGINT and SIGHUP reach the whole foreground group; what they mean the master decides.
        let signals = Signals::block(&[Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP])?;
        let mut site = Self {
            connections: Vec::new(),
            door: door.map(Door::new),
            next_id: 0,
            programs: Programs::default(),
            connects: Connects::default(),
            launcher: Launcher::new(),
            engines,
            homes,
            signals,
            stopping: false,
        };
        site.attach(socket)?;
        Ok(site)
    }

    /// Serves until all connections are closed or SIGTERM comes, and the programs have ended.
    pub(crate) fn serve(mut self) -> io::Result<()> {
        let served = self.serve_connections();
        let now = Instant::now();
        for (id, _) in std::mem::take(&mut self.connections) {
            self.programs.kill_all(id, now);
        }
        while self.programs.any_left() {
            self.wait_for_any()?;
            self.take_signals()?;
            self.programs.enforce(Instant::now());
        }
        served
    }

    fn serve_connections(&mut self) -> io::Result<()> {
        while self.has_connections()? && !self.stopping {
            let (signalled, ready) = self.wait_for_any()?;
            if signalled {
                self.take_signals()?;
            }
            self.welcome()?;
            self.programs.enforce(Instant::now());
            for id in ready {
                self.serve_connection(id)?;
            }
            for (id, (answer, socket)) in self.connects.try_again(&self.homes, &self.programs, Instant::now())
            {
                self.answer(id, &answer, socket)?;
            }
            self.flush_all();
        }
        Ok(())
    }

    /// Returns whether there is anybody to serve. When the last has gone the door is shut: nobody is attached to a
    /// process that is about to end.
    fn has_connections(&mut self) -> io::Result<bool> {
        if self.connections.is_empty()
            && let Some(mut door) = self.door.take()
        {
            door.shut();
            door.waiting()?.into_iter().try_for_each(|socket| self.attach(socket))?;
        }
        Ok(!self.connections.is_empty())
    }

    /// Takes the fronts that the master has attached.
    fn welcome(&mut self) -> io::Result<()> {
        let Some(door) = &mut self.door else { return Ok(()) };
        let waiting = door.waiting()?;
        if door.is_closed() {
            self.door = None;
        }
        waiting.into_iter().try_for_each(|socket| self.attach(socket))
    }

    /// Waits for signals, deadlines and connections: whether a signal has come, and which connections are ready.
    /// One whose answers have been taken may have requests left that were received earlier.
    fn wait_for_any(&self) -> io::Result<(bool, Vec<ConnectionId>)> {
        let left_over = self.connections.iter().any(|(_, connection)| connection.has_request());
        let now = Instant::now();
        let quiet = [self.programs.quiet_for(now), self.connects.quiet_for(now)].into_iter().flatten().min();
        let timeout = if left_over { Some(Duration::ZERO) } else { quiet };
        let mut fds = Vec::with_capacity(2 + self.connections.len());
        fds.push(PollFd::new(&self.signals, PollFlags::IN));
        fds.extend(
            self.connections.iter().map(|(_, connection)| PollFd::new(connection, interest(connection))),
        );
        fds.extend(self.door.iter().map(|door| PollFd::new(door, PollFlags::IN)));
        match poll(&mut fds, timeout.map(rounded_up).as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let connections = self.connections.iter().zip(&fds[1..]);
        let ready = connections.filter(|((_, c), fd)| !fd.revents().is_empty() || c.has_request());
        Ok((!fds[0].revents().is_empty(), ready.map(|((id, _), _)| *id).collect()))
    }

    fn take_signals(&mut self) -> io::Result<()> {
        while let Some(signal) = self.signals.next()? {
            self.stopping |= signal == Signal::TERM;
        }
        while let Some((pid, change)) = next_change() {
            let exit = match change {
                Change::Ended(ExitCause::Status(status)) => Exit::Status(status),
                Change::Ended(ExitCause::Signal(signal)) => Exit::Signal(signal),
                Change::Stopped | Change::Continued => {
                    self.programs.stopped(pid, change == Change::Stopped, Instant::now());
                    continue;
                }
            };
            for (connection, id) in self.programs.ended(pid) {
                self.answer(connection, &FromSite::Exited { id, exit }, Vec::new())?;
            }
        }
        Ok(())
    }

    /// Reads from a connection and answers the whole requests that it has, up to and with a `Run`: starting a
    /// program takes its time, and whoever else waits comes first.
    fn serve_connection(&mut self, id: ConnectionId) -> io::Result<()> {
        let Some(connection) = self.connection(id) else { return Ok(()) };
        let reads = connection.is_open_for_requests() && !connection.has_request();
        if reads && connection.receive()? == Message::Closed {
            self.detach(id);
            return Ok(());
        }
        while let Some(connection) = self.connection(id).filter(|c| c.is_open_for_requests()) {
            let Some((request, descriptors)) = connection.next_request()? else { break };
            let slow = matches!(request, ToSite::Run(_));
            self.serve_request(id, request, descriptors)?;
            if slow {
                break;
            }
        }
        Ok(())
    }

    fn serve_request(&mut self, id: ConnectionId, request: ToSite, fds: Vec<OwnedFd>) -> io::Result<()> {
        let expected = match &request {
            ToSite::Attach => 1,
            ToSite::Run(run) => match run.program {
                Program::Engine { .. } => 4,
                Program::Script { .. } | Program::Shell { .. } => 3,
                Program::Listener { shared: true, .. } => 0,
                Program::Listener { .. } => 2,
            },
            ToSite::Walk(_)
            | ToSite::List { .. }
            | ToSite::Kill { .. }
            | ToSite::Parents { .. }
            | ToSite::Connect(_)
            | ToSite::Append { .. }
            | ToSite::Pipes { .. } => 0,
        };
        if fds.len() != expected {
            return Err(malformed(FrameError::Malformed));
        }
        match request {
            ToSite::Attach => fds.into_iter().try_for_each(|socket| self.attach(socket)),
            ToSite::Walk(request) => {
                let watches = self.connection(id).and_then(|connection| connection.watches());
                let (walked, file) = walk::walk(&request, watches);
                self.answer(id, &FromSite::Walked(walked), file.into_iter().collect())
            }
            ToSite::List { id: request, path, prefix } => {
                let listed = list::list(request, &path, &prefix);
                let too_long = FromSite::Listed { id: request, entries: Err(Errno::OVERFLOW.raw_os_error()) };
                let Some(connection) = self.connection(id) else { return Ok(()) };
                let queued = connection.queue(&listed, Vec::new());
                queued.or_else(|_| connection.queue(&too_long, Vec::new())).map_err(malformed)
            }
            ToSite::Run(request) => self.run(id, &request, fds),
            ToSite::Kill { id: request } => {
                self.programs.kill((id, request), Instant::now());
                Ok(())
            }
            ToSite::Parents { id: request } => {
                let answer = FromSite::Parents {
                    id: request,
                    pools: self.programs.pools(),
                    programs: self.programs.listeners(),
                };
                self.answer(id, &answer, Vec::new())
            }
            ToSite::Connect(request) => self.connect(id, request),
            ToSite::Append { id: request, path, most, text } => {
                let opened = append::append(&path, most, &text).is_ok();
                self.answer(id, &FromSite::Appended { id: request, opened }, Vec::new())
            }
            ToSite::Pipes { id: request, count } => {
                let (answer, pipes) = pipes(request, count);
                self.answer(id, &answer, pipes)
            }
        }
    }

    fn connect(&mut self, id: ConnectionId, request: Connect) -> io::Result<()> {
        match self.connects.ask(id, request, &self.homes, &self.programs, Instant::now()) {
            Some((answer, socket)) => self.answer(id, &answer, socket),
            None => Ok(()),
        }
    }

    fn run(&mut self, connection: ConnectionId, request: &Run, mut fds: Vec<OwnedFd>) -> io::Result<()> {
        let id = request.id;
        if let Program::Listener { path, args, backlog, shared, .. } = &request.program {
            let program = RunningListener { path: path.clone(), args: args.clone() };
            return match self.run_listener((connection, id), request, program, (*backlog, *shared), fds) {
                Ok((answer, output)) => self.answer(connection, &answer, output),
                Err(cause) => self.answer(connection, &FromSite::RunFailed { id, cause }, Vec::new()),
            };
        }
        let door = fds.get(3).is_some().then(|| fds.pop()).flatten();
        let standard = <[OwnedFd; 3]>::try_from(fds).map_err(|_| malformed(FrameError::Malformed))?;
        let user = (connection, id);
        let warm = match &request.program {
            Program::Engine { warm, .. } => Some(warm),
            Program::Script { .. } | Program::Shell { .. } | Program::Listener { .. } => None,
        };
        let adopted = warm.filter(|warm| !warm.fresh);
        if let Some(pid) =
            adopted.and_then(|warm| self.programs.adopt(user, warm, |parent| parent.tell(&standard)))
        {
            return self.answer(connection, &FromSite::Adopted { id, pid: number(pid) }, Vec::new());
        }
        let answer = match run::run(&mut self.launcher, &self.engines, &self.homes, request, &standard, None)
        {
            Ok(pid) => {
                let parent = warm.zip(door).map(|(warm, door)| Parent::new(warm.clone(), door));
                self.programs.add(user, pid, parent.map_or(Kept::Nothing, Kept::Parent));
                FromSite::Started { id, pid: number(pid) }
            }
            Err(cause) => FromSite::RunFailed { id, cause },
        };
        drop(standard);
        self.answer(connection, &answer, Vec::new())
    }

    /// A program that listens: started, or shared with another front; the answer, and what the program writes, if that is
    /// the answer's to tell.
    fn run_listener(
        &mut self,
        user: User,
        request: &Run,
        program: RunningListener,
        (backlog, is_shared): (u32, bool),
        fds: Vec<OwnedFd>,
    ) -> Result<(FromSite, Vec<OwnedFd>), RunError> {
        let listening = |pid: Pid, path: Vec<u8>, adopted| FromSite::Listening {
            id: user.1,
            pid: number(pid),
            path: path.into(),
            adopted,
        };
        // What can't be had here is had nowhere else.
        let failed = |error: io::Error| RunError::Fork { errno: walk::errno(&error) };
        if is_shared && let Some(shared) = self.programs.share(user, request) {
            let (pid, path, output) = shared.map_err(failed)?;
            return Ok((listening(pid, path, true), output));
        }
        let (shared, theirs) = if is_shared {
            let (shared, theirs) = Shared::new(request).map_err(failed)?;
            (Some(shared), Vec::from(theirs))
        } else {
            (None, fds)
        };
        let output = shared.as_ref().map_or(Ok(Vec::new()), Shared::output).map_err(failed)?;
        let (listener, socket) = listen::listen(&self.homes, program, backlog)?;
        let standard: Vec<OwnedFd> = [socket].into_iter().chain(theirs).collect();
        // How many have come has been looked at.
        let standard = <[OwnedFd; 3]>::try_from(standard).map_err(|_| RunError::NotFound)?;
        let code = shared.as_ref().map(Shared::code);
        let pid = run::run(&mut self.launcher, &self.engines, &self.homes, request, &standard, code)?;
        let path = listener.name().to_vec();
        self.programs.add(user, pid, Kept::Listener(Box::new(listener), shared.map(Box::new)));
        Ok((listening(pid, path, false), output))
    }

    fn answer(&mut self, id: ConnectionId, answer: &FromSite, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        match self.connection(id) {
            Some(connection) => connection.queue(answer, descriptors).map_err(malformed),
            None => Ok(()),
        }
    }

    fn connection(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|(known, _)| *known == id).map(|(_, connection)| connection)
    }

    fn attach(&mut self, socket: OwnedFd) -> io::Result<()> {
        self.connections.push((self.next_id, Connection::new(socket)?));
        self.next_id += 1;
        Ok(())
    }

    fn detach(&mut self, id: ConnectionId) {
        self.connections.retain(|(known, _)| *known != id);
        self.programs.kill_all(id, Instant::now());
        self.connects.forget(id);
    }

    fn flush_all(&mut self) {
        let flushed = self.connections.iter_mut().filter(|(_, connection)| connection.has_outgoing());
        let gone: Vec<ConnectionId> =
            flushed.filter_map(|(id, connection)| (!connection.flush()).then_some(*id)).collect();
        gone.into_iter().for_each(|id| self.detach(id));
    }
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// Makes pipes for the front.
fn pipes(id: RequestId, count: u32) -> (FromSite, Vec<OwnedFd>) {
    let made: io::Result<Vec<_>> = (0..count.min(MOST_PIPES)).map(|_| pipe::for_others()).collect();
    match made {
        Ok(pipes) => (FromSite::Pipes { id }, pipes.into_iter().flat_map(<[OwnedFd; 2]>::from).collect()),
        Err(error) => (FromSite::NoPipes { id, errno: walk::errno(&error) }, Vec::new()),
    }
}

fn interest(connection: &Connection) -> PollFlags {
    let mut flags = PollFlags::empty();
    if connection.is_open_for_requests() {
        flags |= PollFlags::IN;
    }
    if connection.has_outgoing() {
        flags |= PollFlags::OUT;
    }
    flags
}

/// To the next millisecond, so that a deadline has passed when the wait for it is over.
fn rounded_up(time: Duration) -> Timespec {
    let time = time + Duration::from_micros(if time.is_zero() { 0 } else { 999 });
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}
