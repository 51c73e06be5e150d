//! Listening sockets and connections: each thread accepts, and hands a connection on when another thread has
//! fewer, so that a burst of keep-alive clients doesn't end up on one processor.
//!
//! Connections are bounded by the descriptors that the front may have, not by `MaxRequestWorkers`: they cost little
//! while nothing is asked, and what programs may do at once is bounded by their pools. Where there is no room for
//! another one, the oldest silent ones make it: of all, or of the one address that has as many as it may.

use crate::http1;
use crate::io::deadline::{self, Deadline};
use crate::io::descriptors::Descriptors;
use crate::io::stream::Io;
use crate::limits::unread::AllUnread;
use crate::limits::watch;
use crate::log;
use crate::process::preface;
use crate::process::watchdog::Pulses;
use crate::request::connection::{self, Peer};
use crate::request::settings;
use crate::request::thread::{SharedState, Thread};
use crate::technique::pools::Engines;
use crate::technique::warm::Warming;
use crate::values::address::Client;
use hostler_config::Server;
use hostler_gateway::backend::ring::attentive;
use rustix::net::SocketFlags;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

/// A connection on its way to another thread.
pub(crate) struct NewConnection {
    stream: std::net::TcpStream,
    /// Its local address, if known without a system call.
    bound: Option<SocketAddr>,
    remote: SocketAddr,
    /// `Listen ... https`.
    https: bool,
    counted: ConnectionCount,
    /// Threads that have none of its address that they could close for it; 0: it needs no other to be closed.
    refused: usize,
}

/// The threads' knowledge of each other's load.
pub(crate) struct Balance {
    pub(crate) loads: Vec<AtomicUsize>,
    pub(crate) senders: Vec<mpsc::UnboundedSender<NewConnection>>,
}

/// The sockets that threads listen at: when the last is closed the front has released its addresses.
pub(crate) struct Listening(AtomicUsize);

impl Listening {
    pub(crate) fn new(sockets: usize) -> Self {
        Self(AtomicUsize::new(sockets))
    }

    /// Returns true if all are closed.
    pub(crate) fn is_released(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    /// One has been closed.
    fn closed(&self, shared: &SharedState) {
        if self.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            shared.hub.released();
        }
    }
}

/// A listening socket of a thread's.
struct Listener {
    socket: TcpListener,
    /// The local address of its connections, if it is bound to one address.
    bound: Option<SocketAddr>,
    https: bool,
    balance: Arc<Balance>,
}

/// Accepts until the front drains, and closes the socket then.
pub(crate) async fn accept(
    thread: Rc<Thread>,
    listener: std::net::TcpListener,
    https: bool,
    balance: Arc<Balance>,
) {
    if let Ok(socket) = TcpListener::from_std(listener) {
        let bound = socket.local_addr().ok().filter(|bound| !bound.ip().is_unspecified());
        let listener = Listener { socket, bound, https, balance };
        let mut drain = thread.shared.drain.clone();
        tokio::select! {
            // First: a connection that is accepted after Released was sent would have the old configuration.
            biased;
            _ = drain.wait_for(|draining| *draining) => {}
            () = listener.accept_all(&thread) => {}
        }
        listener.accept_last(&thread);
    }
    thread.shared.of::<Listening>().closed(&thread.shared);
}

/// Connections that wait in a socket's queue when the front drains, and that it still accepts: as many as fit into the
/// longest usual queue.
const LAST: usize = 4096;

