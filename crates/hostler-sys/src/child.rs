//! The child's side of [`crate::process::spawn`]: everything between `fork` and `execve`.
//!
//! The parent may have threads, so the child calls nothing that allocates or locks: plain system calls on memory
//! that the parent prepared. Each failing step is told through a close-on-exec pipe; a child that got as far
//! as its program has closed the pipe by that.
//!
//! **Runs as** whoever the parent is, until the step that changes it; there is no way from a failed identity
//! change to the program.

use rustix::process::Pid;
use std::ffi::{CString, c_char};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;

use crate::process::{Identity, Spawn, SpawnError};

/// The parent's preparations for the child.
pub(crate) struct Plan<'a> {
    pub(crate) program: OwnedFd,
    pub(crate) args: Vec<*const c_char>,
    pub(crate) env: Vec<*const c_char>,
    /// Descriptors (numbered `numbers` or higher here) and their numbers in the child (all below `numbers`).
    pub(crate) fds: Vec<(OwnedFd, RawFd)>,
    pub(crate) numbers: RawFd,
    pub(crate) parent: Pid,
    pub(crate) tell: BorrowedFd<'a>,
    pub(crate) spawn: &'a Spawn<'a>,
}

/// A list as `execve` takes it; valid as long as `strings`.
pub(crate) fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect()
}

/// The steps that can fail, as the child numbers them on its pipe.
const STEPS: [&str; 17] = [
    "fork",
    "setsid",
    "setrlimit",
    "setgroups",
    "setresgid",
    "setresuid",
    "identity did not take",
    "root can be regained",
    "no_new_privs",
    "parent death signal",
    "chdir",
    "dup2",
    "close_range",
    "execve",
    "cgroup",
    "session keyring",
    "capability bounding set",
];

/// `prctl` takes all its arguments as longs.
const NONE: libc::c_ulong = 0;
const ONE: libc::c_ulong = 1;
const KILL: libc::c_ulong = libc::SIGKILL as libc::c_ulong;

/// A failed step: its number in [`STEPS`] and errno.
type Failed = (u8, i32);

pub(crate) fn fork(plan: &Plan<'_>) -> Result<Pid, SpawnError> {
    // SAFETY: the child (0) only runs `run`, which is written for the time after fork, and never returns.
    match unsafe { libc::fork() } {
        0 => run(plan),
        pid => Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(|| SpawnError::last("fork")),
    }
}

/// Returns the child's report before it gave up; `None` when it runs its program.
pub(crate) fn failure(pipe: OwnedFd) -> Option<SpawnError> {
    let mut told = Vec::with_capacity(5);
    if let Err(e) = File::from(pipe).take(5).read_to_end(&mut told) {
        return Some(SpawnError::of("pipe", &e));
    }
    let (step, errno) = told.split_first()?;
    let errno = errno.try_into().map_or(libc::EIO, i32::from_le_bytes);
    Some(SpawnError { step: STEPS.get(usize::from(*step)).unwrap_or(&"child"), errno })
}

fn run(plan: &Plan<'_>) -> ! {
    let (step, errno) = match steps(plan) {
        Err(failed) => failed,
        Ok(()) => (13, execute(plan)),
    };
    let [a, b, c, d] = errno.to_le_bytes();
    let told = [step, a, b, c, d];
    // SAFETY: plain system calls on live memory; _exit runs nothing of the parent's.
    unsafe {
        libc::write(plan.tell.as_raw_fd(), told.as_ptr().cast(), told.len());
        libc::_exit(127)
    }
}

