//! Users and groups by name or number, from the system's databases (NSS).
//!
//! Only the planner and the operator's command look up names; everything else is told numbers.

use std::ffi::{CStr, CString};
use std::io;

/// A user as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Home directory.
    pub home: Vec<u8>,
}

/// A group as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Group id.
    pub gid: u32,
    /// Login names of the members that the group itself lists.
    pub members: Vec<String>,
}

/// Room for the strings of one entry; doubled while the library says ERANGE, up to [`MOST_ROOM`].
const FIRST_ROOM: usize = 4096;
const MOST_ROOM: usize = 4 << 20;

/// The user with this name; `None` when there is none.
///
/// # Errors
/// The database can't be read.
pub fn user_by_name(name: &str) -> io::Result<Option<User>> {
    let Ok(name) = CString::new(name) else { return Ok(None) };
    // SAFETY: all pointers are live for the call, and the length is that of the buffer.
    look_up(|pwd, room, len, found| unsafe { libc::getpwnam_r(name.as_ptr(), pwd, room, len, found) }, user)
}

/// The user with this number; `None` when there is none.
///
/// # Errors
/// The database can't be read.
pub fn user_by_id(uid: u32) -> io::Result<Option<User>> {
    // SAFETY: all pointers are live for the call, and the length is that of the buffer.
    look_up(|pwd, room, len, found| unsafe { libc::getpwuid_r(uid, pwd, room, len, found) }, user)
}

/// The group with this name; `None` when there is none.
///
/// # Errors
/// The database can't be read.
pub fn group_by_name(name: &str) -> io::Result<Option<Group>> {
    let Ok(name) = CString::new(name) else { return Ok(None) };
    // SAFETY: all pointers are live for the call, and the length is that of the buffer.
    look_up(|grp, room, len, found| unsafe { libc::getgrnam_r(name.as_ptr(), grp, room, len, found) }, group)
}

/// The group with this number; `None` when there is none.
///
/// # Errors
/// The database can't be read.
pub fn group_by_id(gid: u32) -> io::Result<Option<Group>> {
    // SAFETY: all pointers are live for the call, and the length is that of the buffer.
    look_up(|grp, room, len, found| unsafe { libc::getgrgid_r(gid, grp, room, len, found) }, group)
}

/// More groups the kernel gives nobody (`NGROUPS_MAX`).
const MOST_GROUPS: usize = 65_536;

/// The groups that a user is a member of, beside `gid`: what initgroups(3) gives a process.
#[must_use]
pub fn groups_of(name: &str, gid: u32) -> Vec<u32> {
    let Ok(name) = CString::new(name) else { return Vec::new() };
    let mut groups: Vec<u32> = vec![0; 64];
    loop {
        let mut count = groups.len() as libc::c_int;
        // SAFETY: the name ends with NUL, and there is room for as many groups as it says.
        let fits = unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &raw mut count) };
        if fits >= 0 {
            groups.truncate(usize::try_from(count).unwrap_or(0));
            groups.retain(|group| *group != gid);
            return groups;
        }
        if groups.len() >= MOST_GROUPS {
            return Vec::new();
        }
        groups.resize(groups.len() * 2, 0);
    }
}

/// Calls one of the `_r` functions with ever more room, then turns its entry into ours.
fn look_up<Raw, Entry>(
    call: impl Fn(*mut Raw, *mut libc::c_char, usize, *mut *mut Raw) -> i32,
    convert: impl Fn(&Raw) -> Entry,
) -> io::Result<Option<Entry>> {
    let mut room: Vec<libc::c_char> = vec![0; FIRST_ROOM];
    loop {
        let mut raw = std::mem::MaybeUninit::<Raw>::uninit();
        let mut found: *mut Raw = std::ptr::null_mut();
        match call(raw.as_mut_ptr(), room.as_mut_ptr(), room.len(), &raw mut found) {
            0 if found.is_null() => return Ok(None),
            // SAFETY: the call succeeded, so `found` points to `raw`, filled, with strings in `room`.
            0 => return Ok(Some(convert(unsafe { &*found }))),
            libc::EINTR => {}
            libc::ERANGE if room.len() < MOST_ROOM => room.resize(room.len() * 2, 0),
            // POSIX leaves open which of these says "no such entry".
            libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => return Ok(None),
            errno => return Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

fn user(raw: &libc::passwd) -> User {
    // SAFETY: the strings of a filled entry end with NUL and live as long as the entry.
    let (name, home) = unsafe { (CStr::from_ptr(raw.pw_name), CStr::from_ptr(raw.pw_dir)) };
    User {
        name: name.to_string_lossy().into_owned(),
        uid: raw.pw_uid,
        gid: raw.pw_gid,
        home: home.to_bytes().to_vec(),
    }
}

fn group(raw: &libc::group) -> Group {
    // SAFETY: as in `user`.
    let name = unsafe { CStr::from_ptr(raw.gr_name) };
    let mut members = Vec::new();
    let mut at = raw.gr_mem;
    // SAFETY: `gr_mem` is a list of strings that ends with a null pointer.
    while let Some(member) = unsafe { at.as_ref() }.filter(|member| !member.is_null()) {
        // SAFETY: a non-null entry of that list is a string that ends with NUL.
        members.push(unsafe { CStr::from_ptr(*member) }.to_string_lossy().into_owned());
        at = at.wrapping_add(1);
    }
    Group { name: name.to_string_lossy().into_owned(), gid: raw.gr_gid, members }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_found_by_name_and_number() {
        let root = user_by_name("root").unwrap().unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(user_by_id(0).unwrap().unwrap().name, "root");
        assert_eq!(group_by_id(0).unwrap().unwrap().name, "root");
        assert_eq!(group_by_name("root").unwrap().unwrap().gid, 0);
    }

    #[test]
    fn who_does_not_exist_is_none() {
        assert_eq!(user_by_name("no such user").unwrap(), None);
        assert_eq!(user_by_name("nul\0byte").unwrap(), None);
        assert_eq!(user_by_id(4_000_000_000).unwrap(), None);
        assert_eq!(group_by_name("no such group").unwrap(), None);
    }

    #[test]
    fn a_user_has_the_groups_that_list_it() {
        let text = std::fs::read_to_string("/etc/group").unwrap_or_default();
        let listed = |name: &str| -> Vec<u32> {
            let fields = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
            let lists = fields.filter(|f| f.get(3).is_some_and(|all| all.split(',').any(|one| one == name)));
            lists.filter_map(|f| f[2].parse().ok()).collect()
        };
        let members: std::collections::BTreeSet<&str> =
            text.lines().filter_map(|line| line.rsplit(':').next()).flat_map(|all| all.split(',')).collect();
        for name in members.into_iter().filter(|name| !name.is_empty()) {
            let mut groups = groups_of(name, 4_000_000_000);
            let mut wanted = listed(name);
            groups.sort_unstable();
            wanted.sort_unstable();
            assert!(wanted.iter().all(|group| groups.contains(group)), "{name}: {groups:?}, {wanted:?}");
        }
        assert_eq!(groups_of("no such user", 7), Vec::<u32>::new());
        assert_eq!(groups_of("a\0b", 7), Vec::<u32>::new());
    }
}
