//! Workers that are connections to a program which is there: who makes it listen is somebody else.
//!
//! **Runs as** the front. **Diagnostics**: why there is no connection is told to the requests that wait for one; what
//! fails while others serve goes to the host's log, now and then.

use super::{End, SeatEvent, Source, Supervisor};
use crate::Error;
use crate::backend::stream::{ClosedError, Pool, Protocol, Seat, Streams};
use crate::pool::WorkerId;
use crate::pool::maintain::FAREWELL;
use crate::pool::worker::{Death, Worker};
use hostler_wire::site::Exit;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// A connection pool's interface to its process. Everything is called on one thread.
pub trait Host: 'static {
    /// Connects. The socket may be blocking, and others may hold it, too.
    ///
    /// # Errors
    /// [`Kind::NotConnected`](crate::Kind::NotConnected), say; its cause is told to the requests that wait.
    fn connect(&self) -> impl Future<Output = Result<OwnedFd, Error>>;

    /// Called each second as long as the pool has connections.
    fn in_use(&self);

    /// Returns how many further connections may be made now; the pool has `open` of them.
    fn room(&self, open: usize) -> usize {
        let _ = open;
        usize::MAX
    }

    /// The pool has no connections any more, and none is wanted: what was started for them may end.
    fn rest(&self) {}

    /// The process that all connections lead to, where it is ours.
    fn process(&self) -> Option<u32> {
        None
    }

    /// Waits for that process's exit status, and its last lines.
    fn ended(&self) -> impl Future<Output = Option<(Exit, Vec<String>)>> {
        std::future::ready(None)
    }

    /// Something for the log.
    fn line(&self, line: &[u8]);
}

impl<P: Protocol> Pool<P> {
    /// Keeps the pool's connections until it is closed. To be spawned on a thread's `LocalSet`, once for each pool.
    pub async fn maintain<H: Host>(self: Arc<Self>, host: H) {
        self.supervise(Connect { host: Rc::new(host) }).await;
    }
}

/// The supervisor.
struct Connect<H> {
    host: Rc<H>,
}

/// The connections.
struct Connections<P: Protocol, H> {
    pool: Arc<Pool<P>>,
    host: Rc<H>,
    generation: u32,
    /// The first one: whether there is anything to connect to has been tried before there was a worker for it.
    first: Option<OwnedFd>,
    seats: HashMap<WorkerId, Arc<Seat>>,
    /// The process whose end is waited for.
    watched: Option<u32>,
    made: (UnboundedSender<SeatEvent>, UnboundedReceiver<SeatEvent>),
    closed: (UnboundedSender<ClosedError>, UnboundedReceiver<ClosedError>),
}

impl<P: Protocol, H: Host> Supervisor<Streams<P>> for Connect<H> {
    type Source = Connections<P, H>;

    async fn start(&self, pool: &Arc<Pool<P>>, generation: u32) -> Result<Connections<P, H>, Error> {
        let first = Some(self.host.connect().await?);
        pool.ready(0);
        Ok(Connections {
            pool: pool.clone(),
            host: self.host.clone(),
            generation,
            first,
            seats: HashMap::new(),
            watched: None,
            made: unbounded_channel(),
            closed: unbounded_channel(),
        })
    }
}

impl<P: Protocol, H: Host> Connections<P, H> {
    /// A connection is closed, or is to be.
    fn close(&mut self, worker: WorkerId) {
        if let Some(seat) = self.seats.get(&worker) {
            seat.close();
            seat.tell_closed();
        }
    }

    /// Has requests that a process of ours takes with it told how it has ended.
    fn watch(&mut self) {
        let process = self.host.process();
        if process.is_none() || self.watched == process {
            return;
        }
        self.watched = process;
        let (pool, host) = (self.pool.clone(), self.host.clone());
        tokio::task::spawn_local(async move {
            let Some((exit, lines)) = host.ended().await else { return };
            for record in pool.lock().records.values() {
                if Some(record.worker.pid.load(Relaxed)) == process {
                    lines.iter().for_each(|line| record.worker.keep_line(line.as_bytes()));
                    // Nobody else tells it of a death but whoever closes it, later.
                    let _ = record.worker.death.set(Death::Exit(exit));
                }
            }
        });
    }
}

