//! The planner: reads a configuration and tells the master, on descriptor 3, what to do.
//!
//! Short-lived: one run for each generation. It reads everything that only root can read (certificates, keys) and
//! opens everything that must be open before privileges are gone (logs), so that no other process needs root
//! for either.
//!
//! **Runs as** whoever started the master, normally root.
//! **Diagnostics** on stderr; exit status 1 when there is no plan.

mod certificates;
mod examine;
mod found;
mod identity;
pub(crate) mod limits;
pub(crate) mod listen;
mod log_files;
pub(crate) mod logs;
pub(crate) mod paths;
pub(crate) mod piped;
mod place;
pub(crate) mod preload;
pub(crate) mod reopen;
pub(crate) mod rlimits;
pub(crate) mod secrets;
mod send;
mod situation;
mod told;
pub(crate) mod users;

use hostler_config::{Attempt, ProcessConfig};
use hostler_wire::plan::{FrontPlan, MasterPlan, Plan};
use std::os::fd::OwnedFd;

use crate::Failed;
use crate::cli::{self, PlanOf};
use crate::load;
use crate::run;
use hostler_config::technique;

pub(crate) use examine::{Findings, examine};
pub(crate) use found::{Finding, report};
pub(crate) use identity::{Roles, Site, roles};
pub(crate) use situation::Situation;

/// The time limit for a new generation to report ready.
const READY_TIMEOUT_MS: u32 = 30_000;
/// More than Apache's 511: a thousand connections at once, from one visitor, fill that, and everybody else's next one then
/// waits a second for its repetition. The kernel takes no more than `net.core.somaxconn`.
const BACKLOG: u32 = 4096;
/// Seconds without a request until a site process ends.
const SITE_IDLE: u32 = 60;

pub(crate) fn command(args: &cli::Plan) -> Result<(), Failed> {
    let master = hostler_sys::exec::inherited(3)
        .map_err(|_| "this command is for hostler-master, which passes a socket as descriptor 3")?;
    match make(args) {
        Ok((plan, descriptors)) => send::send(&master, plan, &descriptors),
        Err(Failed(why)) => {
            send::refuse(&master, &why)?;
            Err(Failed(why))
        }
    }
}

fn make(args: &cli::Plan) -> Result<(Plan, Vec<OwnedFd>), Failed> {
    let (loaded, single_user) = match &args.of {
        PlanOf::Run(run) => (load::attempt(&run.configuration)?, run.single_user),
        PlanOf::Serve(serve) => (load::directory(serve)?, true),
    };
    load::warn(&loaded.config);
    let situation = Situation::here(single_user);
    let Findings { roles, found } = examine(&loaded, &situation, true);
    report(found, situation.root())?;
    let roles = roles.ok_or("it can't be told who runs as whom")?;
    let logs = logs::open(&loaded.config, &roles, &situation, &reopen::running())?;
    let secrets = secrets::read(&loaded.config, &roles, &situation)?;
    let (mut plans, mut files, mut descriptors) = (Vec::new(), Vec::new(), Vec::new());
    for log in logs {
        plans.push(log.plan);
        files.push(log.file);
        descriptors.push(log.fd);
    }
    let front = FrontPlan {
        config: loaded.tree.encode()?,
        logs: plans,
        secrets,
        sites: roles.site_of.clone(),
        site_names: roles.sites.iter().map(|site| site.name.clone()).collect(),
        site_limits: roles.sites.iter().map(|site| site.limits).collect(),
        site_idle_secs: loaded.config.process.site_idle.unwrap_or(SITE_IDLE),
        backends: crate::backend::known(&loaded.config),
        versions: noted_versions(),
    };
    let plan = Plan {
        master: MasterPlan { told: told(args, &loaded, &roles), logs: files, ..master_plan(&loaded, &roles) },
        front: postcard::to_stdvec(&front)?,
        logs: u32::try_from(descriptors.len())?,
    };
    Ok((plan, descriptors))
}

fn told(args: &cli::Plan, loaded: &Attempt, roles: &Roles) -> Vec<String> {
    match &args.of {
        PlanOf::Run(run) => told::of_files(&run.configuration.file, &loaded.config),
        PlanOf::Serve(serve) => told::of_directory(&serve.directory, &loaded.config, roles),
    }
}

fn master_plan(loaded: &Attempt, roles: &Roles) -> MasterPlan {
    let process = &loaded.config.process;
    MasterPlan {
        listeners: listen::addresses(&loaded.config),
        backlog: process.backlog.unwrap_or(BACKLOG),
        front: roles.front.clone(),
        sites: roles.sites.iter().map(Site::plan).collect(),
        engines: run::engines(),
        pid_file: process.pid_file.clone(),
        ready_timeout_ms: READY_TIMEOUT_MS,
        // 0: no limit, as far as that goes.
        drain_timeout_secs: patience(process, hostler_wire::plan::DRAIN_TIMEOUT_SECS),
        stop_timeout_secs: patience(process, hostler_wire::plan::STOP_TIMEOUT_SECS),
        drain_delay_secs: process.drain_delay.unwrap_or(0),
        told: Vec::new(),
        logs: Vec::new(),
    }
}

/// The seconds of `GracefulShutdownTimeout`; 0 there is no limit, as far as that goes.
fn patience(process: &ProcessConfig, usual: u32) -> u32 {
    match process.graceful_shutdown_timeout {
        None => usual,
        Some(0) => u32::MAX,
        Some(seconds) => seconds,
    }
}

/// The versions of engines that have been noted, by the engines' names.
fn noted_versions() -> Vec<(String, Vec<String>)> {
    let engines = technique::engines().iter();
    engines.filter_map(|engine| Some((engine.name.to_owned(), (engine.versions?.noted)()))).collect()
}
