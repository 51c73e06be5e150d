//! A client, or in open plans a place for a request that is under way, with its connection.

use super::answer::Answer;
use super::connection::Connection;
use crate::load::think::Random;
use crate::load::timers::{Moment, SECOND};
use crate::load::tls::Tls;
use anyhow::{Context, Result};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto, sockopt};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// Pauses after failures: the first, and the longest.
const BACK_OFF: (Moment, Moment) = (SECOND / 100, SECOND / 10);

/// Addresses of the loopback network that connections come from, one after the other when its ports are used up.
const SOURCES: u8 = 250;

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No request is under way.
    Resting,
    /// Waits for its connection.
    Connecting,
    /// Sends its request, or waits for the answer.
    Asking,
}

/// A slot.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) state: State,
    pub(super) socket: Option<Connection>,
    /// Number of its socket, so that what the kernel says of an earlier one is not taken for this one's.
    pub(super) generation: u32,
    /// The index of the prepared request.
    pub(super) request: usize,
    /// The bytes sent of it.
    pub(super) sent: usize,
    pub(super) answer: Answer,
    /// Whole answers on this connection.
    pub(super) answers: u64,
    /// When its request was (to be) sent.
    pub(super) asked: Moment,
    /// Number of the phase that it was sent in.
    pub(super) phase: u32,
    /// True if its request was sent a second time.
    pub(super) retried: bool,
    /// When its request has waited too long.
    pub(super) deadline: Moment,
    /// True if a timer is set for that.
    pub(super) armed: bool,
    /// When its pause ends; 0: has none.
    pub(super) wake: Moment,
    pub(super) random: Random,
    /// Failures since the last answer.
    pub(super) failures: u32,
}

impl Slot {
    pub(super) fn new(seed: u64, number: u32) -> Self {
        Self {
            state: State::Resting,
            socket: None,
            generation: 0,
            request: 0,
            sent: 0,
            answer: Answer::default(),
            answers: 0,
            asked: 0,
            phase: 0,
            retried: false,
            deadline: 0,
            armed: false,
            wake: 0,
            random: Random::new(seed, number),
            failures: 0,
        }
    }

    /// Closes its connection.
    pub(super) fn close(&mut self) {
        self.socket = None;
        self.answers = 0;
    }

    /// Returns the pause after so many failures in a row; `None` after none.
    pub(super) fn back_off(&self) -> Option<Moment> {
        let doubled = BACK_OFF.0 << self.failures.saturating_sub(1).min(10);
        (self.failures > 0).then(|| doubled.min(BACK_OFF.1))
    }
}

/// Makes connections.
#[derive(Debug)]
pub(super) struct Connector {
    address: SocketAddr,
    /// Last number of the loopback address to come from; 0: the kernel's choice.
    source: u8,
    tls: Option<Tls>,
}

/// The result of an attempt.
pub(super) enum Attempt {
    Begun(Connection),
    /// The server's fault.
    Refused,
}

impl Connector {
    pub(super) const fn new(address: SocketAddr, tls: Option<Tls>) -> Self {
        Self { address, source: 0, tls }
    }

    /// Begins a connection.
    ///
    /// # Errors
    /// The generator's own: no descriptors, no ports.
    pub(super) fn connect(&mut self) -> Result<Attempt> {
        for _ in 0..=SOURCES {
            let socket = self.socket()?;
            match self.bind(&socket).and_then(|()| net::connect(&socket, &self.address)) {
                Ok(()) | Err(Errno::INPROGRESS) => {
                    return Connection::new(socket, self.tls.as_ref()).map(Attempt::Begun);
                }
                Err(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) if self.has_sources() => {
                    self.source = if self.source < SOURCES { self.source + 1 } else { 1 };
                }
                Err(e @ (Errno::ADDRNOTAVAIL | Errno::ADDRINUSE)) => {
                    return Err(e).context("the generator has no ports left for connections");
                }
                Err(_) => return Ok(Attempt::Refused),
            }
        }
        anyhow::bail!("the generator has no ports left for connections, from any of {SOURCES} addresses")
    }

    fn socket(&self) -> Result<OwnedFd> {
        let family = if self.address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
            .context("the generator cannot make a socket")?;
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        Ok(socket)
    }

    fn bind(&self, socket: &OwnedFd) -> rustix::io::Result<()> {
        if self.source == 0 {
            return Ok(());
        }
        sockopt::set_socket_reuseaddr(socket, true)?;
        net::bind(socket, &SocketAddr::from((Ipv4Addr::new(127, 0, 0, self.source), 0)))
    }

    fn has_sources(&self) -> bool {
        matches!(self.address.ip(), IpAddr::V4(address) if address.is_loopback())
    }
}

/// The events that are watched for on a connection, edge-triggered.
pub(super) fn interest() -> epoll::EventFlags {
    epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET
}
