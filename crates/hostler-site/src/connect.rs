//! Answers `Connect`: a connection to a Unix socket, made as the site's user.
//!
//! A backlog that is full is tried again until the time is over; nobody else waits for that. A socket's owner tells
//! nobody when there is room, so it is looked for.

use hostler_sys::fs::{self, Node, Stat};
use hostler_sys::socket::connect_to;
use hostler_wire::site::{Connect, ConnectError, FromSite};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::homes::Homes;
use crate::listen;
use crate::programs::{ConnectionId, Programs};
use crate::walk::errno;

/// The interval of attempts at a full backlog.
const PAUSE: Duration = Duration::from_millis(5);
/// Longest time that is waited for a place in a backlog.
const LONGEST: Duration = Duration::from_secs(60);
/// Most that wait for a place; further ones are told at once that there is none.
const MOST: usize = 1024;

/// Connections that wait for a place in a backlog.
#[derive(Debug, Default)]
pub(crate) struct Connects(Vec<Waiting>);

#[derive(Debug)]
struct Waiting {
    connection: ConnectionId,
    request: Connect,
    deadline: Instant,
    /// When it is tried again.
    next: Instant,
}

/// An answer, with the socket that travels with it.
pub(crate) type Answer = (FromSite, Vec<OwnedFd>);

impl Connects {
    /// Connects now, or later: `None`.
    pub(crate) fn ask(
        &mut self,
        connection: ConnectionId,
        request: Connect,
        homes: &Homes,
        programs: &Programs,
        now: Instant,
    ) -> Option<Answer> {
        let result = connect(&request.path, homes, programs);
        if !matches!(result, Err(ConnectError::Busy)) || request.within == 0 || self.0.len() >= MOST {
            return Some(answer(&request, result));
        }
        let deadline = now + Duration::from_millis(request.within.into()).min(LONGEST);
        self.0.push(Waiting { connection, request, deadline, next: now + PAUSE });
        None
    }

    /// Tries those again whose time it is; the answers that have come of it.
    pub(crate) fn try_again(
        &mut self,
        homes: &Homes,
        programs: &Programs,
        now: Instant,
    ) -> Vec<(ConnectionId, Answer)> {
        let mut answers = Vec::new();
        self.0.retain_mut(|waiting| {
            if waiting.next > now {
                return true;
            }
            let result = connect(&waiting.request.path, homes, programs);
            if matches!(result, Err(ConnectError::Busy)) && now < waiting.deadline {
                waiting.next = now + PAUSE;
                return true;
            }
            answers.push((waiting.connection, answer(&waiting.request, result)));
            false
        });
        answers
    }

    /// Drops the requests of this connection.
    pub(crate) fn forget(&mut self, connection: ConnectionId) {
        self.0.retain(|waiting| waiting.connection != connection);
    }

    /// Returns how long [`Self::try_again`] has nothing to do.
    pub(crate) fn quiet_for(&self, now: Instant) -> Option<Duration> {
        self.0.iter().map(|waiting| waiting.next.saturating_duration_since(now)).min()
    }
}

fn answer(request: &Connect, result: Result<OwnedFd, ConnectError>) -> Answer {
    match result {
        Ok(socket) => (FromSite::Connected { id: request.id }, vec![socket]),
        Err(cause) => (FromSite::ConnectFailed { id: request.id, cause }, Vec::new()),
    }
}

fn connect(path: &[u8], homes: &Homes, programs: &Programs) -> Result<OwnedFd, ConnectError> {
    let found;
    let socket = if listen::is_name(path) {
        programs.socket(path).ok_or(ConnectError::NotFound)?
    } else {
        found = find(path, homes)?;
        &found
    };
    if !socket.is_socket() {
        return Err(ConnectError::NotSocket);
    }
    connect_to(socket.as_fd()).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::ACCESS) => {
            let (uid, owner, mode) = parties(socket.stat());
            ConnectError::NotWritable { uid, owner, mode }
        }
        Some(Errno::CONNREFUSED) => ConnectError::Refused,
        Some(Errno::AGAIN) => ConnectError::Busy,
        Some(Errno::PROTOTYPE) => ConnectError::NotStream,
        _ => ConnectError::Other { errno: errno(&error) },
    })
}

/// Resolves a path; a relative one is below the site's state directory. An error names the directory that may not be
/// entered.
fn find(path: &[u8], homes: &Homes) -> Result<Node, ConnectError> {
    if path.is_empty() || path.contains(&0) {
        return Err(ConnectError::Other { errno: Errno::INVAL.raw_os_error() });
    }
    let other = |error: &io::Error| ConnectError::Other { errno: errno(error) };
    let mut absolute = PathBuf::new();
    if !path.starts_with(b"/") {
        let invalid = ConnectError::Other { errno: Errno::INVAL.raw_os_error() };
        absolute.push(homes.state().map_err(|_| invalid)?);
    }
    absolute.push(OsStr::from_bytes(path));
    let path = absolute.as_os_str().as_bytes();
    let root = Node::root().map_err(|error| other(&error))?;
    let found = fs::resolve(&root, path, &mut |_| ());
    found.map(|found| found.node).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::NOTDIR) => ConnectError::NotFound,
        Some(Errno::ACCESS) => not_entered(&root, path).unwrap_or_else(|| other(&error)),
        _ => other(&error),
    })
}

/// The directory on the way to a path that may not be entered: the last one in which something was looked up.
fn not_entered(root: &Node, path: &[u8]) -> Option<ConnectError> {
    let mut last: Option<(Vec<u8>, Stat)> = None;
    let found = fs::resolve(root, path, &mut |directory| {
        last = Some((fs::path_of(directory.as_fd()).unwrap_or_default(), *directory.stat()));
    });
    let (directory, stat) = last.filter(|_| found.is_err())?;
    let (uid, owner, mode) = parties(&stat);
    let directory = String::from_utf8_lossy(&directory).into_owned();
    Some(ConnectError::NotEntered { directory, uid, owner, mode })
}

/// Returns the calling user, the owner, and the permission bits.
fn parties(stat: &Stat) -> (u32, u32, u32) {
    (rustix::process::geteuid().as_raw(), stat.st_uid, stat.st_mode & 0o7777)
}