impl<P: Protocol, H: Host> Source<Streams<P>> for Connections<P, H> {
    async fn add(&mut self, worker: WorkerId) -> Result<io::Result<Arc<Seat>>, End> {
        let seat = Arc::new(Seat::new(worker, self.closed.0.clone(), 0));
        self.seats.insert(worker, seat.clone());
        let (made, place, pool) = (self.made.0.clone(), seat.clone(), self.pool.clone());
        let told = move |connected: Result<OwnedFd, Error>, process: Option<u32>| {
            let process = process.unwrap_or(0);
            let event = match connected {
                Ok(socket) => {
                    let socket = Arc::new(socket);
                    let link = pool.common.offer::<P>(&socket);
                    place.put(socket, link);
                    SeatEvent::Began(worker, process)
                }
                Err(error) => SeatEvent::Failed(worker, error.to_string()),
            };
            // Where nobody listens any more nobody waits for it.
            let _ = made.send(event);
        };
        match self.first.take() {
            Some(socket) => told(Ok(socket), self.host.process()),
            None => {
                let host = self.host.clone();
                tokio::task::spawn_local(async move {
                    let connected = host.connect().await;
                    told(connected, host.process());
                });
            }
        }
        Ok(Ok(seat))
    }

    fn room(&self) -> usize {
        self.host.room(self.seats.len())
    }

    async fn retire(&mut self, worker: WorkerId) -> Result<(), End> {
        self.close(worker);
        Ok(())
    }

    async fn kill(&mut self, worker: WorkerId) -> Result<(), End> {
        // Whoever spoke over it has let it go.
        self.close(worker);
        Ok(())
    }

    async fn event(&mut self) -> Result<SeatEvent, End> {
        let event = tokio::select! {
            event = self.made.1.recv() => event,
            closed = self.closed.1.recv() => closed.map(|closed| SeatEvent::Ended(closed.worker, Exit::Status(0))),
        };
        let event = event.ok_or(End::Gone)?;
        self.watch();
        if let SeatEvent::Failed(worker, _) | SeatEvent::Ended(worker, _) = &event {
            self.seats.remove(worker);
        }
        if matches!(event, SeatEvent::Failed(..)) && self.seats.is_empty() {
            // Nothing is there any more: whoever waits is told why at once, and not when he has waited for too long.
            return Err(End::Gone);
        }
        Ok(event)
    }

    fn each_second(&mut self, _: Instant) -> Result<(), End> {
        self.host.in_use();
        self.host.room(self.seats.len());
        self.seats.values().for_each(|seat| seat.sweep());
        Ok(())
    }

    fn crashed(&self, _: &Arc<Worker<Streams<P>>>, _: Exit, _: bool) {}

    fn not_made(&self, why: &str) {
        self.host.line(format!("no further connection can be made: {why}").as_bytes());
    }

    fn parent(&self) -> Option<u32> {
        self.host.process()
    }

    fn end(self, end: End) {
        let Self { pool, host, generation, closed: (_, mut closed), .. } = self;
        pool.let_go(generation);
        if !end.is_unasked() {
            host.rest();
        }
        tokio::task::spawn_local(async move {
            let all_closed = async {
                while !pool.workers_of(generation).is_empty() {
                    let Some(ClosedError { worker, .. }) = closed.recv().await else { return };
                    pool.orphan_gone(worker);
                }
            };
            let _ = timeout(FAREWELL, all_closed).await;
            host.room(0);
            for (worker, _) in pool.workers_of(generation) {
                pool.orphan_gone(worker);
            }
            pool.rest();
        });
    }
}
