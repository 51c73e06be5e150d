//! A plan on its way: the planner runs, and its frames come in piece by piece while the master goes on serving.
//!
//! First frame: the planner's build; second: the [`Plan`], or the errors that it found; then frames without a body that carry the log
//! descriptors, up to eight each. The planner then closes its end and exits with 0. It has told the operator itself
//! why when it exits otherwise.

use hostler_sys::fdpass::{Wait, recv};
use hostler_sys::process::{ExitCause, Pid};
use hostler_wire::build::{Build, OtherBuild};
use hostler_wire::frame::{self, HEAD, Head};
use hostler_wire::plan::{Identity, Plan, Planned};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The time limit of a planner.
pub(crate) const LONGEST: Duration = Duration::from_secs(120);

/// A running planner and what it has sent so far.
pub(crate) struct Planning {
    /// The planner.
    pub(crate) pid: Pid,
    /// Our end of its socket.
    pub(crate) socket: OwnedFd,
    /// When it is given up.
    pub(crate) until: Instant,
    /// It has closed its end.
    pub(crate) closed: bool,
    /// It has been reaped.
    pub(crate) ended: Option<ExitCause>,
    inbox: Vec<u8>,
    fds: Vec<OwnedFd>,
    /// It is of our build.
    greeted: bool,
    plan: Option<Plan>,
    /// The errors that it found.
    pub(crate) refusal: Option<String>,
    logs: Vec<Rc<OwnedFd>>,
}

/// A plan, whole.
pub(crate) struct WholePlan {
    /// The plan.
    pub(crate) plan: Plan,
    /// Its log descriptors.
    pub(crate) logs: Vec<Rc<OwnedFd>>,
}

impl Planning {
    /// For a planner that was just started.
    pub(crate) fn new(pid: Pid, socket: OwnedFd, now: Instant) -> Self {
        Self {
            pid,
            socket,
            until: now + LONGEST,
            closed: false,
            ended: None,
            inbox: Vec::new(),
            fds: Vec::new(),
            greeted: false,
            plan: None,
            refusal: None,
            logs: Vec::new(),
        }
    }

    /// Takes in what has come.
    ///
    /// # Errors
    /// Why this planner can't be used any further.
    pub(crate) fn read(&mut self) -> Result<(), String> {
        let mut piece = vec![0; 64 << 10];
        loop {
            match recv(self.socket.as_fd(), &mut piece, &mut self.fds, Wait::No) {
                Ok(0) => {
                    self.closed = true;
                    return Ok(());
                }
                Ok(n) => {
                    self.inbox.extend_from_slice(&piece[..n]);
                    self.take_frames()?;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                    return Err("the plan's log descriptors did not all arrive; \
                                is the limit of open files (ulimit -n) too low?"
                        .to_string());
                }
                Err(e) => return Err(format!("can't read the plan: {e}")),
            }
        }
    }

    fn take_frames(&mut self) -> Result<(), String> {
        while let Some(head) = self.inbox.first_chunk::<HEAD>() {
            let head = Head::decode(*head)
                .map_err(|e| format!("the planner sent something that is not a plan: {e}"))?;
            let Some(body) = self.inbox.get(HEAD..HEAD + head.body) else { return Ok(()) };
            if head.fds > self.fds.len() {
                return Err("the planner announced descriptors that it did not send".to_string());
            }
            if !self.greeted {
                check_build(body)?;
                self.greeted = true;
            } else if self.plan.is_none() {
                let planned: Planned = frame::decode(body)
                    .map_err(|e| format!("the planner sent something that is not a plan: {e}"))?;
                match planned {
                    Ok(plan) => self.plan = Some(plan),
                    Err(why) => self.refusal = Some(why),
                }
            }
            self.logs.extend(self.fds.drain(..head.fds).map(Rc::new));
            self.inbox.drain(..HEAD + head.body);
        }
        Ok(())
    }

    /// `true` when nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        self.closed && self.ended.is_some()
    }

    /// The plan of a planner that is over, checked.
    ///
    /// # Errors
    /// The exit status that the master should end with if it has nothing else to serve, and why.
    pub(crate) fn finish(self, root: bool) -> Result<WholePlan, (u8, String)> {
        match self.ended {
            Some(ExitCause::Status(0)) => {}
            Some(ExitCause::Status(status)) if self.refusal.is_some() => {
                let status = u8::try_from(status).unwrap_or(1);
                return Err((status, "the configuration has errors (above)".to_string()));
            }
            Some(ended @ ExitCause::Status(status)) => {
                let status = u8::try_from(status).unwrap_or(1);
                return Err((status, format!("there is no plan: the planner {ended}")));
            }
            Some(ended) => return Err((1, format!("there is no plan: the planner {ended}"))),
            None => return Err((1, "there is no plan: the planner has not ended".to_string())),
        }
        let whole = self.plan.filter(|plan| plan.logs as usize == self.logs.len());
        let plan = whole.ok_or((1, "the planner ended without a whole plan".to_string()))?;
        check_identities(&plan, root).map_err(|why| (1, why))?;
        Ok(WholePlan { plan, logs: self.logs })
    }
}

/// A planner that says anything else first is of another build, too.
fn check_build(first: &[u8]) -> Result<(), String> {
    let (from, own) = ("the planner (hostler)", "hostler-master");
    let build: Build = frame::decode(first).map_err(|_| OtherBuild::new(from, None, own).to_string())?;
    build.check(from, own).map_err(|e| e.to_string())
}

