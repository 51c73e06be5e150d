//! The resources that the processes of each site may use together: `HostlerSiteMemory`, `HostlerSiteCPU`,
//! `HostlerSiteTasks`.
//!
//! A site is all virtual hosts of one user, and it has one limit of each kind: that of the main server, unless one of
//! its virtual hosts says otherwise. Two that say different things are an error.

use hostler_config::directives::pool::SiteLimits as ConfiguredLimits;
use hostler_config::{Config, Server};
use hostler_sys::cgroup::{Controller, Group};
use hostler_wire::plan::{SiteId, SiteLimits};

use super::identity::Site;
use super::{Finding, place};

/// The limits of each site, by [`SiteId`].
///
/// # Errors
/// Virtual hosts that contradict each other, one line each.
pub(crate) fn of_sites(
    config: &Config,
    site_of: &[SiteId],
    sites: usize,
) -> Result<Vec<SiteLimits>, Vec<String>> {
    let mut errors = Vec::new();
    let all = (0..sites).map(|site| {
        let members = || {
            let members = config.servers.iter().zip(site_of).filter(move |(_, of)| **of as usize == site);
            members.map(|(server, _)| &**server).filter(|server| server.user_of.is_none())
        };
        SiteLimits {
            memory: one(config, members(), "HostlerSiteMemory", |said| said.memory, &mut errors),
            cpu: one(config, members(), "HostlerSiteCPU", |said| said.cpu, &mut errors),
            tasks: one(config, members(), "HostlerSiteTasks", |said| said.tasks, &mut errors),
        }
    });
    let all = all.collect();
    if errors.is_empty() { Ok(all) } else { Err(errors) }
}

/// The one value that differs from the main server's, or that one.
fn one<'a, T: Copy + PartialEq>(
    config: &Config,
    members: impl Iterator<Item = &'a Server>,
    directive: &str,
    of: impl Fn(&ConfiguredLimits) -> Option<Option<T>>,
    errors: &mut Vec<String>,
) -> Option<T> {
    let main = of(&config.main().conf.core.site_limits).flatten();
    let mut found: Option<(Option<T>, &Server)> = None;
    for server in members {
        let own = of(&server.conf.core.site_limits).flatten();
        match found {
            _ if own == main => {}
            None => found = Some((own, server)),
            Some((known, _)) if known == own => {}
            Some((_, first)) => errors.push(format!(
                "{}: another virtual host of the same user has another limit ({}); they share one",
                place::directive(config, server, directive),
                place::directive(config, first, directive),
            )),
        }
    }
    found.map_or(main, |(own, _)| own)
}

/// Returns whether a virtual host says other things than the main server.
pub(crate) fn any_of_a_host(config: &Config) -> bool {
    config.servers.iter().any(|server| server.conf.core.site_limits != config.main().conf.core.site_limits)
}

/// Returns whether this machine could hold the sites to their limits; where exactly a server will be in its hierarchy
/// of groups is known only when it starts.
pub(crate) fn inspect(sites: &[Site]) -> Option<Finding> {
    let needs = |of: fn(&SiteLimits) -> bool| sites.iter().any(|site| of(&site.limits));
    let needed = [
        (Controller::Memory, needs(|limits| limits.memory.is_some())),
        (Controller::Cpu, needs(|limits| limits.cpu.is_some())),
        (Controller::Pids, needs(|limits| limits.tasks.is_some())),
    ];
    let needed: Vec<Controller> = needed.into_iter().filter(|(_, needed)| *needed).map(|(c, _)| c).collect();
    let why = match Group::root() {
        _ if needed.is_empty() => return None,
        Err(why) => why,
        Ok(root) => root.lacks(&needed)?,
    };
    Some(Finding::Warning(format!(
        "HostlerSiteMemory, HostlerSiteCPU and HostlerSiteTasks will not hold: {why}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(hosts: &str, site_of: &[SiteId]) -> Result<Vec<SiteLimits>, Vec<String>> {
        let text = format!("HostlerSiteMemory 1G\n{hosts}");
        hostler_techniques::install().ok().unwrap();
        let tree = hostler_config::read_text(&text, "/etc").ok().unwrap();
        let config = Config::build(&tree).ok().unwrap();
        of_sites(&config, site_of, 2)
    }

    #[test]
    fn a_site_has_the_main_servers_limit_or_its_hosts_own() {
        let hosts = "<VirtualHost *:80>\nHostlerSiteMemory max\nHostlerSiteTasks 50\n</VirtualHost>\n\
                     <VirtualHost *:81>\nHostlerSiteCPU 50%\n</VirtualHost>";
        let found = limits(hosts, &[0, 1, 1]).unwrap();
        assert_eq!(found[0], SiteLimits { memory: Some(1 << 30), cpu: None, tasks: None });
        assert_eq!(found[1], SiteLimits { memory: None, cpu: Some(50), tasks: Some(50) });
    }

    #[test]
    fn hosts_of_one_user_must_agree() {
        let hosts = "<VirtualHost *:80>\nHostlerSiteTasks 50\n</VirtualHost>\n\
                     <VirtualHost *:81>\nHostlerSiteTasks 60\n</VirtualHost>";
        let errors = limits(hosts, &[0, 1, 1]).unwrap_err();
        assert!(
            errors.len() == 1
                && errors[0].starts_with("configuration:6: HostlerSiteTasks: ")
                && errors[0].contains("configuration:3"),
            "{errors:?}"
        );
        assert!(limits(hosts, &[0, 0, 1]).is_ok());
    }
}
