//! Control groups: what the processes of one group may use together (cgroups(7), version 2), and the one controller
//! of version 1 that slows a server down on demand where a machine still has that.
//!
//! Only groups below this process's own are made, written to or removed. All that is read here is the kernel's own
//! words; there is no parser beyond splitting them.

use rustix::fs::{AtFlags, FsWord, Mode, OFlags, mkdirat, openat, statfs, unlinkat};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use crate::process::Pid;

mod usage;

pub use usage::{Usage, out_of_memory_kills, usage};

/// The conventional mount points of the version 2 hierarchy: alone, or beside version 1.
const PLACES: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// The numbers by which `statfs` tells the two versions (linux/magic.h).
const VERSION_2: FsWord = 0x6367_7270;
const VERSION_1: FsWord = 0x0027_e0eb;
/// Most bytes of a group's file that are read: kilobytes of process ids are the longest.
const LONGEST: u64 = 1 << 20;
/// The period in which processor time is counted, in microseconds: the kernel's default.
const PERIOD: u64 = 100_000;

/// The resources that a group can limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// `memory.max`
    Memory,
    /// `cpu.max`
    Cpu,
    /// `pids.max`
    Pids,
}

impl Controller {
    /// The kernel's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
        }
    }
}

/// Why there are no groups to be had, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable(String);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

/// A group.
#[derive(Debug)]
pub struct Group {
    directory: OwnedFd,
    path: PathBuf,
    legacy: bool,
}

impl Group {
    /// The group of this process in the hierarchy of version 2.
    ///
    /// # Errors
    /// [`Unavailable`]: version 2 is not mounted, or this process's group can't be seen from here.
    pub fn own() -> Result<Self, Unavailable> {
        Self::below(Self::place()?, "", false)
    }

    /// The topmost group that can be seen from here in the hierarchy of version 2: what it offers, this machine or
    /// container does.
    ///
    /// # Errors
    /// [`Unavailable`]: version 2 is not mounted.
    pub fn root() -> Result<Self, Unavailable> {
        Self::at(PathBuf::from(Self::place()?), false)
    }

