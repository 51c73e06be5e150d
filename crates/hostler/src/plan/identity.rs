//! The identities of the front and each virtual host: `User`, `Group`, `AssignUserID`, `HostlerUser`.
//!
//! All virtual hosts with the same user and group are one site. Under root every process gets an identity other
//! than root's, and the front one that no site has. Without root nobody can get another identity than ours: a
//! configuration that asks for some is refused unless `--single-user` accepts it.

use hostler_config::{Config, Server};
use hostler_sys::users::user_by_name;
use hostler_wire::plan::{Identity, SiteId, SiteLimits, SitePlan};
use std::collections::HashMap;

use super::{Situation, limits, place, users};
use crate::Failed;

/// The front's identity when neither `HostlerUser` nor a user `hostler` is there.
const FRONT: u32 = 64_990;
/// The front's user, if it exists.
const FRONT_NAME: &str = "hostler";

/// A site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// The user's name or `#uid`, with the group where another site has the same user.
    pub(crate) name: String,
    /// Its identity; `None`: our own.
    pub(crate) identity: Option<Identity>,
    /// The limits of all its processes together.
    pub(crate) limits: SiteLimits,
}

impl Site {
    /// For the master.
    pub(crate) fn plan(&self) -> SitePlan {
        SitePlan { name: self.name.clone(), identity: self.identity.clone(), limits: self.limits }
    }
}

/// The identities.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    /// The front's identity; `None`: our own.
    pub(crate) front: Option<Identity>,
    /// All sites.
    pub(crate) sites: Vec<Site>,
    /// The site of each server, by its index in [`Config::servers`].
    pub(crate) site_of: Vec<SiteId>,
    /// Warnings for the operator.
    pub(crate) warnings: Vec<String>,
}

/// Gives out the roles.
///
/// # Errors
/// All directives that can't be followed, one line each.
pub(crate) fn roles(config: &Config, situation: &Situation) -> Result<Roles, Failed> {
    let mut roles =
        if situation.root() { with_root(config, situation)? } else { without_root(config, situation)? };
    // One user for all: what the virtual hosts say is about users that there are not.
    let alone = situation.single_user || !situation.root();
    let site_of = if alone { &roles.site_of[..1] } else { &roles.site_of };
    let found = limits::of_sites(config, site_of, roles.sites.len()).map_err(|all| Failed(all.join("\n")))?;
    for (site, limits) in roles.sites.iter_mut().zip(found) {
        site.limits = limits;
    }
    if alone && limits::any_of_a_host(config) {
        let why = "the limits of virtual hosts (HostlerSite...) are ignored: all sites run as one user";
        roles.warnings.push(why.to_string());
    }
    Ok(roles)
}

fn with_root(config: &Config, situation: &Situation) -> Result<Roles, Failed> {
    let mut errors = Vec::new();
    let mut identities = Vec::with_capacity(config.servers.len());
    let mut lookup = Lookup::default();
    let default = default_identity(config);
    for server in &config.servers {
        let identity = if situation.single_user {
            default.clone()
        } else {
            of_server(server, config, &default, &mut lookup)
        };
        match identity {
            Ok(identity) => identities.push(identity),
            Err(why) if errors.contains(&why) => {}
            Err(why) => errors.push(why),
        }
    }
    if !errors.is_empty() {
        return Err(Failed(errors.join("\n")));
    }
    let front = if situation.single_user { identities[0].clone() } else { front(config)? };
    let (sites, site_of) = group(&identities);
    if let Some(site) =
        identities.iter().find(|site| site.uid == front.uid).filter(|_| !situation.single_user)
    {
        let name = users::name(site.uid);
        return Err(Failed(format!(
            "the front and a site would both run as {name}; name a user of its own: HostlerUser name|#uid"
        )));
    }
    Ok(Roles { front: Some(front), sites, site_of, warnings: Vec::new() })
}

fn without_root(config: &Config, situation: &Situation) -> Result<Roles, Failed> {
    let own = users::name(situation.uid);
    let mut lookup = Lookup::default();
    for server in config.servers.iter().filter(|server| !situation.single_user && server.user_of.is_none()) {
        let Some(assigned) = &server.conf.core.assign_user else { continue };
        let asked = lookup.identity(&assigned.user, &assigned.group);
        if asked.as_ref().is_ok_and(|i| (i.uid, i.gid) == (situation.uid, situation.gid)) {
            continue;
        }
        return Err(Failed(format!(
            "{}: a site is to run as {}, which only root can arrange; start Hostler as root, \
             or accept with --single-user that everything runs as {own}",
            assignment(config, server),
            assigned.user
        )));
    }
    let mut warnings = Vec::new();
    let other = |user: &String| users::uid(user).ok() != Some(situation.uid);
    if config.process.user.as_ref().is_some_and(other) {
        warnings.push(format!("User is ignored: without root everything runs as {own}"));
    }
    let sites = vec![Site { name: own, identity: None, limits: SiteLimits::default() }];
    Ok(Roles { front: None, sites, site_of: vec![0; config.servers.len()], warnings })
}

