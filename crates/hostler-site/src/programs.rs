//! The programs that run: to whom each belongs, and when it has to be gone.
//!
//! A program leads a process group of its own; killing it means that group. What has left the group
//! (a daemon) is the site's own business. A program may leave others of its group behind when it ends: they
//! stay known as long as the group has members, so that they can still be killed, and are left alone otherwise.
//!
//! A program runs for one request of one connection. A warm parent (`parents`) and a program that fronts share (`shared`)
//! may work for several, and is ended when the last of them has gone.

use hostler_sys::fs::Node;
use hostler_sys::process::{Pid, Signal, kill_group};
use hostler_wire::site::{RequestId, Run, RunningListener, Warm};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// From SIGTERM to SIGKILL.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

/// The longest time that a warm parent or a program that listens may be stopped (SIGSTOP); then it is killed. The requests
/// of all its clients would wait for ever.
const STOPPED: Duration = Duration::from_secs(5);

/// The interval of checks whether a group that was sent SIGTERM has exited.
const LOOK: Duration = Duration::from_millis(20);

/// Whenever there are so many more groups, those that have become empty are forgotten.
const MANY: usize = 64;

/// Bytes of the list of programs that listen: far less than a frame may have. What is beyond that is not listed.
const LONGEST_LIST: usize = 64 << 10;

/// Number of a connection, never used twice.
pub(crate) type ConnectionId = u64;

use crate::listen::Listener;
use crate::parents::Parent;
use crate::shared::Shared;

/// For whom something runs: a request of a connection.
pub(crate) type User = (ConnectionId, RequestId);

/// A process group that was started for a request.
#[derive(Debug)]
struct Group {
    users: Vec<User>,
    leader: Pid,
    /// The resources that go with its leader.
    kept: Kept,
    /// The leader has been reaped.
    ended: bool,
    /// SIGTERM was sent; SIGKILL follows at this time.
    kill_at: Option<Instant>,
    /// The leader is stopped, and may be until then.
    stopped_until: Option<Instant>,
}

/// A program's resources besides its processes.
#[derive(Debug)]
pub(crate) enum Kept {
    Nothing,
    /// It is a warm parent.
    Parent(Parent),
    /// It listens, and may be shared.
    Listener(Box<Listener>, Option<Box<Shared>>),
}

/// A program that listens and has a further front: its process, the name of its socket, what it writes.
pub(crate) type Adopted = (Pid, Vec<u8>, Vec<OwnedFd>);

/// All groups. There are seldom more than a handful, so they are simply listed.
#[derive(Debug, Default)]
pub(crate) struct Programs(Vec<Group>);

impl Programs {
    /// A program has been started.
    pub(crate) fn add(&mut self, user: User, leader: Pid, kept: Kept) {
        if self.0.len() >= MANY && self.0.len().is_multiple_of(MANY) {
            self.forget_empty();
        }
        self.0.push(Group {
            users: vec![user],
            leader,
            kept,
            ended: false,
            kill_at: None,
            stopped_until: None,
        });
    }

    /// Has a parent that has loaded this work for a further front; `tell` makes that known to it. The newest one: those
    /// before it were given up.
    pub(crate) fn adopt(&mut self, user: User, warm: &Warm, tell: impl Fn(&Parent) -> bool) -> Option<Pid> {
        let is_its =
            |group: &&mut Group| group.runs() && group.parent().is_some_and(|parent| parent.has_loaded(warm));
        let group = self.0.iter_mut().rev().find(is_its)?;
        group.parent().filter(|parent| tell(parent))?;
        group.users.push(user);
        Some(group.leader)
    }

    /// Has a program that was started by an equal order for a further front. The newest one, unless what it runs was replaced.
    pub(crate) fn share(&mut self, user: User, run: &Run) -> Option<io::Result<Adopted>> {
        let is_its = |group: &&mut Group| {
            group.runs() && group.shared().is_some_and(|(_, shared)| shared.is_started_by(run))
        };
        let group = self.0.iter_mut().rev().find(is_its)?;
        group.shared().filter(|(_, shared)| !shared.is_replaced(group.leader))?;
        let (listener, shared) = group.shared()?;
        let adopted = shared.output().map(|output| (group.leader, listener.name().to_vec(), output));
        group.users.push(user);
        Some(adopted)
    }

    /// The socket of this name, while its program runs.
    pub(crate) fn socket(&self, name: &[u8]) -> Option<&Node> {
        self.0.iter().find_map(|group| match &group.kept {
            Kept::Listener(listener, _) if listener.name() == name => Some(listener.socket()),
            _ => None,
        })
    }

    /// The programs that listen.
    pub(crate) fn listeners(&self) -> Vec<RunningListener> {
        let mut programs: Vec<RunningListener> = Vec::new();
        let mut room = LONGEST_LIST;
        for group in self.0.iter().filter(|group| group.runs()) {
            let Kept::Listener(listener, _) = &group.kept else { continue };
            let program = listener.program();
            let length = program.path.len() + program.args.iter().map(|arg| arg.len() + 8).sum::<usize>();
            if programs.contains(program) || length > room {
                continue;
            }
            room -= length;
            programs.push(program.clone());
        }
        programs
    }

