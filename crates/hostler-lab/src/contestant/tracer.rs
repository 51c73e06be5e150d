//! Counting system calls with strace where the kernel's counters are not for us: attached to all processes and the
//! children that they get, it sums up what they did until it is told to end. It makes a server several times slower,
//! so nothing is timed meanwhile.

use super::kind::installed;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Time limit for attaching and for exiting: the machine may be busy, and the server may have many processes. Nothing
/// is timed meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// A strace that counts.
#[derive(Debug)]
pub(super) struct Tracer {
    child: Child,
    summary: PathBuf,
    _folder: TempDir,
}

impl Tracer {
    /// Begins to count what these processes do. `None`: there is no strace, or we may not trace them.
    pub(super) fn attach(processes: impl Fn() -> Vec<u32>) -> Option<Self> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let known = processes();
            let tracer = Self::begin(&known)?;
            // strace follows the children of those that it traces. One that was made before it was there is not among them.
            if processes().iter().all(|pid| known.contains(pid) || traced(*pid) != Some(false)) {
                return Some(tracer);
            }
        }
        None
    }

    fn begin(processes: &[u32]) -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("hostler-lab-trace-").tempdir().ok()?;
        let summary = folder.path().join("summary");
        let mut command = Command::new(installed("strace")?);
        command.args(["-c", "-f", "-q", "-o"]).arg(&summary).env("LC_ALL", "C").process_group(0);
        command.args(processes.iter().flat_map(|pid| ["-p".to_owned(), pid.to_string()]));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut tracer = Self { child: command.spawn().ok()?, summary, _folder: folder };
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if !matches!(tracer.child.try_wait(), Ok(None)) {
                return None;
            }
            // Who has gone meanwhile is not waited for.
            let states: Vec<Option<bool>> = processes.iter().map(|pid| traced(*pid)).collect();
            if states.contains(&Some(true)) && !states.contains(&Some(false)) {
                return Some(tracer);
            }
            std::thread::sleep(PAUSE);
        }
        None
    }

    /// System calls since it began; it ends.
    pub(super) fn end(mut self) -> Option<u64> {
        self.interrupt();
        count(&fs::read_to_string(&self.summary).ok()?)
    }

    /// Has it detach and write, and waits for that.
    fn interrupt(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| matches!(self.child.try_wait(), Ok(None))) {
            let _ = kill_process(pid, Signal::INT);
        }
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begin.elapsed() > PATIENCE {
                // The kernel detaches then.
                let _ = self.child.kill();
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.interrupt();
    }
}

/// Returns whether somebody traces a process; `None`: it has gone.
fn traced(pid: u32) -> Option<bool> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    Some(tracer.trim() != "0")
}

/// The sum of strace's table: `% time`, `seconds`, `usecs/call`, `calls`, perhaps `errors`, and the call's name.
fn count(summary: &str) -> Option<u64> {
    let calls = |line: &str| -> Option<u64> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        // Its last line has no usecs/call in some versions, so it is not asked.
        (words.last() != Some(&"total")).then(|| words.get(3)?.parse().ok())?
    };
    let all: Vec<u64> = summary.lines().filter_map(calls).collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_calls_of_a_table_are_summed_up() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n\
                     ------ ----------- ----------- --------- --------- ----------------\n \
                     61.84    0.001264          12       100        50 recvfrom\n \
                     38.16    0.000780          15        52           writev\n\
                     ------ ----------- ----------- --------- --------- ----------------\n\
                     100.00    0.002044                   152        50 total\n";
        assert_eq!(count(table), Some(152));
        assert_eq!(count(""), None);
        assert_eq!(count("strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted\n"), None);
    }

    #[test]
    fn calls_of_a_process_are_counted() {
        let mut child = Command::new("sh")
            .args(["-c", "read go; for i in 1 2 3 4 5 6 7 8 9 10; do :>/dev/null; done; echo done; read go"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Another one is seen first; this one is found untraced afterwards.
        let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
        let looks = Cell::new(0);
        let tracer = Tracer::attach(|| {
            looks.set(looks.get() + 1);
            [other.id()].into_iter().chain((looks.get() > 1).then_some(child.id())).collect()
        });
        if let (Some(tracer), Some(stdin), Some(stdout)) = (tracer, &mut child.stdin, &mut child.stdout) {
            use std::io::{Read, Write};
            stdin.write_all(b"\n").unwrap();
            stdout.read_exact(&mut [0; 5]).unwrap();
            let calls = tracer.end();
            assert!(calls.is_some_and(|calls| (10..10_000).contains(&calls)), "{calls:?}");
        } else {
            hostler_untested::untested("strace is not installed or may not trace");
        }
        assert_eq!(traced(child.id()), Some(false), "it has detached");
        drop(child.stdin.take());
        child.wait().unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(Tracer::attach(|| vec![u32::MAX]).is_none(), "there is no such process");
    }
}
