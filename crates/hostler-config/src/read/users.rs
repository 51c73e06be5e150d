//! Users of the system that UserDir is about: looked up when the configuration is read, since the front looks nobody up.

use super::expand::Reader;
use crate::SystemUser;
use crate::lexer::words;
use hostler_sys::users::{User, user_by_name};
use std::fs;

/// Numbers that people have (Debian's UID_MIN and UID_MAX).
const PEOPLE: std::ops::RangeInclusive<u32> = 1000..=60_000;
/// Most users that a directory for all is about.
const MOST: usize = 2000;

impl Reader {
    /// Keeps the users that a UserDir names, or, if it names directories, all that are people's.
    pub(super) fn keep_users(&mut self, args: &str) {
        let words = words(args);
        match words.first().map(|word| word.to_ascii_lowercase()).as_deref() {
            None | Some("disable" | "disabled") => {}
            Some("enable" | "enabled") => {
                let known = words[1..].iter().filter_map(|name| user_by_name(name).ok().flatten());
                known.for_each(|user| self.keep_user(user));
            }
            Some(_) => {
                let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
                people(&passwd).take(MOST).for_each(|user| self.keep_user(user));
            }
        }
    }

    fn keep_user(&mut self, user: User) {
        let home = String::from_utf8_lossy(&user.home).into_owned();
        if home.starts_with('/') {
            self.facts.users.insert(user.name, SystemUser { uid: user.uid, gid: user.gid, home });
        }
    }
}

/// The people in a file of users (passwd(5)).
fn people(passwd: &str) -> impl Iterator<Item = User> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        let uid = fields.nth(1)?.parse().ok().filter(|uid| PEOPLE.contains(uid))?;
        let gid = fields.next()?.parse().ok()?;
        let home = fields.nth(1)?.as_bytes().to_vec();
        Some(User { name, uid, gid, home })
    };
    passwd.lines().filter_map(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_found_and_the_system_s_users_are_not() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\njoe:x:2000:100:Joe,,,:/home/joe:/bin/sh\nbroken\n\
                      nobody:x:65534:65534:n:/nonexistent:/x\n";
        let found: Vec<_> = people(passwd).collect();
        let joe = User { name: "joe".into(), uid: 2000, gid: 100, home: b"/home/joe".to_vec() };
        assert_eq!(found, [joe]);
    }
}