/// Names that were looked up already: ten thousand virtual hosts often have few users.
#[derive(Default)]
struct Lookup {
    known: HashMap<(String, String), Result<Identity, String>>,
}

impl Lookup {
    fn identity(&mut self, user: &str, group: &str) -> Result<Identity, String> {
        let key = (user.to_string(), group.to_string());
        let find = || Ok(of_site(users::uid(user)?, users::gid(group)?));
        self.known.entry(key).or_insert_with(find).clone()
    }
}

/// `User` and `Group`.
fn default_identity(config: &Config) -> Result<Identity, String> {
    let (Some(user), Some(group)) = (&config.process.user, &config.process.group) else {
        return Err("sites need a user other than root: give User and Group in the main server, \
                    or AssignUserID in each virtual host"
            .to_string());
    };
    let at = |directive| move |why| format!("{}: {why}", place::directive(config, config.main(), directive));
    let (uid, gid) = (users::uid(user).map_err(at("User"))?, users::gid(group).map_err(at("Group"))?);
    Ok(of_site(uid, gid))
}

/// A site's, with its group and those that its user is a member of, as Apache, mpm-itk and suexec give them.
fn of_site(uid: u32, gid: u32) -> Identity {
    Identity { uid, gid, groups: users::supplementary(uid, gid) }
}

fn of_server(
    server: &Server,
    config: &Config,
    default: &Result<Identity, String>,
    lookup: &mut Lookup,
) -> Result<Identity, String> {
    let identity = match &server.conf.core.assign_user {
        None => default.clone()?,
        Some(assigned) => lookup
            .identity(&assigned.user, &assigned.group)
            .map_err(|why| format!("{}: {why}", assignment(config, server)))?,
    };
    in_range(&identity, config).map_err(|why| format!("{}: {why}", assignment(config, server)))?;
    Ok(identity)
}

/// `LimitUIDRange`, `LimitGIDRange`.
fn in_range(identity: &Identity, config: &Config) -> Result<(), String> {
    for (id, range, directive) in [
        (identity.uid, config.process.uid_range, "LimitUIDRange"),
        (identity.gid, config.process.gid_range, "LimitGIDRange"),
    ] {
        if let Some(range) = range.filter(|range| id < range.least || id > range.most) {
            return Err(format!("{id} is outside of {directive} {} {}", range.least, range.most));
        }
    }
    Ok(())
}

/// Returns the directive that gives a server its user: its AssignUserID, the main server's, or User.
fn assignment(config: &Config, server: &Server) -> String {
    let has = |server: &&Server, name| server.settings.iter().any(|setting| setting.directive == name);
    match [server, config.main()].into_iter().find(|server| has(server, "AssignUserID")) {
        Some(server) => place::directive(config, server, "AssignUserID"),
        None if has(&config.main(), "User") => place::directive(config, config.main(), "User"),
        None => place::of(config, server.origin),
    }
}

/// `HostlerUser`, or the user `hostler`, or a number that belongs to nobody.
fn front(config: &Config) -> Result<Identity, Failed> {
    let identity = |uid, gid| Identity { uid, gid, groups: Vec::new() };
    if let Some((user, group)) = &config.process.hostler_user {
        let at = |why| format!("{}: {why}", place::directive(config, config.main(), "HostlerUser"));
        let uid = users::uid(user).map_err(at)?;
        let gid = match group {
            Some(group) => users::gid(group).map_err(at)?,
            None => primary_group(user, uid).map_err(at)?,
        };
        return Ok(identity(uid, gid));
    }
    match user_by_name(FRONT_NAME)? {
        Some(user) if user.uid != 0 && user.gid != 0 => Ok(identity(user.uid, user.gid)),
        _ => Ok(identity(FRONT, FRONT)),
    }
}

fn primary_group(word: &str, uid: u32) -> Result<u32, String> {
    if users::number(word).is_some() {
        return Ok(uid);
    }
    let user = user_by_name(word).map_err(|e| format!("can't look up the user {word}: {e}"))?;
    match user.map(|user| user.gid) {
        Some(gid) if gid != 0 => Ok(gid),
        _ => Err(format!("the primary group of {word} is root's; name another group")),
    }
}

