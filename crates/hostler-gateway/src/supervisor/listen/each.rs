//! A program for each connection, which serves one request at a time (mod_fcgid's way): what the pool grows and shrinks
//! by is programs. One that closes its connection after each request keeps its place: it is connected to again.

use super::program::Program;
use super::{Host, serving};
use crate::Error;
use crate::backend::stream::{ClosedError, Pool, Protocol, Seat, Streams};
use crate::pool::worker::Worker;
use crate::pool::{WorkerId, WorkerState};
use crate::supervisor::{End, SeatEvent, Source, Supervisor};
use hostler_wire::site::Exit;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;

/// The time to wait for the program's exit after an exchange has broken off: usually it is the cause.
const CAUSE: Duration = Duration::from_millis(100);

/// The lifetime of programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lives {
    /// Requests that one serves; 0: any number.
    pub requests: u32,
    /// One that has been idle for so long is ended; zero: never.
    pub idle: Duration,
    /// One that is so old is ended when it is idle; zero: never.
    pub lifetime: Duration,
    /// One that is at a request for longer is killed; zero: never.
    pub busy: Duration,
    /// So many are kept, however long they have been idle, or old.
    pub least: u32,
}

impl<P: Protocol> Pool<P> {
    /// Keeps programs of one kind until the pool is closed. To be spawned on a thread's `LocalSet`, once for each pool.
    pub async fn keep_programs<H: Host>(self: Arc<Self>, host: H, lives: Lives) {
        self.supervise(Each { host: Rc::new(host), lives }).await;
    }
}

/// The supervisor.
struct Each<H> {
    host: Rc<H>,
    lives: Lives,
}

/// A connection to a program.
struct NewConnection {
    socket: Arc<OwnedFd>,
    /// The beginning of its first request has been sent.
    is_greeted: bool,
}

impl From<OwnedFd> for NewConnection {
    fn from(socket: OwnedFd) -> Self {
        Self { socket: Arc::new(socket), is_greeted: false }
    }
}

/// A program, and how many requests it has left; 0: any number.
type ProgramLease = (Rc<Program>, u32);

/// The events of connections and programs.
enum Event {
    /// There is a connection, and its program has begun to serve.
    Made(WorkerId, Rc<Program>, NewConnection),
    Failed(WorkerId, Error),
    /// A program has ended.
    Gone(Rc<Program>),
    /// A conversation has broken off, and what could be learned of the cause has been.
    Settled(WorkerId),
}

impl Event {
    /// Undoes a start that nothing waits for.
    fn undo(self) {
        if let Self::Made(_, program, _) = self {
            program.kill();
        }
    }
}

/// A worker: its program is known once it has a connection.
struct Place {
    seat: Arc<Seat>,
    program: Option<Rc<Program>>,
}

/// The programs.
struct Programs<P: Protocol, H> {
    pool: Arc<Pool<P>>,
    host: Rc<H>,
    lives: Lives,
    generation: u32,
    /// The first one, with its connection: whether it can be started has been tried before there was a worker for it.
    first: Option<(Rc<Program>, OwnedFd)>,
    places: HashMap<WorkerId, Place>,
    /// Programs that run and have no connection.
    free: Vec<ProgramLease>,
    events: (UnboundedSender<Event>, UnboundedReceiver<Event>),
    closed: (UnboundedSender<ClosedError>, UnboundedReceiver<ClosedError>),
}

/// Starts a program and connects to it. The end of it goes to `events`.
async fn make<H: Host>(
    host: &Rc<H>,
    events: &UnboundedSender<Event>,
) -> Result<(Rc<Program>, OwnedFd), Error> {
    let events = events.clone();
    // Where nobody listens any more nobody cares.
    let gone = move |program: &Rc<Program>| drop(events.send(Event::Gone(program.clone())));
    let program = Program::watch(host.start().await?, host, gone)?;
    match host.connect(&program.socket).await {
        Ok(socket) => Ok((program, socket)),
        Err(mut error) => {
            program.end_within(CAUSE).await;
            if !program.is_up() {
                error = Error::because(error.kind, format!("the program: {}", program.how()));
                error.last_lines = program.last_lines();
            }
            program.kill();
            Err(error)
        }
    }
}

/// The same, and waits until the program serves.
async fn make_ready<P: Protocol, H: Host>(
    host: &Rc<H>,
    events: &UnboundedSender<Event>,
    limit: Duration,
) -> Result<(Rc<Program>, NewConnection), Error> {
    let (program, socket) = make(host, events).await?;
    let connection = greet::<P>(&program, socket, limit).await;
    Ok((program, connection))
}

/// Waits until a program that has just been started begins to serve, which may take seconds: until then it is given no
/// request, which another program would be free for. `limit`: after that it is given one all the same.
async fn greet<P: Protocol>(program: &Program, socket: OwnedFd, limit: Duration) -> NewConnection {
    let connection = NewConnection::from(socket);
    tokio::select! {
        is_greeted = serving::greet::<P>(&connection.socket) => NewConnection { is_greeted, ..connection },
        // What has ended tells why to the request that it is given.
        () = program.end_within(limit) => NewConnection { is_greeted: !P::GREETING.is_empty(), ..connection },
    }
}