    fn place() -> Result<&'static str, Unavailable> {
        let place = PLACES.into_iter().find(|place| is_mounted(place, VERSION_2));
        place.ok_or_else(|| {
            let legacy = is_mounted("/sys/fs/cgroup/memory", VERSION_1);
            Unavailable(if legacy {
                "only cgroup version 1 is mounted".to_owned()
            } else {
                "cgroup version 2 is not mounted at /sys/fs/cgroup".to_owned()
            })
        })
    }

    /// The group of this process in a hierarchy that has this controller, of version 2 or, failing that, 1.
    ///
    /// # Errors
    /// [`Unavailable`]: neither has it.
    pub fn own_with(controller: Controller) -> Result<Self, Unavailable> {
        if let Some(group) = Self::own().ok().filter(|group| group.offers(controller)) {
            return Ok(group);
        }
        let name = controller.name();
        let root = format!("/sys/fs/cgroup/{name}");
        if is_mounted(&root, VERSION_1) {
            return Self::below(&root, name, true);
        }
        Err(Unavailable(format!("no cgroup hierarchy with the controller {name} is mounted")))
    }

    fn below(root: &str, controller: &str, legacy: bool) -> Result<Self, Unavailable> {
        let why = |e: io::Error| Unavailable(format!("can't tell this process's cgroup: {e}"));
        let lines = std::fs::read_to_string("/proc/self/cgroup").map_err(why)?;
        let own = own_path(&lines, controller).ok_or_else(|| {
            Unavailable("this process's cgroup is outside of what can be seen here".to_owned())
        })?;
        Self::at(Path::new(root).join(own), legacy)
    }

    fn at(path: PathBuf, legacy: bool) -> Result<Self, Unavailable> {
        let directory = open_directory(rustix::fs::CWD, &path)
            .map_err(|e| Unavailable(format!("can't open the cgroup {}: {e}", path.display())))?;
        Ok(Self { directory, path, legacy })
    }

    /// Returns its path, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether groups below this one could be limited in this.
    #[must_use]
    pub fn offers(&self, controller: Controller) -> bool {
        self.legacy || self.lists("cgroup.controllers", controller)
    }

    /// Returns the limits that groups below this one could not have, as a sentence; `None`: all are available.
    #[must_use]
    pub fn lacks(&self, needed: &[Controller]) -> Option<Unavailable> {
        let missing: Vec<Controller> = needed.iter().copied().filter(|c| !self.offers(*c)).collect();
        let first = missing.first()?.name();
        let names: Vec<&str> = missing.iter().map(|controller| controller.name()).collect();
        let legacy = is_mounted(&format!("/sys/fs/cgroup/{first}"), VERSION_1);
        let hint = if legacy { " (cgroup version 1 has that here)" } else { "" };
        Some(Unavailable(format!(
            "the cgroup {} does not offer {}{hint}",
            self.path.display(),
            names.join(", ")
        )))
    }

    /// Returns whether groups below this one are limited in this.
    #[must_use]
    pub fn enables(&self, controller: Controller) -> bool {
        self.legacy || self.lists("cgroup.subtree_control", controller)
    }

    fn lists(&self, file: &str, controller: Controller) -> bool {
        let text = self.read(file).unwrap_or_default();
        text.split_ascii_whitespace().any(|word| word == controller.name())
    }

    /// Lets (or no longer lets) groups below this one be limited in these.
    ///
    /// # Errors
    /// EBUSY: there are processes in this very group, which the kernel does not allow then. EACCES: it is not ours.
    pub fn enable(&self, controllers: &[Controller], on: bool) -> io::Result<()> {
        if self.legacy {
            return Ok(());
        }
        let sign = if on { '+' } else { '-' };
        let words: Vec<String> = controllers.iter().map(|c| format!("{sign}{}", c.name())).collect();
        self.write("cgroup.subtree_control", &words.join(" "))
    }

    /// The processes in this very group; those that can't be seen from here (other namespaces) as `None`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn members(&self) -> io::Result<Vec<Option<Pid>>> {
        let text = self.read("cgroup.procs")?;
        Ok(text.lines().map(|line| line.parse().ok().and_then(Pid::from_raw)).collect())
    }

    /// The group of this name below this one, made if it is not there.
    ///
    /// # Errors
    /// EACCES, EROFS: groups are not ours to make here. EINVAL for a name with a slash.
    pub fn child(&self, name: &str) -> io::Result<Self> {
        single(name)?;
        match mkdirat(&self.directory, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
        let directory = open_directory(self.directory.as_fd(), Path::new(name))?;
        Ok(Self { directory, path: self.path.join(name), legacy: self.legacy })
    }

    /// Names of the groups below this one that begin so.
    ///
    /// # Errors
    /// The kernel's.
    pub fn children(&self, prefix: &str) -> io::Result<Vec<String>> {
        let entries = rustix::fs::Dir::read_from(&self.directory)?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        Ok(names.filter(|name| name.starts_with(prefix)).collect())
    }

    /// Removes the group of this name below this one.
    ///
    /// # Errors
    /// EBUSY: there are processes in it, or groups below it.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        single(name)?;
        Ok(unlinkat(&self.directory, name, AtFlags::REMOVEDIR)?)
    }

    /// Moves a process into this group.
    ///
    /// # Errors
    /// EACCES: one of the two groups is not ours. ESRCH: it is gone.
    pub fn add(&self, pid: Pid) -> io::Result<()> {
        self.write("cgroup.procs", &pid.as_raw_nonzero().to_string())
    }

    /// The file by which a process enters this group ([`crate::process::Spawn::group`]).
    ///
    /// # Errors
    /// The kernel's.
    pub fn entrance(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        Ok(openat(&self.directory, "cgroup.procs", flags, Mode::empty())?)
    }

    /// Bytes of memory that the group may use; `None`: no limit. Where that is not enough the kernel ends one of its
    /// processes. (Version 2 only.)
    ///
    /// # Errors
    /// ENOENT: the group above does not enable the controller.
    pub fn limit_memory(&self, bytes: Option<u64>) -> io::Result<()> {
        self.write("memory.max", &number(bytes))
    }

    /// Processor time that the group may use, in percent of one processor (150: one and a half); `None`: no limit.
    ///
    /// # Errors
    /// ENOENT as above; EINVAL for less than one percent.
    pub fn limit_cpu(&self, percent: Option<u32>) -> io::Result<()> {
        let quota = percent.map(|percent| u64::from(percent) * PERIOD / 100);
        if self.legacy {
            let quota = quota.map_or_else(|| "-1".to_owned(), |quota| quota.to_string());
            return self.write("cpu.cfs_quota_us", &quota);
        }
        self.write("cpu.max", &format!("{} {PERIOD}", number(quota)))
    }

    /// Processes and threads that may be in the group; `None`: no limit.
    ///
    /// # Errors
    /// ENOENT as above.
    pub fn limit_tasks(&self, most: Option<u32>) -> io::Result<()> {
        self.write("pids.max", &number(most.map(u64::from)))
    }

    /// The group's directory, for [`usage`] and [`out_of_memory_kills`] in another process: what it may do there is a
    /// matter of its own rights.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn directory(&self) -> io::Result<OwnedFd> {
        self.directory.try_clone()
    }

    fn read(&self, file: &str) -> io::Result<String> {
        read(&self.directory, file)
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let fd = openat(&self.directory, file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        File::from(fd).write_all(text.as_bytes())
    }
}

