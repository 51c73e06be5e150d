//! Users of servers (UserDir): each has a server of its own behind the one that `/~user/` is asked of. It is the same but
//! for who its files and programs belong to.

use crate::builder::Builder;
use crate::directives::core::AssignUser;
use crate::technique;
use crate::{ProcessConfig, Server, SystemUser};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most of them in all.
const MOST: usize = 5000;
/// Numbers below are the system's own users (suexec's `AP_UID_MIN` in Debian).
const LEAST: u32 = 100;

/// Adds the servers of users.
pub(super) fn add(servers: &mut Vec<Arc<Server>>, process: &ProcessConfig, builder: &mut Builder) {
    let all = Arc::clone(&builder.facts);
    let usable = |user: &SystemUser| {
        let is_in = |id, range: &Option<crate::directives::core::IdRange>| {
            range.is_none_or(|range| id >= range.least && id <= range.most)
        };
        user.uid >= LEAST
            && user.gid > 0
            && is_in(user.uid, &process.uid_range)
            && is_in(user.gid, &process.gid_range)
    };
    let hosts = servers.len();
    for host in 0..hosts {
        let mut own = BTreeMap::new();
        let base = Arc::clone(&servers[host]);
        let may = |name: &&String| !base.conf.userdir.of(name).is_empty();
        for (name, user) in all.users.iter().filter(|(name, user)| may(name) && usable(user)) {
            if servers.len() - hosts >= MOST {
                let message = format!("UserDir lists more than {MOST} users; the others are ignored");
                builder.warn_once("UserDir", base.origin, message);
                break;
            }
            let id = servers.len() as u32;
            own.insert(name.as_str().into(), id);
            servers.push(Arc::new(of_user(&base, id, user)));
        }
        if !own.is_empty() {
            let base = Server { users: Arc::new(own), ..Server::clone(&base) };
            servers[host] = Arc::new(base);
        }
    }
}

fn of_user(base: &Server, id: u32, user: &SystemUser) -> Server {
    let mut conf = base.conf.clone();
    conf.core.assign_user =
        Some(AssignUser { user: format!("#{}", user.uid), group: format!("#{}", user.gid) });
    // Applications of the virtual host are its own user's.
    let applications = technique::all().iter().filter_map(|row| row.applications);
    applications.for_each(|applications| (applications.take_away)(&mut conf));
    Server { id, conf, addresses: Vec::new(), user_of: Some(base.id), users: Arc::default(), ..base.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Tree};

    fn config(text: &str) -> Config {
        let mut tree: Tree = crate::read_text(text, "/etc/apache2").unwrap();
        // What this machine has does not matter.
        tree.facts.users.clear();
        for (name, uid) in [("joe", 2000), ("ann", 2001), ("daemon", 1)] {
            let home = format!("/home/{name}");
            tree.facts.users.insert(name.into(), SystemUser { uid, gid: uid, home });
        }
        Config::build(&tree).unwrap()
    }

    #[test]
    fn each_user_has_a_server_of_its_own() {
        let config = config(
            "UserDir public_html\nUserDir disabled ann\n<VirtualHost *>\nServerName a\n</VirtualHost>\n\
             <VirtualHost *>\nUserDir disabled\nUserDir enabled ann\n</VirtualHost>",
        );
        let of: Vec<_> = config.servers.iter().map(|server| server.user_of).collect();
        // The first virtual host says nothing of it, and has all that the main server has.
        assert_eq!(of, [None, None, None, Some(0), Some(1), Some(2)]);
        let joe = config.main().users["joe"];
        let server = &config.servers[joe as usize];
        let assigned = server.conf.core.assign_user.clone().unwrap();
        assert_eq!((assigned.user.as_str(), server.addresses.len(), server.id), ("#2000", 0, joe));
        assert_eq!(config.servers[2].users.keys().map(|name| &**name).collect::<Vec<_>>(), ["ann"]);
    }

    #[test]
    fn users_are_within_their_range() {
        let config = config("UserDir public_html\nLimitUIDRange 2001 3000");
        assert_eq!(config.main().users.keys().map(|name| &**name).collect::<Vec<_>>(), ["ann"]);
    }
}
