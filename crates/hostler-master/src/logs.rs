//! Log files that are moved away or removed while generations write to them (logrotate) are opened again.
//!
//! The master compares the kernel's name of each open log with the one at its opening: no path is resolved, no file
//! system is asked, and so nothing that a tenant can change is followed. A short-lived child opens what has moved
//! (`hostler reopen-logs`), with the planner's rules for directories that are not root's alone. Every front of every
//! generation gets the new descriptor and puts it at the old one's number.
//!
//! **Diagnostics**: a log that cannot be opened again is an error; its lines go to the old file, and it is tried again.

use hostler_sys::fdpass::{Wait, recv};
use hostler_sys::process::{Pid, Signal, kill};
use hostler_sys::trusted::{mode_and_group, name_of};
use hostler_wire::build::Build;
use hostler_wire::control::FromMaster;
use hostler_wire::frame::{self, HEAD, Head};
use hostler_wire::logs::{KnownLog, LogFile, Reopen, Reopened};
use hostler_wire::plan::MasterPlan;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::generation::Generation;
use crate::master::Master;
use crate::report;

/// How often logs are looked at: with the program that opens them, a moved one is back within a second.
const INTERVAL: Duration = Duration::from_millis(700);
/// The time limit of that program.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time until a log that could not be opened is tried again.
const AFTER_FAILURE: Duration = Duration::from_secs(10);
/// The same for one that a tenant opens, and can move away as often as it likes.
const AFTER_TENANTS: Duration = Duration::from_secs(5);

/// A log file that the front of a generation writes to.
pub(crate) struct WatchedLog {
    /// Position in the plan.
    index: u32,
    file: LogFile,
    fd: Rc<OwnedFd>,
    /// It is left alone until then.
    rests_until: Option<Instant>,
}

impl WatchedLog {
    /// The log files of a plan.
    pub(crate) fn of_plan(plan: &MasterPlan, descriptors: &[Rc<OwnedFd>]) -> Vec<Self> {
        let numbered = (0..).zip(plan.logs.iter().zip(descriptors));
        let watched = numbered.filter_map(|(index, (file, fd))| {
            let file = file.clone().filter(|file| !file.name.is_empty())?;
            Some(Self { index, file, fd: fd.clone(), rests_until: None })
        });
        watched.collect()
    }

    fn is_moved(&self, now: Instant) -> bool {
        let rests = self.rests_until.is_some_and(|until| until > now);
        !rests && name_of(self.fd.as_fd()).is_ok_and(|name| name != self.file.name)
    }

    fn known(&self) -> Option<KnownLog> {
        let (mode, group) = mode_and_group(self.fd.as_fd())?;
        Some(KnownLog { file: self.file.clone(), mode, group })
    }
}

/// The running program that opens logs again.
pub(crate) struct Reopening {
    pid: Pid,
    pub(crate) socket: OwnedFd,
    until: Instant,
    wanted: Vec<KnownLog>,
    greeted: bool,
    inbox: Vec<u8>,
    fds: Vec<OwnedFd>,
}

type Outcome = (usize, Result<(LogFile, OwnedFd), String>);

impl Reopening {
    /// For a program that was just started.
    pub(crate) fn new(pid: Pid, socket: OwnedFd, wanted: Vec<KnownLog>, now: Instant) -> Self {
        let until = now + PATIENCE;
        Self { pid, socket, until, wanted, greeted: false, inbox: Vec::new(), fds: Vec::new() }
    }