/// One site for each identity, in the order of the servers.
fn group(identities: &[Identity]) -> (Vec<Site>, Vec<SiteId>) {
    let mut sites: Vec<Identity> = Vec::new();
    let mut known: HashMap<&Identity, SiteId> = HashMap::new();
    let mut site_of = Vec::with_capacity(identities.len());
    for identity in identities {
        let site = *known.entry(identity).or_insert_with(|| {
            sites.push(identity.clone());
            (sites.len() - 1) as SiteId
        });
        site_of.push(site);
    }
    let mut users: HashMap<u32, u32> = HashMap::new();
    for site in &sites {
        *users.entry(site.uid).or_default() += 1;
    }
    let named = |identity: Identity| {
        let name = users::name(identity.uid);
        let alone = users.get(&identity.uid) == Some(&1);
        let name = if alone { name } else { format!("{name}:#{}", identity.gid) };
        Site { name, identity: Some(identity), limits: SiteLimits::default() }
    };
    (sites.into_iter().map(named).collect(), site_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_config::directives::core::{AssignUser, IdRange};
    use std::sync::Arc;

    const ROOT: Situation = Situation { uid: 0, gid: 0, single_user: false };
    const JOE: Situation = Situation { uid: 60_001, gid: 60_001, single_user: false };

    /// A main server with `User #100`, `Group #100`, and a virtual host for each pair.
    fn config(hosts: &[(&str, &str)]) -> Config {
        let mut config = Config::default();
        config.process.user = Some("#100".to_string());
        config.process.group = Some("#100".to_string());
        config.servers.push(Arc::new(Server::default()));
        for (user, group) in hosts {
            let mut server = Server::default();
            server.conf.core.assign_user =
                Some(AssignUser { user: (*user).to_string(), group: (*group).to_string() });
            config.servers.push(Arc::new(server));
        }
        config
    }

    fn why(result: Result<Roles, Failed>) -> String {
        result.map(|roles| format!("{roles:?}")).map_or_else(|Failed(why)| why, |roles| panic!("{roles}"))
    }

    #[test]
    fn hosts_of_one_user_are_one_site() {
        let config = config(&[("#60101", "#60101"), ("#60102", "#60102"), ("#60101", "#60101")]);
        let roles = roles(&config, &ROOT).ok().unwrap();
        assert_eq!(roles.site_of, [0, 1, 2, 1]);
        assert_eq!(roles.sites.len(), 3);
        assert_eq!(roles.sites[1].name, "#60101");
        let front = roles.front.unwrap();
        assert!(roles.sites.iter().all(|site| site.identity.as_ref().unwrap().uid != front.uid));
    }

    #[test]
    fn one_user_with_two_groups_is_two_sites_with_two_names() {
        let roles = roles(&config(&[("#60101", "#1"), ("#60101", "#2")]), &ROOT).ok().unwrap();
        assert_eq!([&roles.sites[1].name, &roles.sites[2].name], ["#60101:#1", "#60101:#2"]);
    }

    #[test]
    fn a_site_s_groups_begin_with_its_own() {
        let roles = roles(&config(&[("#60101", "#60102")]), &ROOT).ok().unwrap();
        assert_eq!(roles.sites[1].identity.as_ref().unwrap().groups, [60_102]);
    }

    #[test]
    fn root_and_users_that_do_not_exist_are_refused() {
        assert!(why(roles(&config(&[("root", "#1")]), &ROOT)).contains("root's"));
        assert!(why(roles(&config(&[("#5", "root")]), &ROOT)).contains("root's"));
        assert!(why(roles(&config(&[("deleted-user", "#1")]), &ROOT)).contains("no user deleted-user"));
        let mut without = config(&[]);
        without.process.group = None;
        assert!(why(roles(&without, &ROOT)).contains("User and Group"));
    }

    #[test]
    fn ranges_hold_for_every_site() {
        let mut config = config(&[("#60101", "#60101")]);
        config.process.uid_range = Some(IdRange { least: 100, most: 200 });
        assert!(why(roles(&config, &ROOT)).contains("60101 is outside of LimitUIDRange 100 200"));
    }

    #[test]
    fn the_front_is_nobody_who_has_a_site() {
        let mut config = config(&[("#60101", "#60101")]);
        config.process.hostler_user = Some(("#60101".to_string(), None));
        assert!(why(roles(&config, &ROOT)).contains("HostlerUser"));
        config.process.hostler_user = Some(("#60103".to_string(), Some("#60104".to_string())));
        let front = roles(&config, &ROOT).ok().unwrap().front.unwrap();
        assert_eq!((front.uid, front.gid), (60_103, 60_104));
    }

    #[test]
    fn without_root_only_the_own_user_is_assigned() {
        let refused = why(roles(&config(&[("#60101", "#60101")]), &JOE));
        assert!(refused.contains("--single-user") && refused.contains("#60101"), "{refused}");
        let own = roles(&config(&[("#60001", "#60001")]), &JOE).ok().unwrap();
        assert_eq!((own.front, own.sites.len(), own.warnings.len()), (None, 1, 1));
        let accepted = Situation { single_user: true, ..JOE };
        assert!(roles(&config(&[("#60101", "#60101")]), &accepted).is_ok());
    }

    #[test]
    fn a_single_user_under_root_is_the_configured_one() {
        let situation = Situation { single_user: true, ..ROOT };
        let roles = roles(&config(&[("#60101", "#60101")]), &situation).ok().unwrap();
        assert_eq!(roles.front.unwrap().uid, 100);
        assert_eq!((roles.sites.len(), roles.site_of), (1, vec![0, 0]));
    }
}
