//! Control groups: what all processes of a site may use together (cgroups(7), version 2).
//!
//! Nothing is done until a plan has limits. Then, below the group in which the master was started:
//!
//! ```text
//! GROUP/hostler-PID/server         the master, the fronts, the planner, programs of logs
//! GROUP/hostler-PID/site-UID-GID   one for each user with limits: its processes, of all generations
//! ```
//!
//! The kernel wants GROUP itself empty for that, so what is in it is moved: only if the master was alone in it at
//! its start, as a service is; then all of it is the server's. Nothing outside of GROUP is touched.
//!
//! **Diagnostics**: where groups can't be had, a warning says why; the site then runs without these limits.

use hostler_sys::cgroup::{Controller, Group};
use hostler_sys::process::Pid;
use hostler_wire::plan::{MasterPlan, SiteLimits, SitePlan};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::report;

/// The text when the limits cannot be enforced.
const WITHOUT: &str = "HostlerSiteMemory, HostlerSiteCPU and HostlerSiteTasks do not hold";
/// The leaf of the server's own processes.
const SERVER: &str = "server";
/// The number of checks for the end of a group's last processes, and the pause between them.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// All groups of this server.
pub(crate) struct Groups {
    /// The group in which we were started, or why it is of no use.
    own: Result<Group, String>,
    /// It was the only one in the group.
    alone: bool,
    /// `hostler-PID`, once there are limits.
    tree: Option<Tree>,
    /// The last warning: it is not repeated with each reload.
    warned: String,
}

struct Tree {
    name: String,
    top: Group,
    controllers: Vec<Controller>,
    /// We moved ourselves to make room.
    moved: bool,
    sites: Vec<SiteGroup>,
}

struct SiteGroup {
    name: String,
    group: Group,
    /// The generation whose limits it has.
    generation: u64,
}

/// The descriptors that a site's process needs to be in its group.
pub(crate) struct Place {
    /// It enters by this.
    pub(crate) entrance: OwnedFd,
    /// Its directory: there the front sees what the site takes, and what the limits have brought about.
    pub(crate) directory: OwnedFd,
}

impl Groups {
    /// Looks where we are; makes nothing.
    pub(crate) fn new() -> Self {
        let own = Group::own().map_err(|why| why.to_string());
        let ourselves = Pid::from_raw(std::process::id() as i32);
        let alone = own.as_ref().is_ok_and(|own| {
            own.members().is_ok_and(|members| members.iter().all(|member| *member == ourselves))
        });
        Self { own, alone, tree: None, warned: String::new() }
    }

    /// Gets ready for a plan's limits, if it has any; says so where they can't hold.
    pub(crate) fn prepare(&mut self, plan: &MasterPlan) {
        let mut needed: Vec<Controller> =
            plan.sites.iter().flat_map(|site| controllers(&site.limits)).collect();
        needed.dedup();
        needed.sort_by_key(|controller| controller.name());
        needed.dedup();
        if let Err(why) = self.make_tree(&needed)
            && self.warned != why
        {
            report::warning(&format_args!("{WITHOUT}: {why}"));
            self.warned = why;
        }
    }

    fn make_tree(&mut self, needed: &[Controller]) -> Result<(), String> {
        let enabled = self.tree.as_ref().map_or(&[][..], |tree| &tree.controllers);
        if needed.iter().all(|controller| enabled.contains(controller)) {
            return Ok(());
        }
        let own = self.own.as_ref().map_err(Clone::clone)?;
        let at = own.path().display();
        if let Some(why) = own.lacks(needed) {
            return Err(why.to_string());
        }
        let failed = |e: io::Error| format!("can't arrange cgroups below {at}: {e}");
        if let Some(tree) = &mut self.tree {
            return tree.enable(own, needed).map_err(failed);
        }
        let must_move = !needed.iter().all(|controller| own.enables(*controller));
        if must_move && !self.alone {
            return Err(format!(
                "there are other processes in the cgroup {at}; a service with Delegate=yes has one of its own"
            ));
        }
        self.tree = Some(Tree::new(own, needed, must_move).map_err(failed)?);
        Ok(())
    }

    /// The group for a process of this site, with the limits of the newest generation; `None`: it needs none, or
    /// there are none to be had.
    ///
    /// # Errors
    /// The group can't be made or limited; it is tried anew next time.
    pub(crate) fn place(&mut self, site: &SitePlan, generation: u64) -> io::Result<Option<Place>> {
        match &mut self.tree {
            Some(tree) => tree.place(site, generation),
            None => Ok(None),
        }
    }

    /// Removes all groups and goes back to where we were started. What can't be removed is still in use.
    pub(crate) fn remove(&mut self) {
        if let (Some(tree), Ok(own)) = (self.tree.take(), &self.own) {
            tree.remove(own);
        }
    }
}

