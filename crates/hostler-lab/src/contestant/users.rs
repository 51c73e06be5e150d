//! The accounts that servers and programs run as when the lab is root; none is created.
//!
//! Quirk(Apache): a uid without a name in the user database makes its children go on as root (AH02155, an alert that
//! nobody reads), so these are accounts that every system has.

use std::fs;

/// As web servers are called; the last ones are everywhere.
const SITE: [&str; 8] = ["www-data", "apache", "wwwrun", "http", "nginx", "www", "nobody", "daemon"];
/// Accounts of services that hardly any machine has.
const SECOND: [&str; 6] = ["nobody", "games", "news", "mail", "daemon", "bin"];

/// The user that programs of a site run as: the number of an account, and of its group too.
#[must_use]
pub fn site_user() -> u32 {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    find(&users, &SITE, None)
}

/// The user of a second virtual host.
#[must_use]
pub fn second_user() -> u32 {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    find(&users, &SECOND, Some(find(&users, &SITE, None)))
}

/// The first of these accounts there is whose group has its number, and that is not the other one and not root.
fn find(users: &str, names: &[&str], other: Option<u32>) -> u32 {
    let accounts = names.iter().filter_map(|name| users.lines().find_map(|line| account(line, name)));
    let mut accounts = accounts.filter(|&uid| uid != 0 && other != Some(uid));
    accounts.next().unwrap_or(65_534)
}

/// passwd(5): `name:password:uid:gid:...`.
fn account(line: &str, name: &str) -> Option<u32> {
    let mut fields = line.strip_prefix(name)?.strip_prefix(':')?.split(':').skip(1);
    let (uid, gid) = (fields.next()?, fields.next()?);
    if uid == gid { uid.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_different_accounts_are_chosen_and_never_root() {
        let users = "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\nwww-data:x:33:33::/:\nnews:x:9:9::/:\n";
        let site = find(users, &SITE, None);
        assert_eq!(site, 33);
        assert_eq!(find(users, &SECOND, Some(site)), 65_534);
        let users = "nobody:x:99:99::/:\ngames:x:5:60::/:\nmail:x:8:8::/:";
        assert_eq!((find(users, &SITE, None), find(users, &SECOND, Some(99))), (99, 8));
        assert_eq!(find("www-data:x:0:0::/:\n", &SITE, None), 65_534);
    }
}
