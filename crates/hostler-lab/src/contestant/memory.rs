//! The memory of each process of a contestant: its own, and its part of what is shared (proc_pid_smaps(5)).

use super::processes::proportional_set_size;
use super::start::Running;
use std::fs;

/// A process and its memory, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// As the kernel calls it: `hostler-front`, `apache2`.
    pub name: String,
    /// Pages that nobody else has (USS): what ending it alone would give back.
    pub private: u64,
    /// The same, and its part of pages that several have (PSS).
    pub proportional: u64,
}

impl Running {
    /// Its processes and what each holds now. Those that end meanwhile, or that we may not look into, are left out.
    #[must_use]
    pub fn held(&self) -> Vec<ProcessMemory> {
        let processes = self.processes();
        processes.iter().filter_map(|stat| held(stat.id.pid, stat.parent)).collect()
    }
}

fn held(pid: u32, parent: u32) -> Option<ProcessMemory> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned();
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    Some(ProcessMemory {
        pid,
        parent,
        name,
        private: private(&rollup),
        proportional: proportional_set_size(pid)?,
    })
}

/// The sum of the lines of what is private, in bytes; `smaps_rollup` gives them in kB.
fn private(rollup: &str) -> u64 {
    let lines = rollup.lines().filter(|line| line.starts_with("Private_"));
    let kilobytes = |line: &str| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok();
    lines.filter_map(kilobytes).sum::<u64>() * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_is_counted_whether_or_not_it_was_written() {
        let rollup =
            "Rss: 90 kB\nPss: 50 kB\nShared_Clean: 60 kB\nPrivate_Clean: 10 kB\nPrivate_Dirty: 20 kB\n";
        assert_eq!(private(rollup), 30 << 10);
    }

    #[test]
    fn a_process_holds_no_more_for_itself_than_in_all() {
        let me = held(std::process::id(), 0).unwrap();
        assert!(me.private > 0 && me.private <= me.proportional && !me.name.is_empty(), "{me:?}");
    }
}
