//! The use and limits of a version 2 group, in the kernel's own words: for any process that has the group's directory
//! open, also without a right to change anything there.

use std::io;
use std::os::fd::AsFd;

use super::read;

/// The use of a group's processes together; `None`: the kernel does not count, or not limit, that here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Memory, in bytes (`memory.current`).
    pub memory: Option<u64>,
    /// Most memory, in bytes (`memory.max`).
    pub memory_max: Option<u64>,
    /// Processor time since the group was made, in microseconds (`cpu.stat`).
    pub processor: Option<u64>,
    /// Most processor time, in percent of one processor (`cpu.max`).
    pub processor_max: Option<u32>,
    /// Processes and threads (`pids.current`).
    pub tasks: Option<u64>,
    /// Most of them (`pids.max`).
    pub tasks_max: Option<u64>,
}

/// Looks into a group's directory ([`super::Group::directory`]).
///
/// # Errors
/// The kernel's (ENODEV: the group is gone).
pub fn usage(directory: impl AsFd) -> io::Result<Usage> {
    let directory = directory.as_fd();
    // There in every group, whatever is limited.
    let times = read(directory, "cpu.stat")?;
    Ok(told(&times, |file| read(directory, file).ok()))
}

/// Returns how many processes of a group the kernel has killed for lack of memory (`memory.events`).
///
/// # Errors
/// The kernel's (ENODEV: the group is gone; ENOENT: its memory is not limited); `InvalidData`: it is no group.
pub fn out_of_memory_kills(directory: impl AsFd) -> io::Result<u64> {
    let events = read(directory, "memory.events")?;
    line(&events, "oom_kill").ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

fn told(times: &str, file: impl Fn(&str) -> Option<String>) -> Usage {
    let number = |name: &str| file(name)?.trim().parse::<u64>().ok();
    Usage {
        memory: number("memory.current"),
        memory_max: number("memory.max"),
        processor: line(times, "usage_usec"),
        processor_max: file("cpu.max").and_then(|text| percent(&text)),
        tasks: number("pids.current"),
        tasks_max: number("pids.max"),
    }
}

/// The number behind a name on a line of its own.
fn line(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// `QUOTA PERIOD`, in microseconds; `max` for no quota.
fn percent(text: &str) -> Option<u32> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    u32::try_from(quota.checked_mul(100)?.checked_div(period)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_told_in_the_kernels_files() {
        let file = |name: &str| {
            let text = match name {
                "memory.current" => "157286400\n",
                "memory.max" => "209715200\n",
                "cpu.max" => "150000 100000\n",
                "pids.current" => "7\n",
                "pids.max" => "max\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        let found = told("usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n", file);
        assert_eq!((found.memory, found.memory_max), (Some(150 << 20), Some(200 << 20)));
        assert_eq!((found.processor, found.processor_max), (Some(1_234_567), Some(150)));
        assert_eq!((found.tasks, found.tasks_max), (Some(7), None));
        let bare = told("usage_usec 5\n", |_| None);
        assert_eq!(bare, Usage { processor: Some(5), ..Usage::default() });
        assert_eq!([percent("max 100000\n"), percent("1 0"), percent("")], [None; 3]);
    }

    #[test]
    fn a_name_is_not_the_begin_of_another() {
        let events = "low 0\nhigh 0\nmax 7\noom 4\noom_kill 3\noom_group_kill 9\n";
        assert_eq!(
            [line(events, "oom"), line(events, "oom_kill"), line(events, "o")],
            [Some(4), Some(3), None]
        );
    }

    #[test]
    fn what_is_no_group_is_an_error() {
        let folder = std::fs::File::open("/proc").unwrap();
        assert!(usage(&folder).is_err() && out_of_memory_kills(&folder).is_err());
    }
}