impl Listener {
    async fn accept_all(&self, thread: &Rc<Thread>) {
        // Until then the connections are those of the generation that serves.
        thread.shared.of::<Warming>().over().await;
        loop {
            let (stream, remote) = match self.socket.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    pause_after(thread, &error).await;
                    continue;
                }
            };
            let short = !thread.shared.of::<Room>().descriptors.suffice_for_connections(&stream);
            self.take(thread, stream, remote);
            thread.shared.of::<Room>().wait(&thread.shared.connections).await;
            if short {
                let room = thread.shared.of::<Room>();
                room.wait_for_descriptors(&self.socket, &thread.shared.connections).await;
            }
        }
    }

    /// Accepts the connections in the queue: if the next generation lacks this address, closing would reset them.
    fn accept_last(&self, thread: &Rc<Thread>) {
        let room = thread.shared.of::<Room>();
        for _ in 0..LAST {
            if thread.shared.connections.load(Ordering::SeqCst) >= room.most {
                return;
            }
            let Ok((stream, remote)) =
                rustix::net::acceptfrom_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
            else {
                return;
            };
            let remote = remote.and_then(|remote| SocketAddr::try_from(remote).ok());
            let stream = TcpStream::from_std(std::net::TcpStream::from(stream));
            if let (Ok(stream), Some(remote)) = (stream, remote) {
                self.take(thread, stream, remote);
            }
        }
    }

    /// Has a connection served, by the thread that has the fewest.
    fn take(&self, thread: &Rc<Thread>, stream: TcpStream, remote: SocketAddr) {
        let Self { bound, https, balance, .. } = self;
        let mine = thread.index as usize;
        let target = least_loaded(&balance.loads, mine);
        // From now on, so that none is missing in the count that another thread has yet to look at.
        let (counted, is_within) = ConnectionCount::new(&thread.shared, balance, target, remote);
        let refused = usize::from(!is_within && deadline::close_oldest(Some(counted.client)) == 0);
        if target == mine && refused == 0 {
            serve_one(thread, stream, *bound, remote, *https, counted);
        } else if let Ok(stream) = stream.into_std() {
            let target = if refused > 0 { (mine + 1) % balance.senders.len() } else { target };
            let accepted = NewConnection { stream, bound: *bound, remote, https: *https, counted, refused };
            let _ = balance.senders[target].send(accepted);
        }
    }
}

/// The pause before descriptors are checked again.
const SHORTAGE: Duration = Duration::from_millis(20);
/// The number of checks while few are left for connections.
const LOOKS: u32 = 5;

