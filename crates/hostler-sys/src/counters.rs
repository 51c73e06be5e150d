//! Counters of the kernel for all processes of a control group: system calls and context switches (perf_event_open(2)).
//!
//! Exact, also for processes that end in between. Counting system calls makes every one of the machine a little
//! slower while a counter is open, so these are not for a server at work, but for measuring one.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::read;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// The kernel's directories of trace point numbers: mounted alone, or below debugfs.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// `PERF_TYPE_SOFTWARE`, `PERF_TYPE_TRACEPOINT`
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
/// `PERF_COUNT_SW_CONTEXT_SWITCHES`
const CONTEXT_SWITCHES: u64 = 3;
/// `PERF_FLAG_PID_CGROUP`, `PERF_FLAG_FD_CLOEXEC`
const OF_GROUP: libc::c_ulong = 4;
const CLOEXEC: libc::c_ulong = 8;
/// `PERF_ATTR_SIZE_VER0`: what the first kernels with perf had is enough.
const SIZE: u64 = 64;

/// The counted events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Entered system calls (trace point `raw_syscalls:sys_enter`).
    SystemCalls,
    /// Switches from one thread to another, voluntary and not.
    ContextSwitches,
}

/// A counter; it counts from its making on until it is dropped.
#[derive(Debug)]
pub struct Counter(Vec<OwnedFd>);

impl Counter {
    /// For all processes in the control group of version 2 at `path` and those below it.
    ///
    /// # Errors
    /// EACCES, EPERM: only for root, or with the capability `CAP_PERFMON`. ENOENT: the kernel has no trace points.
    pub fn of_group(path: &Path, count: Count) -> io::Result<Self> {
        let group = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let (kind, config) = match count {
            Count::SystemCalls => (TRACEPOINT, trace_point("raw_syscalls/sys_enter")?),
            Count::ContextSwitches => (SOFTWARE, CONTEXT_SWITCHES),
        };
        let processors = online(&fs::read_to_string("/sys/devices/system/cpu/online")?);
        let each = processors.into_iter().map(|processor| event(kind, config, &group, processor));
        Ok(Self(each.collect::<io::Result<_>>()?))
    }

    /// So far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read(&self) -> io::Result<u64> {
        let mut sum = 0;
        for event in &self.0 {
            let mut bytes = [0; 8];
            if read(event, &mut bytes)? != bytes.len() {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            sum += u64::from_ne_bytes(bytes);
        }
        Ok(sum)
    }
}

fn event(kind: u32, config: u64, group: &OwnedFd, processor: i32) -> io::Result<OwnedFd> {
    // struct perf_event_attr, its first version: type and size in one word, config, no sampling, no flags.
    let first = if cfg!(target_endian = "little") {
        u64::from(kind) | SIZE << 32
    } else {
        u64::from(kind) << 32 | SIZE
    };
    let attributes: [u64; 8] = [first, config, 0, 0, 0, 0, 0, 0];
    // SAFETY: the kernel reads SIZE bytes from the first argument, which is exactly what `attributes` has; the others
    // are numbers.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            group.as_raw_fd(),
            processor,
            -1,
            OF_GROUP | CLOEXEC,
        )
    };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn trace_point(name: &str) -> io::Result<u64> {
    let read = |place| fs::read_to_string(format!("{place}/events/{name}/id"));
    let text = TRACING.into_iter().find_map(|place| read(place).ok());
    let number = text.and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

/// Numbers of a list like `0-3,8`.
fn online(list: &str) -> Vec<i32> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<i32>().ok()?..=last.parse::<i32>().ok()?)
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::Group;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(online("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(online("0\n"), [0]);
        assert!(online("").is_empty());
    }

    /// As far as the machine lets us.
    #[test]
    fn a_groups_calls_are_counted_also_of_processes_that_have_ended() {
        let Ok(own) = Group::own() else { return hostler_untested::untested("no cgroup version 2") };
        let name = format!("hostler-count-{}", std::process::id());
        let Ok(group) = own.child(&name) else { return hostler_untested::untested("no group can be made") };
        let counters =
            [Count::SystemCalls, Count::ContextSwitches].map(|c| Counter::of_group(group.path(), c));
        let enter = format!("echo $$ > {}/cgroup.procs && exec sleep 0.01", group.path().display());
        let status = std::process::Command::new("sh").arg("-c").arg(enter).status().unwrap();
        let counts = counters.map(|counter| counter.and_then(|counter| counter.read()));
        while own.remove(&name).is_err() {
            // Time: looks again; the kernel tells nobody that a group is empty.
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(status.success());
        match counts {
            [Ok(calls), Ok(switches)] => assert!(calls > 20 && switches > 0, "{calls} {switches}"),
            other => hostler_untested::untested(format!("calls of a group: {other:?}")),
        }
    }
}
