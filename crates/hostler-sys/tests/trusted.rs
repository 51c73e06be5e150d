//! The directories that root may write to. The cases need root, who alone can own directories for others; without it
//! they report that and pass.
#![allow(clippy::unwrap_used)]

use hostler_sys::trusted::{
    NewLog, Trust, Untrusted, append_file, open_directory, open_file, remove_file, replace_file,
};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

const TENANT: u32 = 64_884;

/// A directory of root's in a sticky one, gone when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            hostler_untested::not_tested(name, "it changes users, which takes root");
            return None;
        }
        let path = std::env::temp_dir().join(format!("hostler-trusted-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Some(Self(path))
    }

    fn directory(&self, name: &str, owner: u32, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir(&path).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn roots_only(path: &Path) -> Result<(), Untrusted> {
    open_directory(path, Trust::Root(&|_| false)).map(drop)
}

#[test]
fn a_directory_of_roots_below_a_sticky_one_will_do() {
    let Some(place) = Place::new("sticky") else { return };
    let inner = place.directory("inner", 0, 0o755);
    roots_only(&inner).unwrap();
    roots_only(&inner.join("../inner")).unwrap();
    assert!(matches!(roots_only(&std::env::temp_dir()), Err(Untrusted::Writable { .. })));
}

#[test]
fn a_tenant_on_the_way_is_named() {
    let Some(place) = Place::new("tenant") else { return };
    let home = place.directory("home", TENANT, 0o755);
    fs::create_dir(home.join("logs")).unwrap();
    match roots_only(&home.join("logs")) {
        Err(Untrusted::Writable { path, owner, .. }) => assert_eq!((path, owner), (home, TENANT)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_directory_that_all_or_a_group_can_write_won_t_do() {
    let Some(place) = Place::new("modes") else { return };
    let all = place.directory("all", 0, 0o777);
    assert!(matches!(roots_only(&all), Err(Untrusted::Writable { .. })));
    let group = place.directory("group", 0, 0o775);
    chown(&group, None, Some(TENANT)).unwrap();
    assert!(matches!(roots_only(&group), Err(Untrusted::Writable { .. })));
    assert!(open_directory(&group, Trust::Root(&|gid| gid == TENANT)).is_ok());
}

#[test]
fn only_roots_links_are_followed() {
    let Some(place) = Place::new("links") else { return };
    let real = place.directory("real", 0, 0o755);
    symlink(&real, place.0.join("mine")).unwrap();
    symlink("real", place.0.join("relative")).unwrap();
    symlink("loop", place.0.join("loop")).unwrap();
    symlink(&real, place.0.join("theirs")).unwrap();
    lchown(place.0.join("theirs"), Some(TENANT), Some(TENANT)).unwrap();
    roots_only(&place.0.join("mine")).unwrap();
    roots_only(&place.0.join("relative")).unwrap();
    assert!(matches!(roots_only(&place.0.join("theirs")), Err(Untrusted::Link { .. })));
    assert!(matches!(roots_only(&place.0.join("loop")), Err(Untrusted::Link { .. })));
    let anyone = open_directory(&place.0.join("theirs"), Trust::Anyone);
    assert!(anyone.is_ok());
}

#[test]
fn a_file_is_read_through_roots_links_only() {
    let Some(place) = Place::new("read") else { return };
    let real = place.directory("archive", 0, 0o755);
    fs::write(real.join("key1.pem"), "key").unwrap();
    let live = place.directory("live", 0, 0o755);
    symlink("../archive/key1.pem", live.join("key.pem")).unwrap();
    symlink(real.join("key1.pem"), live.join("theirs.pem")).unwrap();
    lchown(live.join("theirs.pem"), Some(TENANT), None).unwrap();
    let read = |path: PathBuf| open_file(&path, Trust::Root(&|_| false));
    let file = read(live.join("key.pem")).unwrap();
    assert_eq!(std::io::read_to_string(fs::File::from(file)).unwrap(), "key");
    assert!(matches!(read(live.join("theirs.pem")), Err(Untrusted::Link { .. })));
    assert!(matches!(read(live.clone()), Err(Untrusted::Io { .. })));
    assert!(matches!(read(live.join("none.pem")), Err(Untrusted::Io { .. })));
    let home = place.directory("home", TENANT, 0o755);
    fs::write(home.join("key.pem"), "key").unwrap();
    assert!(matches!(read(home.join("key.pem")), Err(Untrusted::Writable { .. })));
}

#[test]
fn a_missing_directory_is_not_found() {
    match roots_only(Path::new("/no/such/directory")) {
        Err(Untrusted::Io { path, error }) => {
            assert_eq!((path.as_path(), error.kind()), (Path::new("/no"), std::io::ErrorKind::NotFound));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_are_made_whole_and_links_are_not_written_through() {
    let Some(place) = Place::new("files") else { return };
    let directory = open_directory(&place.0, Trust::Root(&|_| false)).unwrap();
    let victim = place.0.join("victim");
    fs::write(&victim, "untouched").unwrap();
    for name in ["pid", "log"] {
        symlink(&victim, place.0.join(name)).unwrap();
    }
    replace_file(directory.as_fd(), OsStr::new("pid"), b"1\n", 0o644).unwrap();
    assert_eq!(fs::read_to_string(place.0.join("pid")).unwrap(), "1\n");
    assert!(append_file(directory.as_fd(), OsStr::new("log"), Some(NewLog::first(None))).is_err());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");

    fs::hard_link(&victim, place.0.join("second-name")).unwrap();
    assert!(append_file(directory.as_fd(), OsStr::new("second-name"), Some(NewLog::first(None))).is_err());
    assert!(append_file(directory.as_fd(), OsStr::new("fresh"), Some(NewLog::first(None))).is_ok());
    remove_file(directory.as_fd(), OsStr::new("fresh")).unwrap();
    assert_eq!(fs::read_dir(&place.0).unwrap().count(), 4);
}