/// The controllers that these limits need.
fn controllers(limits: &SiteLimits) -> impl Iterator<Item = Controller> {
    let needed = [
        limits.memory.map(|_| Controller::Memory),
        limits.cpu.map(|_| Controller::Cpu),
        limits.tasks.map(|_| Controller::Pids),
    ];
    needed.into_iter().flatten()
}

impl Tree {
    fn new(own: &Group, controllers: &[Controller], moved: bool) -> io::Result<Self> {
        let name = format!("hostler-{}", std::process::id());
        let top = own.child(&name)?;
        let mut tree = Self { name, top, controllers: Vec::new(), moved, sites: Vec::new() };
        let made = tree.make_room(own).and_then(|()| tree.enable(own, controllers));
        match made {
            Ok(()) => Ok(tree),
            Err(e) => {
                tree.remove(own);
                Err(e)
            }
        }
    }

    /// Everybody leaves the group in which we were started: ourselves, and what we have started since.
    fn make_room(&self, own: &Group) -> io::Result<()> {
        if !self.moved {
            return Ok(());
        }
        let server = self.top.child(SERVER)?;
        move_all(own, &server)
    }

    fn enable(&mut self, own: &Group, controllers: &[Controller]) -> io::Result<()> {
        let missing: Vec<Controller> = controllers.iter().copied().filter(|c| !own.enables(*c)).collect();
        if !missing.is_empty() {
            own.enable(&missing, true)?;
        }
        self.top.enable(controllers, true)?;
        for controller in controllers {
            if !self.controllers.contains(controller) {
                self.controllers.push(*controller);
            }
        }
        Ok(())
    }

    fn place(&mut self, site: &SitePlan, generation: u64) -> io::Result<Option<Place>> {
        let name = match &site.identity {
            Some(identity) => format!("site-{}-{}", identity.uid, identity.gid),
            None => "site".to_owned(),
        };
        let at = match self.sites.iter().position(|group| group.name == name) {
            Some(at) => at,
            None if site.limits.is_none() => return Ok(None),
            None => {
                let group = self.top.child(&name)?;
                self.sites.push(SiteGroup { name, group, generation: 0 });
                self.sites.len() - 1
            }
        };
        let found = &mut self.sites[at];
        let placed = found.place(&site.limits, generation, &self.controllers);
        if placed.is_err() {
            // Somebody has removed it, perhaps.
            self.sites.swap_remove(at);
        }
        placed.map(Some)
    }

    fn remove(self, own: &Group) {
        for site in &self.sites {
            remove_soon(&self.top, &site.name);
        }
        if self.moved {
            let _ = self.top.enable(&self.controllers, false);
            let _ = own.enable(&self.controllers, false);
            if let Ok(server) = self.top.child(SERVER) {
                let _ = move_all(&server, own);
            }
            remove_soon(&self.top, SERVER);
        }
        remove_soon(own, &self.name);
    }
}

impl SiteGroup {
    /// A draining generation does not bring back its limits.
    fn place(&mut self, limits: &SiteLimits, generation: u64, enabled: &[Controller]) -> io::Result<Place> {
        let group = &self.group;
        if generation > self.generation {
            for controller in enabled {
                match controller {
                    Controller::Memory => group.limit_memory(limits.memory)?,
                    Controller::Cpu => group.limit_cpu(limits.cpu)?,
                    Controller::Pids => group.limit_tasks(limits.tasks)?,
                }
            }
            self.generation = generation;
        }
        Ok(Place { entrance: group.entrance()?, directory: group.directory()? })
    }
}

/// Moves whoever is in one group to another. New ones may be forked meanwhile, so it is looked again.
fn move_all(from: &Group, to: &Group) -> io::Result<()> {
    for _ in 0..TRIES {
        let members = from.members()?;
        if members.is_empty() {
            return Ok(());
        }
        for member in members {
            let Some(pid) = member else { return Err(io::Error::from(io::ErrorKind::PermissionDenied)) };
            match to.add(pid).map_err(|e| e.raw_os_error()) {
                // ESRCH: it has just ended.
                Ok(()) | Err(Some(3)) => {}
                Err(errno) => return Err(io::Error::from_raw_os_error(errno.unwrap_or_default())),
            }
        }
    }
    Err(io::Error::from(io::ErrorKind::ResourceBusy))
}

/// Removes a group whose last processes may be about to end.
fn remove_soon(above: &Group, name: &str) {
    for _ in 0..TRIES {
        match above.remove(name).map_err(|e| e.kind()) {
            Err(io::ErrorKind::ResourceBusy) => std::thread::sleep(PAUSE),
            _ => return,
        }
    }
}