    /// The pools that have a parent.
    pub(crate) fn pools(&self) -> Vec<String> {
        let running = self.0.iter().filter(|group| group.runs());
        let mut pools: Vec<String> =
            running.filter_map(|group| Some(group.parent()?.pool().to_owned())).collect();
        pools.sort_unstable();
        pools.dedup();
        pools
    }

    /// A process has been reaped: for whom it ran, if it is one of ours.
    pub(crate) fn ended(&mut self, leader: Pid) -> Vec<User> {
        let Some(at) = self.0.iter().position(|group| group.leader == leader && !group.ended) else {
            return Vec::new();
        };
        let group = &mut self.0[at];
        group.ended = true;
        group.kept = Kept::Nothing;
        let users = group.users.clone();
        if !has_members(leader) {
            // In its order: the newest parent is the last.
            self.0.remove(at);
        }
        users
    }

    /// A process has been stopped, or goes on. A program of one request is its client's to wait for.
    pub(crate) fn stopped(&mut self, leader: Pid, is_stopped: bool, now: Instant) {
        let is_its = |group: &&mut Group| group.leader == leader && !group.ended;
        if let Some(group) = self.0.iter_mut().find(is_its)
            && !matches!(group.kept, Kept::Nothing)
        {
            group.stopped_until = is_stopped.then(|| now + STOPPED);
        }
    }

    /// Ends the group of a request, unless it works for others, too.
    pub(crate) fn kill(&mut self, user: User, now: Instant) {
        self.forget_empty();
        for group in self.0.iter_mut().filter(|group| group.users.contains(&user)) {
            group.leave(|other| *other == user, now);
        }
    }

    /// Ends what still runs for a connection that is gone. What finished programs have left behind may go on.
    pub(crate) fn kill_all(&mut self, connection: ConnectionId, now: Instant) {
        let is_its = |user: &User| user.0 == connection;
        for group in self.0.iter_mut().filter(|group| group.users.iter().any(is_its)) {
            if group.ended {
                group.users.retain(|user| !is_its(user));
            } else {
                group.leave(is_its, now);
            }
        }
        self.0.retain(|group| !group.users.is_empty() || group.kill_at.is_some());
    }

    /// Kills what has outlived its grace, and forgets what has gone within it.
    pub(crate) fn enforce(&mut self, now: Instant) {
        if self.0.iter().all(|group| group.kill_at.is_none() && group.stopped_until.is_none()) {
            return;
        }
        self.forget_empty();
        let is_late = |group: &&mut Group| !group.ended && group.stopped_until.is_some_and(|at| at <= now);
        for group in self.0.iter_mut().filter(is_late) {
            kill_group(group.leader, Signal::KILL);
            group.stopped_until = None;
        }
        for group in self.0.iter_mut().filter(|group| group.kill_at.is_some_and(|at| at <= now)) {
            kill_group(group.leader, Signal::KILL);
            group.kill_at = None;
        }
    }

    /// Returns how long [`Self::enforce`] has nothing to do. A signal reports a leader's end, but not that of its
    /// group's other members.
    pub(crate) fn quiet_for(&self, now: Instant) -> Option<Duration> {
        let waits = self.0.iter().filter_map(|group| {
            let stopped = group.stopped_until.filter(|_| !group.ended);
            let until = group.kill_at.into_iter().chain(stopped).min()?;
            let left = until.saturating_duration_since(now);
            Some(if group.ended { left.min(LOOK) } else { left })
        });
        waits.min()
    }

    /// Returns whether a program still runs or waits for its end.
    pub(crate) fn any_left(&self) -> bool {
        self.0.iter().any(|group| !group.ended || group.kill_at.is_some())
    }

    /// While a group has members its number is not given to another process; from then on it is not ours.
    fn forget_empty(&mut self) {
        self.0.retain(|group| !group.ended || has_members(group.leader));
    }
}

impl Group {
    /// It has not ended, and is not about to be ended.
    fn runs(&self) -> bool {
        !self.ended && self.kill_at.is_none()
    }

    fn parent(&self) -> Option<&Parent> {
        match &self.kept {
            Kept::Parent(parent) => Some(parent),
            Kept::Nothing | Kept::Listener(..) => None,
        }
    }

    fn shared(&self) -> Option<(&Listener, &Shared)> {
        match &self.kept {
            Kept::Listener(listener, Some(shared)) => Some((listener, shared)),
            Kept::Nothing | Kept::Parent(_) | Kept::Listener(_, None) => None,
        }
    }

    /// Some of those for whom it runs need it no more. The last one stays known: he is told of its end.
    fn leave(&mut self, is_leaving: impl Fn(&User) -> bool, now: Instant) {
        if self.users.iter().all(&is_leaving) {
            self.terminate(now);
        } else {
            self.users.retain(|user| !is_leaving(user));
        }
    }

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