/// EMFILE and its like pass; a loop that spins on them would not let them.
async fn pause_after(thread: &Thread, error: &std::io::Error) {
    let broken = matches!(
        error.kind(),
        std::io::ErrorKind::ConnectionAborted
            | std::io::ErrorKind::ConnectionReset
            | std::io::ErrorKind::Interrupted
    );
    if !broken {
        crate::log::server(thread, crate::log::Severity::Error, &format!("accept failed: {error}"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Bounds open connections: further clients wait in the kernel's queue.
pub(crate) struct Room {
    most: usize,
    descriptors: Arc<Descriptors>,
    freed: Notify,
    /// There is no more room: each thread closes some of its silent connections.
    scarce: Notify,
}

impl Room {
    pub(crate) fn new(descriptors: Arc<Descriptors>) -> Self {
        Self { most: descriptors.connections(), descriptors, freed: Notify::new(), scarce: Notify::new() }
    }

    /// Closes some of this thread's silent connections whenever there is no room for others.
    async fn make(&self) {
        loop {
            self.scarce.notified().await;
            deadline::close_oldest(None);
        }
    }

    /// The last descriptors are for those who are here. Where it is not connections that have taken the others, waiting
    /// for theirs is of little use, and a client must not wait for ever.
    async fn wait_for_descriptors(&self, any: &TcpListener, connections: &AtomicUsize) {
        let newest = || any.as_fd().try_clone_to_owned();
        let suffice = || newest().is_ok_and(|newest| self.descriptors.suffice_for_connections(&newest));
        let are_many = || connections.load(Ordering::SeqCst) > self.most / 2;
        let mut looks = 0;
        while !suffice() && (looks < LOOKS || are_many()) {
            if are_many() {
                self.scarce.notify_waiters();
            }
            tokio::time::sleep(SHORTAGE).await;
            looks += 1;
        }
    }

    async fn wait(&self, connections: &AtomicUsize) {
        while connections.load(Ordering::SeqCst) >= self.most {
            let mut freed = std::pin::pin!(self.freed.notified());
            // Listens from here on, so that none that closes from here on goes unnoticed.
            freed.as_mut().enable();
            if connections.load(Ordering::SeqCst) >= self.most {
                self.scarce.notify_waiters();
                let _ = tokio::time::timeout(SHORTAGE, freed).await;
            }
        }
    }

    fn leave(&self, connections: &AtomicUsize) {
        if connections.fetch_sub(1, Ordering::SeqCst) >= self.most {
            self.freed.notify_waiters();
        }
    }
}

/// A difference of so many connections is not worth handing one on, which costs more than accepting it.
const EVEN: usize = 1;

fn least_loaded(loads: &[AtomicUsize], mine: usize) -> usize {
    let own = loads[mine].load(Ordering::Relaxed);
    let (index, least) = loads
        .iter()
        .map(|load| load.load(Ordering::Relaxed))
        .enumerate()
        .min_by_key(|(_, load)| *load)
        .unwrap_or((mine, own));
    if own > least + EVEN { index } else { mine }
}

/// Takes over connections that other threads accepted.
pub(crate) async fn receive(thread: Rc<Thread>, mut from: mpsc::UnboundedReceiver<NewConnection>) {
    while let Some(accepted) = from.recv().await {
        let NewConnection { stream, bound, remote, https, counted, refused } = accepted;
        if refused > 0 && deadline::close_oldest(Some(counted.client)) == 0 {
            let next = &counted.balance.senders[(thread.index as usize + 1) % counted.balance.senders.len()];
            if refused + 1 < counted.balance.senders.len() {
                let next = next.clone();
                let _ =
                    next.send(NewConnection { stream, bound, remote, https, counted, refused: refused + 1 });
            } else {
                too_many(&thread, remote);
            }
            continue;
        }
        if let Ok(stream) = TcpStream::from_std(stream) {
            serve_one(&thread, stream, bound, remote, https, counted);
        }
    }
}

/// Counts a connection for as long as it lives.
struct ConnectionCount {
    shared: Arc<SharedState>,
    balance: Arc<Balance>,
    index: usize,
    client: Client,
}

impl ConnectionCount {
    /// And whether its address has no more than it may.
    fn new(
        shared: &Arc<SharedState>,
        balance: &Arc<Balance>,
        index: usize,
        remote: SocketAddr,
    ) -> (Self, bool) {
        let client = Client::from(connection::plain(remote).ip());
        shared.connections.fetch_add(1, Ordering::SeqCst);
        balance.loads[index].fetch_add(1, Ordering::Relaxed);
        let is_within = shared.clients.connected(client);
        (Self { shared: shared.clone(), balance: balance.clone(), index, client }, is_within)
    }
}

/// A connection is closed, as its address has too many, and none of them is silent.
fn too_many(thread: &Thread, remote: SocketAddr) {
    if let Some(count) = thread.shared.told_connections.one_more(thread.shared.seconds()) {
        let address = remote.ip();
        let message = format!(
            "{count} connections were closed at once, as their address had too many that were not silent, the last \
             of {address} (HostlerConnectionsPerAddress)"
        );
        crate::log::server(thread, crate::log::Severity::Warn, &message);
    }
}

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.shared.clients.left(self.client);
        self.shared.of::<Room>().leave(&self.shared.connections);
        self.balance.loads[self.index].fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve_one(
    thread: &Rc<Thread>,
    stream: TcpStream,
    bound: Option<SocketAddr>,
    remote: SocketAddr,
    https: bool,
    counted: ConnectionCount,
) {
    // TCP_NODELAY is inherited from the listening socket.
    let Some(local) = bound.or_else(|| stream.local_addr().ok()) else { return };
    let (local, remote) = (connection::plain(local), connection::plain(remote));
    let hosts = thread.hosts(local);
    let thread = thread.clone();
    let tls = https || crate::tls::is_on(hosts.default_server());
    if hosts.begins_with_proxy(remote.ip()) {
        tokio::task::spawn_local(async move {
            attentive(Box::pin(behind_proxy(&thread, stream, local, remote, tls))).await;
            drop(counted);
        });
    } else if tls {
        tokio::task::spawn_local(async move {
            attentive(pin!(secure(&thread, stream, local, (remote, remote)))).await;
            drop(counted);
        });
    } else {
        let peer = Peer::new(&thread, local, remote, remote, None);
        let h2c = allows_h2c(hosts.default_server());
        tokio::task::spawn_local(async move {
            if h2c {
                attentive(Box::pin(preface::sniff(thread, stream, peer))).await;
            } else {
                attentive(pin!(http1::conn::serve(thread, Io::Plain(stream), peer))).await;
            }
            drop(counted);
        });
    }
}

/// `RemoteIPProxyProtocol`: who the client is, first.
async fn behind_proxy(
    thread: &Rc<Thread>,
    stream: TcpStream,
    local: SocketAddr,
    connected: SocketAddr,
    tls: bool,
) {
    let hosts = thread.hosts(local);
    let server = hosts.default_server();
    let deadline = Deadline::new(connected.ip().into());
    deadline.set(settings::handshake_timeout(server));
    deadline.silent(false);
    let told = tokio::select! {
        told = preface::proxy_header(&stream) => told,
        () = deadline.expired() => return,
    };
    drop(deadline);
    let remote = match told {
        Ok(client) => client.map_or(connected, connection::plain),
        Err(why) => {
            if let Some(count) = thread.shared.told_connections.one_more(thread.shared.seconds()) {
                let address = connected.ip();
                let message = format!(
                    "{count} connections were closed, the last of {address}: {why} (RemoteIPProxyProtocol)"
                );
                crate::log::server(thread, crate::log::Severity::Error, &message);
            }
            preface::drop_unread(&stream);
            return;
        }
    };
    if tls {
        Box::pin(secure(thread, stream, local, (remote, connected))).await;
        return;
    }
    let peer = Peer::new(thread, local, remote, connected, None);
    if allows_h2c(server) {
        preface::sniff(thread.clone(), stream, peer).await;
    } else {
        http1::conn::serve(thread.clone(), Io::Plain(stream), peer).await;
    }
}

/// TLS first, then the protocol that was agreed on; the client, and who has connected.
async fn secure(
    thread: &Rc<Thread>,
    stream: TcpStream,
    local: SocketAddr,
    (remote, connected): (SocketAddr, SocketAddr),
) {
    let handshake = crate::tls::accept(thread, stream, local);
    let timeout = settings::handshake_timeout(thread.hosts(local).default_server());
    let deadline = Deadline::new(remote.ip().into());
    deadline.set(timeout);
    deadline.silent(false);
    let shaken = tokio::select! {
        shaken = handshake => shaken,
        () = deadline.expired() => None,
    };
    drop(deadline);
    let Some((stream, tls, h2)) = shaken else { return };
    let peer = Peer::new(thread, local, remote, connected, Some(tls));
    if h2 {
        crate::http2::serve(thread.clone(), stream, peer).await;
    } else {
        http1::conn::serve(thread.clone(), Io::Tls(Box::new(stream)), peer).await;
    }
}

/// `Protocols h2c`: HTTP/2 by prior knowledge on plain connections.
fn allows_h2c(server: &Server) -> bool {
    server.conf.core.protocols.as_ref().is_some_and(|p| p.iter().any(|p| p == "h2c"))
}

/// Starts the tasks that every thread has.
pub(crate) fn start_thread_tasks(thread: &Rc<Thread>) {
    tokio::task::spawn_local(deadline::sweep());
    let shared = thread.shared.clone();
    tokio::task::spawn_local(async move { shared.of::<Room>().make().await });
    tokio::task::spawn_local(crate::log::access_log::flusher(thread.clone()));
    tokio::task::spawn_local(keep_house(thread.clone()));
}

/// Once a second: the sign of life, the coarse clock, and what nobody uses any more.
async fn keep_house(thread: Rc<Thread>) {
    let pulse = thread.shared.of::<Pulses>().of(thread.index);
    pulse.begin();
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        pulse.beat();
        thread.tick();
        watch::sweep();
        if thread.index == 0 {
            thread.shared.of::<Engines>().tidy();
            thread.shared.of::<Arc<AllUnread>>().tidy();
            log::tell_left_out(&thread);
            log::tell_lost(&thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[tokio::test]
    async fn when_there_are_too_many_connections_the_next_waits_until_one_has_closed() {
        let (room, open) = (Room::new(Arc::new(Descriptors::new(4))), AtomicUsize::new(1));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(pin!(room.wait(&open)).poll(&mut context), Poll::Ready(()));
        open.fetch_add(1, Ordering::SeqCst);
        let mut waits = pin!(room.wait(&open));
        assert_eq!(waits.as_mut().poll(&mut context), Poll::Pending);
        room.leave(&open);
        assert_eq!(waits.as_mut().poll(&mut context), Poll::Ready(()));
    }

    #[test]
    fn a_connection_is_handed_on_only_where_that_evens_things_out() {
        let loads = |loads: [usize; 2]| loads.map(AtomicUsize::new);
        assert_eq!(least_loaded(&loads([1, 0]), 0), 0);
        assert_eq!(least_loaded(&loads([2, 0]), 0), 1);
        assert_eq!(least_loaded(&loads([2, 0]), 1), 1);
    }
}