fn read(directory: impl AsFd, file: &str) -> io::Result<String> {
    let fd = openat(directory, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    File::from(fd).take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn number(limit: Option<u64>) -> String {
    limit.map_or_else(|| "max".to_owned(), |limit| limit.to_string())
}

fn open_directory(base: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(base, path, flags, Mode::empty())?)
}

fn is_mounted(place: &str, version: FsWord) -> bool {
    statfs(place).is_ok_and(|found| found.f_type == version)
}

/// One name, not a path.
fn single(name: &str) -> io::Result<()> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(_)), None) if !name.contains('/') => Ok(()),
        _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    }
}

/// This process's group in a hierarchy, relative to its mount point, from `/proc/self/cgroup`: lines of
/// `ID:CONTROLLER,...:/PATH`, without controllers for version 2.
fn own_path(lines: &str, controller: &str) -> Option<PathBuf> {
    let path = lines.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let found = fields.next()?.split(',').any(|name| name == controller);
        fields.next().filter(|_| found)
    })?;
    let path = Path::new(path.strip_prefix('/')?);
    let inside = path.components().all(|component| matches!(component, Component::Normal(_)));
    inside.then(|| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_in_the_kernels_words() {
        let hybrid = "2:cpu,cpuacct:/a\n1:name=systemd:/b\n0::/c/d\n";
        assert_eq!(own_path(hybrid, ""), Some(PathBuf::from("c/d")));
        assert_eq!(own_path(hybrid, "cpu"), Some(PathBuf::from("a")));
        assert_eq!(own_path(hybrid, "memory"), None);
        assert_eq!(own_path("0::/\n", ""), Some(PathBuf::new()));
        assert_eq!(own_path("0::/../x\n", ""), None);
    }

    #[test]
    fn a_name_is_one_component() {
        for name in ["", ".", "..", "a/b", "a/", "/"] {
            assert!(single(name).is_err(), "{name}");
        }
        assert!(single("hostler-1").is_ok());
    }

    /// As far as the machine lets us: a group of our own, if it can be had, takes a limit and a process.
    #[test]
    fn a_group_takes_limits_and_processes() {
        let Ok(own) = Group::own_with(Controller::Pids) else { return };
        let name = format!("hostler-test-{}", std::process::id());
        let Ok(group) = own.child(&name) else { return };
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        if group.limit_tasks(Some(10)).is_ok() {
            group.add(pid).unwrap();
            assert_eq!(group.members().unwrap(), [Some(pid)]);
            assert!(own.remove(&name).is_err(), "there is a process in it");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        own.remove(&name).unwrap();
    }
}