fn steps(plan: &Plan<'_>) -> Result<(), Failed> {
    let spawn = plan.spawn;
    default_signals();
    if spawn.own_session {
        // SAFETY: no arguments.
        check(1, unsafe { libc::setsid() })?;
    }
    if let Some(group) = spawn.group {
        // "0" is whoever writes. As we still are, and before anything is used up.
        let zero = c"0".as_ptr();
        // SAFETY: one byte of a live string.
        let written = unsafe { libc::write(group.as_raw_fd(), zero.cast(), 1) };
        check(14, if written == 1 { 0 } else { -1 })?;
    }
    for (limit, bounds) in spawn.limits {
        let done = rustix::process::setrlimit(limit.resource(), (*bounds).into());
        done.map_err(|e| (2, e.raw_os_error()))?;
    }
    if let Some(identity) = spawn.identity {
        bound_capabilities(if spawn.no_new_privs { 0 } else { OF_SET_ID_PROGRAMS })?;
        become_identity(identity)?;
        leave_keys_behind()?;
    }
    if spawn.no_new_privs {
        // SAFETY: numbers only.
        check(8, unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, ONE, NONE, NONE, NONE) })?;
    }
    if spawn.dies_with_parent {
        // After the identity change, which clears it. A parent that died before the call sent no signal.
        // SAFETY: numbers only.
        check(9, unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, KILL, NONE, NONE, NONE) })?;
        if rustix::process::getppid() != Some(plan.parent) {
            return Err((9, libc::ESRCH));
        }
    }
    if let Some(directory) = spawn.directory {
        // SAFETY: the path ends with NUL.
        check(10, unsafe { libc::chdir(directory.as_ptr()) })?;
    }
    // SAFETY: a number.
    unsafe { libc::umask(0o022) };
    arrange_descriptors(plan)
}

fn check(step: u8, result: i32) -> Result<(), Failed> {
    if result < 0 { Err((step, errno())) } else { Ok(()) }
}

fn errno() -> i32 {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// Every signal does what it does by default, and none is blocked: an ignored or blocked one would outlive
/// execve.
fn default_signals() {
    // SAFETY: a set and default actions, both initialised; signals that can't be set give an error that is
    // of no interest.
    unsafe {
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// The capabilities that a program may gain which a site starts, by being set-user-id root or by what its file has: what
/// `sendmail`, `su`, `sudo`, `ping` and their like do their work with. Nothing that changes the machine, its kernel or its
/// network, and nothing that looks into other processes.
const OF_SET_ID_PROGRAMS: u64 = {
    // CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_RAW,
    // IPC_LOCK, SYS_CHROOT, SYS_NICE, SYS_RESOURCE, AUDIT_WRITE (capabilities(7), linux/capability.h).
    let kept = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 18, 23, 24, 29];
    let (mut mask, mut at) = (0, 0);
    while at < kept.len() {
        mask |= 1 << kept[at];
        at += 1;
    }
    mask
};

/// Drops all capabilities but those in `kept` from the bounding set, for good. What a container has taken from us
/// already is not asked for.
fn bound_capabilities(kept: u64) -> Result<(), Failed> {
    for capability in (0..64_u64).filter(|capability| kept & 1 << capability == 0) {
        // SAFETY: numbers only.
        let is_there =
            unsafe { libc::prctl(libc::PR_CAPBSET_READ, capability as libc::c_ulong, NONE, NONE, NONE) };
        if is_there == 1 {
            // SAFETY: numbers only.
            check(16, unsafe {
                libc::prctl(libc::PR_CAPBSET_DROP, capability as libc::c_ulong, NONE, NONE, NONE)
            })?;
        }
    }
    Ok(())
}

fn become_identity(identity: &Identity) -> Result<(), Failed> {
    let Identity { uid, gid, groups } = identity;
    // SAFETY: the list is live and has that many entries; the other calls take numbers.
    unsafe {
        check(3, libc::setgroups(groups.len(), groups.as_ptr()))?;
        check(4, libc::setresgid(*gid, *gid, *gid))?;
        check(5, libc::setresuid(*uid, *uid, *uid))?;
    }
    verify(identity)
}

/// A session of keys of its own: who has inherited one may read and change what is in it, whoever he is now, so that
/// the operator's keys would be every tenant's, and one tenant's the other's (keyrings(7), session-keyring(7)).
fn leave_keys_behind() -> Result<(), Failed> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: a number, and no name.
    let joined =
        unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, ptr::null::<libc::c_char>()) };
    match errno() {
        _ if joined >= 0 => Ok(()),
        // A kernel without keys, and containers in which nobody can ask for any.
        libc::ENOSYS | libc::EPERM | libc::EACCES => Ok(()),
        errno => Err((15, errno)),
    }
}

