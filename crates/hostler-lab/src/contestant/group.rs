//! A control group for each contestant: exact processor time, ended processes included, and a cap on it.
//!
//! Version 2 counts in any group (cgroups(7): `cpu.stat` is always there); a cap needs its `cpu` controller, or the
//! one of version 1. Without groups the lab counts by `/proc`, and says that it cannot cap.

use anyhow::{Context, Result, bail};
use hostler_sys::cgroup::{Controller, Group};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const PREFIX: &str = "hostler-lab-";
/// Microseconds in which processor time is shared out: short, so that a capped server is slow and not jerky.
const PERIOD: f64 = 10_000.0;
/// The kernel grants no less than a millisecond a period (`min_cfs_quota_period`).
const SHORTEST: f64 = 1_000.0;
const LONGEST_PERIOD: f64 = 1_000_000.0;

/// The groups of one contestant; removed when dropped, when there is nobody left in them.
#[derive(Debug, Default)]
pub(super) struct Groups {
    counting: Option<PathBuf>,
    capping: Option<PathBuf>,
}

impl Groups {
    /// Makes what there can be: a group to count in, and one that is capped if `share` (of one core) is given.
    ///
    /// # Errors
    /// The cap cannot be set: in a sentence.
    pub(super) fn new(share: Option<f64>) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let own = Group::own().ok();
        if let Some(own) = &own {
            remove_abandoned(own.path());
        }
        let mut groups = Self::default();
        if let Some(share) = share {
            groups.capping = Some(capped(&name, share)?);
        }
        let capped = groups.capping.as_ref().filter(|path| usage(path).is_some()).cloned();
        let counts = || make(&own?.path().join(&name)).filter(|path| usage(path).is_some());
        groups.counting = capped.or_else(counts);
        Ok(groups)
    }

    /// Files that a process writes its number to before it becomes the server.
    pub(super) fn entrances(&self) -> Vec<PathBuf> {
        self.all().map(|path| path.join("cgroup.procs")).collect()
    }

    /// Processor time of all that are or were in it.
    pub(super) fn processor(&self) -> Option<Duration> {
        usage(self.counting.as_deref()?)
    }

    /// A group of version 2, where it is one.
    pub(super) fn of_version_2(&self) -> Option<&Path> {
        self.counting.as_deref().filter(|path| path.join("cgroup.controllers").exists())
    }

    /// Numbers of all processes in it; `None` without a group.
    pub(super) fn members(&self) -> Option<Vec<u32>> {
        let group = self.counting.as_deref().or(self.capping.as_deref())?;
        let mut members = Vec::new();
        collect(group, &mut members);
        Some(members)
    }

    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        let second = self.counting.iter().filter(|path| self.capping.as_ref() != Some(path));
        self.capping.iter().chain(second)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.all().for_each(|path| remove(path));
    }
}

/// A group with a cap. Version 2 gives controllers only to groups without processes beside them, so it may have to be
/// a sister of our own group, or of one above it.
fn capped(name: &str, share: f64) -> Result<PathBuf> {
    let own = Group::own_with(Controller::Cpu).context("CPU time cannot be limited here")?;
    remove_abandoned(own.path());
    let legacy =
        own.path().join("cpu.cfs_quota_us").exists() || !own.path().join("cgroup.controllers").exists();
    if !legacy {
        // Works where this is the only process here's group, or the root of all.
        let _ = own.enable(&[Controller::Cpu], true);
    }
    for above in own.path().ancestors().take_while(|path| path.join("cgroup.procs").exists()) {
        let Some(group) = make(&above.join(name)) else { continue };
        if limit(&group, share, legacy).is_ok() {
            return Ok(group);
        }
        remove(&group);
    }
    bail!(
        "CPU time cannot be limited here: no control group with the cpu controller can be made below {} (run \
         the lab as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes ...)",
        own.path().display()
    )
}

fn limit(group: &Path, share: f64, legacy: bool) -> std::io::Result<()> {
    let (quota, period) = quota(share);
    if legacy {
        fs::write(group.join("cpu.cfs_period_us"), period.to_string())?;
        return fs::write(group.join("cpu.cfs_quota_us"), quota.to_string());
    }
    fs::write(group.join("cpu.max"), format!("{quota} {period}"))
}

/// Microseconds of processor time, in how many.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded, and not negative")]
fn quota(share: f64) -> (u64, u64) {
    let period = PERIOD.max(SHORTEST / share.max(SHORTEST / LONGEST_PERIOD)).min(LONGEST_PERIOD);
    ((share * period).max(SHORTEST).round() as u64, period.round() as u64)
}

/// `usage_usec` of version 2, `cpuacct.usage` (nanoseconds) of version 1 where that is mounted together with `cpu`.
fn usage(group: &Path) -> Option<Duration> {
    if let Ok(text) = fs::read_to_string(group.join("cpu.stat"))
        && let Some(word) = text.lines().find_map(|line| line.strip_prefix("usage_usec "))
    {
        return word.trim().parse().ok().map(Duration::from_micros);
    }
    let text = fs::read_to_string(group.join("cpuacct.usage")).ok()?;
    text.trim().parse().ok().map(Duration::from_nanos)
}

fn make(path: &Path) -> Option<PathBuf> {
    fs::create_dir(path).ok()?;
    Some(path.to_path_buf())
}

fn below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

fn collect(group: &Path, members: &mut Vec<u32>) {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    // A process that is just going is listed as 0.
    members.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()).filter(|pid| *pid != 0));
    below(group).iter().for_each(|group| collect(group, members));
}

/// Removes a group and those that a server made below it. The kernel refuses while there are processes in it.
fn remove(group: &Path) {
    below(group).iter().for_each(|group| remove(group));
    for _ in 0..50 {
        match fs::remove_dir(group) {
            // Ended processes leave it a moment after they were reaped.
            Err(e) if e.kind() == std::io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            _ => return,
        }
    }
}

/// Removes groups of labs that were killed.
fn remove_abandoned(own: &Path) {
    for group in below(own) {
        let name = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        let lab = rest.split('-').next().and_then(|pid| pid.parse::<u32>().ok());
        if lab.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(&group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_share_of_a_short_period() {
        assert_eq!(quota(0.1), (1_000, 10_000));
        assert_eq!(quota(1.5), (15_000, 10_000));
        assert_eq!(quota(0.01), (1_000, 100_000));
        assert_eq!(quota(0.0), (1_000, 1_000_000));
    }
}
