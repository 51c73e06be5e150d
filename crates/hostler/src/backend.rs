//! `hostler backend`: members of balancers, and what the operator wants of them while the server runs. It holds until the
//! server is stopped; reloads hand it on.

use crate::cli::{Backend, BackendChange};
use crate::status::{ask, members};
use crate::{Failed, load, signal};
use hostler_wire::plan::MemberState;
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

/// Returns the states of members from the running server, if there is one: for the plan of its next generation.
pub(crate) fn known(config: &hostler_config::Config) -> Vec<MemberState> {
    if config.servers.iter().all(|server| server.conf.proxy.balancers.is_empty()) {
        return Vec::new();
    }
    let Ok(running) = signal::find(config) else { return Vec::new() };
    let report = ask::report(&running.pid_file, &Ask::Report);
    report.map_or_else(|_| Vec::new(), |report| report.members.into_iter().map(|one| one.state).collect())
}