impl<P: Protocol, H: Host> Supervisor<Streams<P>> for Each<H> {
    type Source = Programs<P, H>;

    async fn start(&self, pool: &Arc<Pool<P>>, generation: u32) -> Result<Programs<P, H>, Error> {
        let events = unbounded_channel();
        let first = Some(make(&self.host, &events.0).await?);
        pool.ready(0);
        Ok(Programs {
            pool: pool.clone(),
            host: self.host.clone(),
            lives: self.lives.clone(),
            generation,
            first,
            places: HashMap::new(),
            free: Vec::new(),
            events,
            closed: unbounded_channel(),
        })
    }
}

impl<P: Protocol, H: Host> Programs<P, H> {
    /// A worker has a connection.
    fn made(&mut self, worker: WorkerId, program: Rc<Program>, connection: NewConnection) -> SeatEvent {
        let Some(place) = self.places.get_mut(&worker) else {
            program.kill();
            return SeatEvent::Other;
        };
        match connection.is_greeted {
            true => place.seat.put_greeted(connection.socket),
            false => place.seat.put(connection.socket, None),
        }
        let pid = program.pid;
        if !program.is_up() {
            // Nobody has learned of its end: it was no worker's yet.
            let _ = self.events.0.send(Event::Gone(program.clone()));
        }
        if let Some(record) = self.pool.lock().records.get(&worker) {
            let worker = record.worker.clone();
            program.attend(Box::new(move |line| worker.keep_line(line)));
        }
        place.program = Some(program);
        SeatEvent::Began(worker, pid)
    }

    /// A connection is closed. The program stays if it is in a good state and may serve further requests. One that is to
    /// end tells how it has ended when it has.
    fn closed(&mut self, ClosedError { worker, amid }: ClosedError) -> SeatEvent {
        let Some(place) = self.places.get(&worker) else { return SeatEvent::Other };
        let Some(program) = place.program.clone() else { return SeatEvent::Other };
        if !program.is_up() {
            return SeatEvent::Other;
        }
        if amid {
            let events = self.events.0.clone();
            spawn_local(async move {
                program.end_within(CAUSE).await;
                let _ = events.send(Event::Settled(worker));
            });
            return SeatEvent::Other;
        }
        let left = place.seat.left();
        self.places.remove(&worker);
        if left > 0 {
            self.free.push((program, if left == u32::MAX { 0 } else { left }));
        } else {
            program.kill();
        }
        SeatEvent::Ended(worker, Exit::Status(0))
    }

    /// A conversation has broken off: nobody knows what its program is at.
    fn settled(&mut self, worker: WorkerId) -> SeatEvent {
        let Some(place) = self.places.get(&worker) else { return SeatEvent::Other };
        if let Some(program) = &place.program {
            program.kill();
            return SeatEvent::Other;
        }
        self.places.remove(&worker);
        SeatEvent::Ended(worker, Exit::Status(0))
    }

    /// A program has ended: so has the worker that it was.
    fn gone(&mut self, gone: &Rc<Program>) -> SeatEvent {
        self.free.retain(|(program, _)| !Rc::ptr_eq(program, gone));
        let is_its = |place: &Place| place.program.as_ref().is_some_and(|program| Rc::ptr_eq(program, gone));
        let Some(worker) = self.places.iter().find(|(_, place)| is_its(place)).map(|(worker, _)| *worker)
        else {
            return SeatEvent::Other;
        };
        let exit = self.leave(worker);
        SeatEvent::Ended(worker, exit.unwrap_or(Exit::Status(0)))
    }

    /// A worker is no more: how its program has ended, if it has.
    fn leave(&mut self, worker: WorkerId) -> Option<Exit> {
        let place = self.places.remove(&worker)?;
        place.seat.close();
        place.program.and_then(|program| program.exit())
    }

    /// Has the program of a worker end, which tells when it has.
    fn dismiss(&self, worker: WorkerId) {
        let _ = self.events.0.send(Event::Settled(worker));
    }