/// Under root everybody gets an identity, and nobody root's. (Without root none can be given; a plan that tries
/// fails when it is carried out.)
fn check_identities(plan: &Plan, root: bool) -> Result<(), String> {
    let master = &plan.master;
    let everybody = std::iter::once(("the front", master.front.as_ref()))
        .chain(master.sites.iter().map(|site| (site.name.as_str(), site.identity.as_ref())));
    for (name, identity) in everybody {
        match identity {
            None if root => return Err(format!("the plan has no user for {name}, which would run as root")),
            Some(Identity { uid, gid, groups }) if *uid == 0 || *gid == 0 || groups.contains(&0) => {
                return Err(format!("the plan has root's user or group for {name}"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_sys::fdpass::send_all;
    use hostler_sys::socket::stream_pair;
    use hostler_wire::plan::{MasterPlan, SitePlan};

    fn plan(front: Option<Identity>, site: Option<Identity>, logs: u32) -> Plan {
        let limits = hostler_wire::plan::SiteLimits::default();
        let sites = vec![SitePlan { name: "one".to_string(), identity: site, limits }];
        let master = MasterPlan {
            listeners: Vec::new(),
            backlog: 5,
            front,
            sites,
            engines: Vec::new(),
            pid_file: None,
            ready_timeout_ms: 1000,
            drain_timeout_secs: 60,
            stop_timeout_secs: 60,
            drain_delay_secs: 0,
            told: Vec::new(),
            logs: Vec::new(),
        };
        Plan { master, front: b"opaque".to_vec(), logs }
    }

    fn someone(uid: u32) -> Option<Identity> {
        Some(Identity { uid, gid: 5, groups: Vec::new() })
    }

    fn planning() -> (Planning, OwnedFd) {
        let (ours, theirs) = stream_pair().unwrap();
        (Planning::new(Pid::INIT, ours, Instant::now()), theirs)
    }

    fn receive(send: impl Fn(&OwnedFd)) -> Result<WholePlan, (u8, String)> {
        let (mut planning, theirs) = planning();
        send(&theirs);
        drop(theirs);
        planning.read().map_err(|why| (1, why))?;
        planning.ended = Some(ExitCause::Status(0));
        assert!(planning.is_over());
        planning.finish(true)
    }

    #[test]
    fn a_plan_and_its_descriptors_come_together() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let planned = receive(|theirs| {
            let mut frames = Vec::new();
            frame::encode(&Build::own(), 0, &mut frames).unwrap();
            frame::encode(&Planned::Ok(plan(someone(7), someone(8), 2)), 1, &mut frames).unwrap();
            send_all(theirs.as_fd(), &frames, &[null.as_fd()]).unwrap();
            let mut more = Vec::new();
            frame::encode(&(), 1, &mut more).unwrap();
            send_all(theirs.as_fd(), &more, &[null.as_fd()]).unwrap();
        });
        let planned = planned.ok().unwrap();
        assert_eq!((planned.plan.front.as_slice(), planned.logs.len()), (&b"opaque"[..], 2));
    }

    #[test]
    fn less_than_a_plan_is_none() {
        assert!(receive(|_| ()).is_err());
        assert!(receive(|theirs| send_all(theirs.as_fd(), &[0xff; 64], &[]).unwrap()).is_err());
        let short = receive(|theirs| {
            let mut frames = Vec::new();
            frame::encode(&Build::own(), 0, &mut frames).unwrap();
            frame::encode(&Planned::Ok(plan(someone(7), someone(8), 2)), 0, &mut frames).unwrap();
            send_all(theirs.as_fd(), &frames, &[]).unwrap();
        });
        assert!(short.is_err_and(|(_, why)| why.contains("whole")));
        let unsent = receive(|theirs| {
            let mut frames = Vec::new();
            frame::encode(&Build::own(), 0, &mut frames).unwrap();
            frame::encode(&Planned::Ok(plan(someone(7), someone(8), 2)), 2, &mut frames).unwrap();
            send_all(theirs.as_fd(), &frames, &[]).unwrap();
        });
        assert!(unsent.is_err_and(|(_, why)| why.contains("did not send")));
    }

    #[test]
    fn a_planner_of_another_build_is_refused() {
        let mut bytes = Build::own().to_bytes();
        bytes[0] ^= 1;
        let other = receive(|theirs| {
            let mut frames = Vec::new();
            frame::encode(&Build::from_bytes(bytes), 0, &mut frames).unwrap();
            frame::encode(&Planned::Ok(plan(someone(7), someone(8), 0)), 0, &mut frames).unwrap();
            send_all(theirs.as_fd(), &frames, &[]).unwrap();
        });
        assert!(other.is_err_and(|(_, why)| why.contains("start the server")));
        let silent = receive(|theirs| {
            let mut frames = Vec::new();
            frame::encode(&Planned::Ok(plan(someone(7), someone(8), 0)), 0, &mut frames).unwrap();
            send_all(theirs.as_fd(), &frames, &[]).unwrap();
        });
        assert!(silent.is_err_and(|(_, why)| why.contains("of build unknown")));
    }

    #[test]
    fn nobody_runs_as_root() {
        assert!(check_identities(&plan(someone(7), someone(8), 0), true).is_ok());
        assert!(check_identities(&plan(None, None, 0), false).is_ok());
        for (front, site) in [(None, someone(8)), (someone(7), None), (someone(0), someone(8))] {
            assert!(check_identities(&plan(front, site, 0), true).is_err());
        }
        let in_roots_group = Some(Identity { uid: 7, gid: 7, groups: vec![0] });
        assert!(check_identities(&plan(someone(7), in_roots_group, 0), true).is_err());
    }

    #[test]
    fn the_planners_status_is_the_masters() {
        let (mut planning, _theirs) = planning();
        planning.ended = Some(ExitCause::Status(2));
        assert!(planning.finish(true).is_err_and(|(status, _)| status == 2));
    }
}
