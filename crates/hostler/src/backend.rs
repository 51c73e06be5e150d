//! `hostler backend`: members of balancers, and what the operator wants of them while the server runs. It holds until the
//! server is stopped; reloads hand it on.

use crate::cli::{Backend, BackendChange};
use crate::status::{ask, members};
use crate::{Failed, load, signal};
use hostler_config::directives::jk::Kind;
use hostler_wire::plan::BackendStates;
use hostler_wire::report::{Ask, Change};

pub(crate) fn command(args: &Backend) -> Result<(), Failed> {
    let config = load::files(&args.configuration)?.config;
    let running = signal::find(&config)?;
    let change = match args.change {
        BackendChange::List => None,
        BackendChange::Drain => Some(Change::Drain),
        BackendChange::Disable => Some(Change::Disable),
        BackendChange::Enable => Some(Change::Enable),
        BackendChange::Reset => Some(Change::Reset),
    };
    let asked = match (change, &args.balancer) {
        (None, _) => Ask::Report,
        (Some(_), None) => return Err("which balancer? hostler backend list shows them".into()),
        (Some(change), Some(balancer)) => {
            Ask::Change { balancer: balancer.clone(), member: args.member.clone(), change }
        }
    };
    let report = ask::report(&running.pid_file, &asked)?;
    if let Some(why) = report.refused {
        return Err(why.into());
    }
    let shown = |name: &str| args.balancer.as_deref().is_none_or(|wanted| is_name(wanted, name));
    let found: Vec<_> = report.members.into_iter().filter(|member| shown(&member.state.balancer)).collect();
    if found.is_empty() {
        println!("there are no balancers with members");
    } else {
        print!("{}", members::table(&found));
    }
    Ok(())
}

fn is_name(wanted: &str, name: &str) -> bool {
    wanted.strip_prefix("balancer://").unwrap_or(wanted).trim_end_matches('/').eq_ignore_ascii_case(name)
}

/// Returns the states of balancers and members from the running server, if there is one: for the plan of its next
/// generation.
pub(crate) fn known(config: &hostler_config::Config) -> BackendStates {
    let has_balancers = |server: &std::sync::Arc<hostler_config::Server>| {
        let of_jk =
            |worker: &hostler_config::directives::jk::Worker| matches!(worker.kind, Kind::Containers(_));
        !server.conf.proxy.balancers.is_empty() || server.conf.jk.workers.iter().any(|worker| of_jk(worker))
    };
    if !config.servers.iter().any(has_balancers) {
        return BackendStates::default();
    }
    let Ok(running) = signal::find(config) else { return BackendStates::default() };
    let Ok(report) = ask::report(&running.pid_file, &Ask::Report) else { return BackendStates::default() };
    let members = report.members.into_iter().map(|one| one.state).collect();
    BackendStates { balancers: report.balancers, members }
}