    /// Ends programs that nobody has needed for long, or that are old, and kills those that are at one request for too
    /// long.
    fn look_at_lives(&mut self, now: Instant) {
        let over = |limit: Duration, since: Duration| !limit.is_zero() && since >= limit;
        let age = |worker: WorkerId| {
            let program = self.places.get(&worker)?.program.as_ref()?;
            Some(program.since.elapsed())
        };
        self.pool.locked(|state, out| {
            let mut lasting = state.records.values().filter(|record| record.lasts()).count();
            let mut idle = state.idle.clone();
            idle.retain(|worker| {
                let since =
                    state.records.get(worker).map(|record| now.saturating_duration_since(record.since));
                since.is_some_and(|since| over(self.lives.idle, since))
                    || age(*worker).is_some_and(|age| over(self.lives.lifetime, age))
            });
            for worker in idle {
                if lasting > self.lives.least as usize {
                    state.end(&self.pool, worker);
                    state.retired.push(worker);
                    lasting -= 1;
                }
            }
            let late = state.records.values().filter(|record| record.state == WorkerState::Busy);
            let late =
                late.filter(|record| over(self.lives.busy, now.saturating_duration_since(record.since)));
            let late: Vec<_> = late.map(|record| record.worker.id).collect();
            for worker in late {
                let pid = state.records.get(&worker).map_or(0, |record| record.worker.pid.load(Relaxed));
                self.host.line(pid, b"it has been at one request for too long, and is ended");
                state.kill(&self.pool, worker, out);
            }
        });
    }
}

impl<P: Protocol, H: Host> Source<Streams<P>> for Programs<P, H> {
    async fn add(&mut self, worker: WorkerId) -> Result<io::Result<Arc<Seat>>, End> {
        let (mut most, mut free) = (self.lives.requests, None);
        while let Some((program, left)) = self.free.pop() {
            if program.is_up() {
                (most, free) = (left, Some(program));
                break;
            }
        }
        let seat = Arc::new(Seat::new(worker, self.closed.0.clone(), most));
        self.places.insert(worker, Place { seat: seat.clone(), program: None });
        let (events, host) = (self.events.0.clone(), self.host.clone());
        let first = if free.is_none() { self.first.take() } else { None };
        // Less than requests wait for a program, so that they learn what this one has done.
        let limit = self.pool.settings.queue_timeout / 2;
        spawn_local(async move {
            let made = match (free, first) {
                (Some(program), _) => match host.connect(&program.socket).await {
                    Ok(socket) => Ok((program, NewConnection::from(socket))),
                    Err(_) => {
                        program.kill();
                        make_ready::<P, H>(&host, &events, limit).await
                    }
                },
                (None, Some((program, socket))) => {
                    let connection = greet::<P>(&program, socket, limit).await;
                    Ok((program, connection))
                }
                (None, None) => make_ready::<P, H>(&host, &events, limit).await,
            };
            let event = match made {
                Ok((program, connection)) => Event::Made(worker, program, connection),
                Err(error) => Event::Failed(worker, error),
            };
            if let Err(SendError(unheard)) = events.send(event) {
                unheard.undo();
            }
        });
        Ok(Ok(seat))
    }

    async fn retire(&mut self, worker: WorkerId) -> Result<(), End> {
        self.dismiss(worker);
        Ok(())
    }

    async fn kill(&mut self, worker: WorkerId) -> Result<(), End> {
        self.dismiss(worker);
        Ok(())
    }

    async fn event(&mut self) -> Result<SeatEvent, End> {
        let event = tokio::select! {
            event = self.events.1.recv() => event.ok_or(End::Gone)?,
            closed = self.closed.1.recv() => return Ok(self.closed(closed.ok_or(End::Gone)?)),
        };
        Ok(match event {
            Event::Made(worker, program, socket) => self.made(worker, program, socket),
            Event::Failed(worker, error) => {
                self.places.remove(&worker);
                if self.places.is_empty() && self.free.is_empty() {
                    // None is left: whoever waits is told why at once.
                    return Err(End::Gone);
                }
                SeatEvent::Failed(worker, error.to_string())
            }
            Event::Gone(program) => self.gone(&program),
            Event::Settled(worker) => self.settled(worker),
        })
    }

    fn each_second(&mut self, now: Instant) -> Result<(), End> {
        self.host.in_use();
        self.places.values().for_each(|place| place.seat.sweep());
        self.look_at_lives(now);
        Ok(())
    }

    fn crashed(&self, worker: &Arc<Worker<Streams<P>>>, _: Exit, _: bool) {
        // The program's end is in the log.
        worker.told.store(true, Relaxed);
    }

    fn not_made(&self, why: &str) {
        self.host.line(0, format!("no further program can be started: {why}").as_bytes());
    }

    fn parent(&self) -> Option<u32> {
        None
    }

    fn end(self, _: End) {
        let Self { pool, generation, first, places, free, events: (_, mut events), .. } = self;
        pool.let_go(generation);
        while let Ok(event) = events.try_recv() {
            event.undo();
        }
        for (program, _) in free {
            program.kill();
        }
        if let Some((program, _)) = first {
            program.kill();
        }
        let busy: Vec<WorkerId> = pool.workers_of(generation).into_iter().map(|(worker, _)| worker).collect();
        for (worker, place) in places {
            // Nobody waits for an end of the pool that was not asked for while requests run.
            if let Some(program) = place.program {
                program.kill();
            }
            if busy.contains(&worker) {
                pool.orphan_gone(worker);
            }
        }
        pool.rest();
    }
}
