//! Names of users and groups, resolved to numbers.

use hostler_sys::users::{group_by_name, groups_of, user_by_id, user_by_name};

/// A user or group as the configuration names it.
pub(crate) fn number(word: &str) -> Option<u32> {
    word.strip_prefix('#').and_then(|digits| digits.parse().ok())
}

/// The uid of `name` or `#uid`; never 0.
///
/// # Errors
/// Why not, as a sentence.
pub(crate) fn uid(word: &str) -> Result<u32, String> {
    let uid = match number(word) {
        Some(uid) => uid,
        None => match user_by_name(word) {
            Ok(Some(user)) => user.uid,
            Ok(None) => return Err(format!("there is no user {word}; create it, or give a number as #uid")),
            Err(e) => return Err(format!("can't look up the user {word}: {e}")),
        },
    };
    usable(uid, "user", word)
}

/// The gid of `name` or `#gid`; never 0.
///
/// # Errors
/// Why not, as a sentence.
pub(crate) fn gid(word: &str) -> Result<u32, String> {
    let gid = match number(word) {
        Some(gid) => gid,
        None => match group_by_name(word) {
            Ok(Some(group)) => group.gid,
            Ok(None) => return Err(format!("there is no group {word}; create it, or give a number as #gid")),
            Err(e) => return Err(format!("can't look up the group {word}: {e}")),
        },
    };
    usable(gid, "group", word)
}

/// The supplementary groups of a process of this user, with `gid` as its group: that one first, as initgroups(3) sets them
/// and programs expect to find it in getgroups(2), then those that the user is a member of; never root's. Only the first
/// one for a number that no user has.
pub(crate) fn supplementary(uid: u32, gid: u32) -> Vec<u32> {
    let user = user_by_id(uid).ok().flatten();
    let mut others = user.map(|user| groups_of(&user.name, gid)).unwrap_or_default();
    others.retain(|group| *group != 0 && *group != gid);
    others.sort_unstable();
    [vec![gid], others].concat()
}

fn usable(id: u32, kind: &str, word: &str) -> Result<u32, String> {
    match id {
        0 => Err(format!("the {kind} {word} is root's, which serves nothing")),
        // "No change" to the system calls that set identities.
        u32::MAX => Err(format!("{word} is not a number that a {kind} can have")),
        id => Ok(id),
    }
}

/// The name of a uid for messages: `www-data`, or `#64990` when it has none.
pub(crate) fn name(uid: u32) -> String {
    user_by_id(uid).ok().flatten().map_or_else(|| format!("#{uid}"), |user| user.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(uid("#1234"), Ok(1234));
        assert_eq!(gid("#1234"), Ok(1234));
        assert_eq!(uid("daemon"), Ok(1));
        assert!(uid("no-such-user").unwrap_err().contains("no user"));
        assert!(gid("no-such-group").unwrap_err().contains("no group"));
        assert_eq!(name(4_000_000_001), "#4000000001");
    }

    #[test]
    fn root_is_refused_by_name_and_number() {
        for word in ["root", "#0", "#00", "#4294967295"] {
            assert!(uid(word).is_err() && gid(word).is_err(), "{word}");
        }
    }
}