/// The identity took, whole, and there is no way back.
fn verify(identity: &Identity) -> Result<(), Failed> {
    let mut uids = [u32::MAX; 3];
    let mut gids = [u32::MAX; 3];
    let (uids_at, gids_at) = (uids.as_mut_ptr(), gids.as_mut_ptr());
    // SAFETY: each pointer is to one of three live numbers; a null list of length 0 asks for the count.
    let groups = unsafe {
        check(6, libc::getresuid(uids_at, uids_at.add(1), uids_at.add(2)))?;
        check(6, libc::getresgid(gids_at, gids_at.add(1), gids_at.add(2)))?;
        libc::getgroups(0, ptr::null_mut())
    };
    let taken = uids == [identity.uid; 3] && gids == [identity.gid; 3];
    if !taken || usize::try_from(groups) != Ok(identity.groups.len()) {
        return Err((6, libc::EPERM));
    }
    // SAFETY: numbers only; success of either is the failure.
    let regained = unsafe {
        (identity.uid != 0 && libc::setresuid(0, 0, 0) == 0)
            || (identity.gid != 0 && libc::setresgid(0, 0, 0) == 0)
    };
    if regained || (identity.uid != 0 && has_capabilities()) { Err((7, libc::EPERM)) } else { Ok(()) }
}

/// Returns whether any capability is left in the effective or permitted set (`capget`, version 3). Unknown counts as
/// yes.
fn has_capabilities() -> bool {
    let mut head = [0x2008_0522_u32, 0];
    let mut sets = [0_u32; 6];
    // SAFETY: version 3 takes a head of two words and writes two times three words.
    let done = unsafe { libc::syscall(libc::SYS_capget, head.as_mut_ptr(), sets.as_mut_ptr()) };
    let [effective_low, permitted_low, _, effective_high, permitted_high, _] = sets;
    done != 0 || (effective_low | permitted_low | effective_high | permitted_high) != 0
}

/// The named descriptors at their numbers, all others closed or close-on-exec.
fn arrange_descriptors(plan: &Plan<'_>) -> Result<(), Failed> {
    for number in 0..plan.numbers {
        let named = plan.fds.iter().find(|(_, at)| *at == number);
        // SAFETY: these numbers are the child's to arrange; what the parent holds there is its own copy.
        // dup2's result is without close-on-exec.
        unsafe {
            match named {
                Some((fd, _)) => check(11, libc::dup2(fd.as_raw_fd(), number))?,
                None => {
                    libc::close(number);
                }
            }
        }
    }
    let (first, last) = (plan.numbers as libc::c_uint, libc::c_uint::MAX);
    // SAFETY: numbers only.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { one_by_one(plan.numbers) }
}

/// `close_range` for kernels before 5.11: marks every descriptor that the limit allows for.
fn one_by_one(first: RawFd) -> Result<(), Failed> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let last = limit.and_then(|n| RawFd::try_from(n).ok()).ok_or((12, libc::ENOSYS))?;
    for number in first..last {
        // SAFETY: marks a descriptor of this child, if it is one.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// Runs the program; returns only errno.
fn execute(plan: &Plan<'_>) -> i32 {
    let path = c"".as_ptr();
    // SAFETY: the lists end with null pointers and their strings with NUL; all live in the parent's copy.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            plan.program.as_raw_fd(),
            path,
            plan.args.as_ptr(),
            plan.env.as_ptr(),
            libc::AT_EMPTY_PATH,
        );
    }
    errno()
}
