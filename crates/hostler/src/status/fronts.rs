//! The front processes of a server, as `/proc` shows them: one serves, older ones drain, a new one may be starting.

use hostler_sys::process::Pid;

/// A front process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    /// Its process id.
    pub(crate) pid: u32,
    /// Its generation.
    pub(crate) generation: u64,
    /// Its memory (resident), in bytes.
    pub(crate) memory: u64,
}

/// The fronts that are the master's children, oldest first.
pub(crate) fn of(master: Pid) -> Vec<Front> {
    let master = master.as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{master}/task/{master}/children"));
    let mut fronts: Vec<Front> =
        children.unwrap_or_default().split_whitespace().filter_map(|pid| front(pid.parse().ok()?)).collect();
    fronts.sort_by_key(|front| (front.generation, front.pid));
    fronts
}

fn front(pid: u32) -> Option<Front> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let generation =
        name.strip_prefix("hostler-front:\0generation\0")?.trim_end_matches('\0').parse().ok()?;
    Some(Front { pid, generation, memory: memory(pid).unwrap_or(0) })
}

fn memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