    /// Reads what has come; true with the outcomes: nothing more will come.
    fn read(&mut self) -> Result<(Vec<Outcome>, bool), String> {
        let mut piece = vec![0; 64 << 10];
        let mut outcomes = Vec::new();
        loop {
            match recv(self.socket.as_fd(), &mut piece, &mut self.fds, Wait::No) {
                Ok(0) => return Ok((outcomes, true)),
                Ok(n) => {
                    self.inbox.extend_from_slice(&piece[..n]);
                    self.take_frames(&mut outcomes)?;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok((outcomes, false)),
                Err(e) => return Err(e.to_string()),
            }
        }
    }

    fn take_frames(&mut self, outcomes: &mut Vec<Outcome>) -> Result<(), String> {
        while let Some(head) = self.inbox.first_chunk::<HEAD>() {
            let head = Head::decode(*head).map_err(|e| e.to_string())?;
            let Some(body) = self.inbox.get(HEAD..HEAD + head.body) else { return Ok(()) };
            if self.greeted {
                let Reopened { index, file } = frame::decode(body).map_err(|e| e.to_string())?;
                let fd = (head.fds == 1 && !self.fds.is_empty()).then(|| self.fds.remove(0));
                let outcome = file.and_then(|file| Ok((file, fd.ok_or("its descriptor is missing")?)));
                outcomes.push((index as usize, outcome));
            } else {
                let build: Build = frame::decode(body).map_err(|e| e.to_string())?;
                build.check("hostler", "hostler-master").map_err(|e| e.to_string())?;
                self.greeted = true;
            }
            self.inbox.drain(..HEAD + head.body);
        }
        Ok(())
    }
}

impl Master {
    /// Looks for logs that were moved, once in an interval, and has them opened again.
    pub(crate) fn look_at_logs(&mut self, now: Instant) {
        if let Some(late) = self.reopening.take_if(|reopening| reopening.until <= now) {
            kill(late.pid, Signal::KILL);
            self.not_reopened(&late.wanted, "it takes too long", now);
        }
        if self.next_look > now || self.reopening.is_some() {
            return;
        }
        self.next_look = now + INTERVAL;
        let logs = self.moved_logs(now);
        if logs.is_empty() {
            return;
        }
        let identities = self.generations.iter().flat_map(|g| identities(&g.plan)).collect();
        match self.nursery.reopener(Reopen { logs: logs.clone(), identities }, now) {
            Ok(reopening) => self.reopening = Some(reopening),
            Err(why) => self.not_reopened(&logs, &why, now),
        }
    }

    /// When that is next due; `None`: there are no log files.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        let reopening = self.reopening.as_ref().map(|reopening| reopening.until);
        let has_files = self.generations.iter().any(|generation| !generation.watched.is_empty());
        reopening.or(has_files.then_some(self.next_look))
    }

    /// The logs of the newest generation that serves, for the planner.
    pub(crate) fn known_logs(&self) -> Vec<KnownLog> {
        let newest = self.generations.last();
        newest.into_iter().flat_map(|g| &g.watched).filter_map(WatchedLog::known).collect()
    }

    fn moved_logs(&self, now: Instant) -> Vec<KnownLog> {
        let mut logs: Vec<KnownLog> = Vec::new();
        let watched = self.generations.iter().rev().flat_map(|generation| &generation.watched);
        for log in watched.filter(|log| log.is_moved(now)) {
            if logs.iter().all(|known| known.file.path != log.file.path) {
                logs.extend(log.known());
            }
        }
        logs
    }

    /// Reads from the program that opens logs.
    pub(crate) fn reopener_said(&mut self, now: Instant) {
        let Some(mut reopening) = self.reopening.take() else { return };
        let (outcomes, over) = match reopening.read() {
            Ok(read) => read,
            Err(why) => {
                kill(reopening.pid, Signal::KILL);
                return self.not_reopened(&reopening.wanted, &why, now);
            }
        };
        for (index, outcome) in outcomes {
            let Some(log) = reopening.wanted.get(index).cloned() else { continue };
            match outcome {
                Ok((file, fd)) => self.reopened(&log, &file, &Rc::new(fd), now),
                Err(why) => self.not_reopened(&[log], &why, now),
            }
        }
        if !over {
            self.reopening = Some(reopening);
        }
    }

    /// All fronts write to the new file from now on.
    fn reopened(&mut self, log: &KnownLog, file: &LogFile, fd: &Rc<OwnedFd>, now: Instant) {
        let rests_until = file.opened_by.as_ref().map(|_| now + AFTER_TENANTS);
        for generation in &mut self.generations {
            let Generation { watched, logs, front, .. } = generation;
            for own in watched.iter_mut().filter(|own| own.file.path == log.file.path && own.is_moved(now)) {
                own.file = file.clone();
                own.fd = fd.clone();
                own.rests_until = rests_until;
                if let Some(of_plan) = logs.get_mut(own.index as usize) {
                    *of_plan = fd.clone();
                }
                if let Some(front) = front {
                    let message = FromMaster::Logs { index: own.index, count: 1 };
                    front.channel.queue(message, vec![fd.clone()]);
                }
            }
        }
    }

    fn not_reopened(&mut self, logs: &[KnownLog], why: &str, now: Instant) {
        for log in logs {
            report::error(&format_args!(
                "the log {} was moved and is not opened again: {why}",
                log.file.path
            ));
        }
        for own in self.generations.iter_mut().flat_map(|generation| &mut generation.watched) {
            if logs.iter().any(|log| log.file.path == own.file.path) {
                own.rests_until = Some(now + AFTER_FAILURE);
            }
        }
    }
}

fn identities(plan: &MasterPlan) -> Vec<hostler_wire::plan::Identity> {
    let sites = plan.sites.iter().filter_map(|site| site.identity.clone());
    sites.chain(plan.front.clone()).collect()
}
