//! The programs that run: to whom each belongs, and when it has to be gone.
//!
//! A program leads a process group of its own; killing it means that group. What has left the group
//! (a daemon) is the site's own business. A program may leave others of its group behind when it ends: they
//! stay known as long as the group has members, so that they can still be killed, and are left alone otherwise.

use hostler_sys::process::{Pid, Signal, kill_group};
use hostler_wire::site::RequestId;
use std::time::{Duration, Instant};

/// From SIGTERM to SIGKILL.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

/// How often is looked whether a group that was sent SIGTERM is gone.
const LOOK: Duration = Duration::from_millis(20);

/// Whenever there are so many more groups, those that have become empty are forgotten.
const MANY: usize = 64;

/// Number of a connection, never used twice.
pub(crate) type ConnectionId = u64;

/// A process group that was started for a request.
#[derive(Debug)]
struct Group {
    connection: ConnectionId,
    id: RequestId,
    leader: Pid,
    /// The leader has been reaped.
    ended: bool,
    /// SIGTERM was sent; SIGKILL follows at this time.
    kill_at: Option<Instant>,
}

/// All groups. There are seldom more than a handful, so they are simply listed.
#[derive(Debug, Default)]
pub(crate) struct Programs(Vec<Group>);

impl Programs {
    /// A program has been started.
    pub(crate) fn add(&mut self, connection: ConnectionId, id: RequestId, leader: Pid) {
        if self.0.len() >= MANY && self.0.len().is_multiple_of(MANY) {
            self.forget_empty();
        }
        self.0.push(Group { connection, id, leader, ended: false, kill_at: None });
    }

    /// A process has been reaped: for whom it ran, if it is one of ours.
    pub(crate) fn ended(&mut self, leader: Pid) -> Option<(ConnectionId, RequestId)> {
        let at = self.0.iter().position(|group| group.leader == leader && !group.ended)?;
        let group = &mut self.0[at];
        group.ended = true;
        let owner = (group.connection, group.id);
        if !has_members(leader) {
            self.0.swap_remove(at);
        }
        Some(owner)
    }

    /// Ends the group of a request.
    pub(crate) fn kill(&mut self, connection: ConnectionId, id: RequestId, now: Instant) {
        self.forget_empty();
        let theirs = self.0.iter_mut().filter(|group| group.connection == connection && group.id == id);
        theirs.for_each(|group| group.terminate(now));
    }

    /// Ends what still runs for a connection that is gone. What finished programs have left behind may go on.
    pub(crate) fn kill_all(&mut self, connection: ConnectionId, now: Instant) {
        let theirs = self.0.iter_mut().filter(|group| group.connection == connection && !group.ended);
        theirs.for_each(|group| group.terminate(now));
        self.0.retain(|group| group.connection != connection || !group.ended || group.kill_at.is_some());
    }

    /// Kills what has outlived its grace, and forgets what has gone within it.
    pub(crate) fn enforce(&mut self, now: Instant) {
        if self.0.iter().all(|group| group.kill_at.is_none()) {
            return;
        }
        self.forget_empty();
        for group in self.0.iter_mut().filter(|group| group.kill_at.is_some_and(|at| at <= now)) {
            kill_group(group.leader, Signal::KILL);
            group.kill_at = None;
        }
    }

    /// How long [`Self::enforce`] has nothing to do. The end of a leader is told by a signal, that of its group's
    /// other members is not.
    pub(crate) fn quiet_for(&self, now: Instant) -> Option<Duration> {
        let waits = self.0.iter().filter_map(|group| {
            let left = group.kill_at?.saturating_duration_since(now);
            Some(if group.ended { left.min(LOOK) } else { left })
        });
        waits.min()
    }

    /// Whether a program still runs or waits for its end.
    pub(crate) fn any_left(&self) -> bool {
        self.0.iter().any(|group| !group.ended || group.kill_at.is_some())
    }

    /// While a group has members its number is not given to another process; from then on it is not ours.
    fn forget_empty(&mut self) {
        self.0.retain(|group| !group.ended || has_members(group.leader));
    }
}

impl Group {
    fn terminate(&mut self, now: Instant) {
        if self.kill_at.is_none() {
            kill_group(self.leader, Signal::TERM);
            self.kill_at = Some(now + GRACE);
        }
    }
}

fn has_members(leader: Pid) -> bool {
    !matches!(rustix::process::test_kill_process_group(leader), Err(rustix::io::Errno::SRCH))
}
