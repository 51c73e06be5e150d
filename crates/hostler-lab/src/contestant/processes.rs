//! Processes by `/proc`: who descends from whom, what they have used, what they hold (proc(5)).

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A process, told from a later one of the same number by when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) pid: u32,
    begun: u64,
}

/// Fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) id: Id,
    pub(super) parent: u32,
    group: u32,
    /// Ended, and not yet reaped.
    pub(super) zombie: bool,
    /// Ticks of the clock, own and of reaped children.
    pub(super) ticks: u64,
    /// Page faults of reaped children: grows when one is reaped.
    pub(super) children_faults: u64,
}

impl Stat {
    pub(super) fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field, the name, is in parentheses and may contain anything.
    fn parse(line: &str) -> Option<Self> {
        let (pid, _) = line.split_once(' ')?;
        let (_, rest) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Field numbers as in proc_pid_stat(5): the state is number 3.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let ticks = [14, 15, 16, 17].into_iter().map(number).sum::<Option<u64>>()?;
        Some(Self {
            id: Id { pid: pid.parse().ok()?, begun: number(22)? },
            parent: u32::try_from(number(4)?).ok()?,
            group: u32::try_from(number(5)?).ok()?,
            zombie: matches!(*fields.first()?, "Z" | "X"),
            ticks,
            children_faults: number(11)?,
        })
    }
}

impl Id {
    /// Returns whether it still runs.
    pub(super) fn lives(self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.id == self && !stat.zombie)
    }

    pub(super) fn signal(self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.lives()) {
            // It may end in the meantime.
            let _ = kill_process(pid, signal);
        }
    }
}

/// All processes there are.
fn all() -> Vec<Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Stat::of(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// A process with its descendants, those of its process group, and those of `more`, all with their descendants.
///
/// Never the parent of all processes, or "none" (0): whoever ends a contestant would end everything.
pub(super) fn tree(leader: u32, more: &[u32]) -> Vec<Stat> {
    let all = all();
    let mut pids: BTreeSet<u32> = more.iter().copied().chain([leader]).filter(|pid| *pid > 1).collect();
    pids.extend(all.iter().filter(|stat| stat.group == leader).map(|stat| stat.id.pid));
    loop {
        let before = pids.len();
        let children: Vec<_> = all.iter().filter(|stat| pids.contains(&stat.parent)).collect();
        pids.extend(children.iter().map(|stat| stat.id.pid));
        if pids.len() == before {
            break;
        }
    }
    all.into_iter().filter(|stat| pids.contains(&stat.id.pid)).collect()
}

/// Bytes that a process holds, of shared pages its part.
pub(super) fn proportional_set_size(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Voluntary and involuntary context switches of a process's threads.
pub(super) fn context_switches(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| Some(switches(&fs::read_to_string(task.path().join("status")).ok()?))).sum()
}

fn switches(status: &str) -> u64 {
    let lines = status.lines().filter(|line| line.contains("ctxt_switches:"));
    lines.filter_map(|line| line.rsplit_once(':')?.1.trim().parse::<u64>().ok()).sum()
}

/// Returns whether one of these processes listens on the port; `None` where that cannot be told.
pub(super) fn listens(pids: impl Iterator<Item = u32>, port: u16) -> Option<bool> {
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let sockets: Vec<_> =
        listening(&table, port).into_iter().map(|inode| PathBuf::from(format!("socket:[{inode}]"))).collect();
    let mut all_seen = true;
    for pid in pids {
        match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(entries) => {
                let mut links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
                if links.any(|link| sockets.contains(&link)) {
                    return Some(true);
                }
            }
            Err(e) => all_seen &= e.kind() != ErrorKind::PermissionDenied,
        }
    }
    (all_seen && !sockets.is_empty()).then_some(false)
}

/// Inodes of the sockets of `/proc/net/tcp` that listen on a port: state `0A`, the port in hexadecimal.
fn listening(table: &str, port: u16) -> Vec<&str> {
    let suffix = format!(":{port:04X}");
    let rows = table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| {
        row.get(1).is_some_and(|local| local.ends_with(&suffix))
            && row.get(3).is_some_and(|state| *state == "0A")
    });
    rows.filter_map(|row| row.get(9).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "42 (a) b (c) S 7 42 42 0 -1 4194560 100 2000 0 3 11 12 13 14 20 0 1 0 9876 1 2 3";

    #[test]
    fn a_name_may_contain_parentheses() {
        let stat = Stat::parse(LINE).unwrap();
        assert_eq!(stat.id, Id { pid: 42, begun: 9876 });
        assert_eq!((stat.parent, stat.group, stat.zombie), (7, 42, false));
        assert_eq!((stat.ticks, stat.children_faults), (11 + 12 + 13 + 14, 2000));
        assert_eq!(Stat::parse("42 (x"), None);
    }

    #[test]
    fn this_process_is_found_with_what_it_holds() {
        let me = std::process::id();
        let tree = tree(me, &[]);
        assert!(tree.iter().any(|stat| stat.id.pid == me && stat.id.lives()));
        assert!(proportional_set_size(me).unwrap() > 100 << 10);
        assert_eq!(switches("voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n"), 7);
    }

    #[test]
    fn nobodys_children_are_nobodys() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found: Vec<u32> = tree(child.id(), &[0, 1]).iter().map(|stat| stat.id.pid).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, [child.id()]);
    }

    #[test]
    fn a_listening_socket_is_told_from_a_connected_one() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 123 1 0\n\
                     1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000 0 0 456 1 0\n";
        assert_eq!(listening(table, 8080), ["123"]);
        assert!(listening(table, 8081).is_empty());
    }
}
