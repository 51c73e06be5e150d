//! Starting programs fast: a child that shares this process's memory until its `execve` (`CLONE_VM`,
//! `CLONE_VFORK`), so that nothing is copied and a failure is told through that memory.
//!
//! Only for processes with a single thread and no signal handlers: until the `execve` both run in one address
//! space, one after the other. For children with an identity of their own see `process.rs`.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::limits::{Bounds, Limit, current};
use crate::process::Pid;

/// Strings for `execve`, one after the other, each ending with NUL.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

/// A string for `execve` with a NUL in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HasNul;

impl Strings {
    /// None yet, with room for `bytes` of text.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), starts: Vec::with_capacity(64) }
    }

    /// Adds a string.
    ///
    /// # Errors
    /// [`HasNul`]; nothing is added then.
    pub fn push(&mut self, text: &[u8]) -> Result<(), HasNul> {
        if text.contains(&0) {
            return Err(HasNul);
        }
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
        Ok(())
    }

    /// Pointers to the strings and a null pointer; valid as long as `self` is not changed.
    fn pointers(&self) -> Vec<*const c_char> {
        let strings = self.starts.iter().map(|start| self.bytes[*start..].as_ptr().cast());
        strings.chain([std::ptr::null()]).collect()
    }
}

/// A program to start.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The directory in which `name` is looked up, links not followed; with an empty name: the program itself;
    /// `None`: `name` is a path.
    pub directory: Option<BorrowedFd<'a>>,
    /// Name in `directory`, or path.
    pub name: &'a CStr,
    /// The path to run instead if `name` was looked up and the kernel replies that it could not pass such a program on
    /// by descriptor (`binfmt_misc`).
    pub fallback: Option<&'a CStr>,
    /// Arguments from `argv[0]` on.
    pub args: &'a Strings,
    /// The whole environment.
    pub env: &'a Strings,
    /// Working directory.
    pub working: BorrowedFd<'a>,
    /// Standard input, output and error.
    pub standard: [BorrowedFd<'a>; 3],
    /// Its descriptor 3, if it gets one.
    pub fourth: Option<BorrowedFd<'a>>,
    /// Limits that differ from ours; those over our hard limit are cut to it.
    pub limits: &'a [(Limit, Bounds)],
    /// Its priority (setpriority(2)), where it is not ours. One that this process may not give is left as it is.
    pub nice: Option<u8>,
    /// Neither it nor its children can gain privileges by set-id programs.
    pub no_new_privs: bool,
}

/// Why a program was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchError {
    /// No process could be had (errno).
    Fork(i32),
    /// Its working directory, descriptors or limits could not be set up (errno).
    Setup(i32),
    /// `execve` failed (errno).
    Exec(i32),
}

/// Starts programs, each in a process group of its own, with default signals and no descriptors
/// but the standard three. The kernel sends it SIGTERM when this process dies.
#[derive(Debug)]
pub struct Launcher {
    /// The child's stack until its `execve`.
    stack: Box<[u128; STACK / 16]>,
}

/// Size of that stack, in bytes. The child makes a dozen system calls in a function or two.
const STACK: usize = 64 << 10;

impl Default for Launcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Launcher {
    /// A launcher; one per process is enough.
    #[must_use]
    pub fn new() -> Self {
        Self { stack: Box::new([0; STACK / 16]) }
    }

    /// Starts a program; when this returns it runs. It is to be reaped by the caller.
    ///
    /// # Errors
    /// [`LaunchError`]; no child is left then.
    pub fn launch(&mut self, launch: &Launch<'_>) -> Result<Pid, LaunchError> {
        let limits: Vec<_> = launch.limits.iter().map(|(limit, bounds)| bounded(*limit, *bounds)).collect();
        let plan = Plan {
            directory: launch.directory.map_or(libc::AT_FDCWD, |fd| fd.as_raw_fd()),
            flags: match launch.directory {
                None => 0,
                Some(_) if launch.name.is_empty() => libc::AT_EMPTY_PATH,
                Some(_) => libc::AT_SYMLINK_NOFOLLOW,
            },
            name: launch.name.as_ptr(),
            fallback: launch.fallback.map_or(std::ptr::null(), CStr::as_ptr),
            args: launch.args.pointers(),
            env: launch.env.pointers(),
            working: launch.working.as_raw_fd(),
            standard: launch.standard.map(|fd| fd.as_raw_fd()),
            fourth: launch.fourth.map(|fd| fd.as_raw_fd()),
            limits,
            nice: launch.nice.map(c_int::from),
            no_new_privs: launch.no_new_privs,
            step: AtomicI32::new(0),
            errno: AtomicI32::new(0),
        };
        let pid = self.clone_child(&plan).map_err(LaunchError::Fork)?;
        let errno = plan.errno.load(Ordering::Acquire);
        match plan.step.load(Ordering::Acquire) {
            0 => Ok(pid),
            step => {
                let _ = crate::process::wait(pid);
                Err(if step == EXEC { LaunchError::Exec(errno) } else { LaunchError::Setup(errno) })
            }
        }
    }

    fn clone_child(&mut self, plan: &Plan) -> Result<Pid, i32> {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let top = self.stack.as_mut_ptr_range().end.cast::<c_void>();
        // SAFETY: the stack is ours alone (`&mut self`), aligned to 16 and grows down from its end. CLONE_VFORK
        // suspends this thread until the child has run its program or ended, so `plan`, what it points to and
        // the stack live long enough and are never used by both. The child only makes system calls and
        // writes to the two atomics.
        let pid = unsafe { libc::clone(child, top, flags, (&raw const *plan).cast_mut().cast()) };
        if pid < 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN));
        }
        Pid::from_raw(pid).ok_or(libc::EAGAIN)
    }
}

/// Everything the child needs, ready for system calls.
struct Plan {
    directory: RawFd,
    flags: c_int,
    name: *const c_char,
    fallback: *const c_char,
    args: Vec<*const c_char>,
    env: Vec<*const c_char>,
    working: RawFd,
    standard: [RawFd; 3],
    fourth: Option<RawFd>,
    limits: Vec<(c_int, libc::rlimit)>,
    nice: Option<c_int>,
    no_new_privs: bool,
    step: AtomicI32,
    errno: AtomicI32,
}

const SETUP: i32 = 1;
const EXEC: i32 = 2;

fn bounded(limit: Limit, bounds: Bounds) -> (c_int, libc::rlimit) {
    let most = current(limit).hard.unwrap_or(libc::RLIM_INFINITY);
    let hard = bounds.hard.unwrap_or(libc::RLIM_INFINITY).min(most);
    let soft = bounds.soft.unwrap_or(libc::RLIM_INFINITY).min(hard);
    (number(limit), libc::rlimit { rlim_cur: soft, rlim_max: hard })
}

fn number(limit: Limit) -> c_int {
    let resource = match limit {
        Limit::Cpu => libc::RLIMIT_CPU,
        Limit::Memory => libc::RLIMIT_AS,
        Limit::Processes => libc::RLIMIT_NPROC,
        Limit::Descriptors => libc::RLIMIT_NOFILE,
        Limit::Core => libc::RLIMIT_CORE,
    };
    resource as c_int
}

extern "C" fn child(plan: *mut c_void) -> c_int {
    // SAFETY: `clone_child` passes a plan that lives until this child has ended or runs its program.
    let plan = unsafe { &*plan.cast::<Plan>().cast_const() };
    let step = match set_up(plan) {
        Ok(()) => {
            execute(plan);
            EXEC
        }
        Err(()) => SETUP,
    };
    // SAFETY: reads this thread's errno.
    plan.errno.store(unsafe { *libc::__errno_location() }, Ordering::Release);
    plan.step.store(step, Ordering::Release);
    // SAFETY: ends the child at once; nothing of the parent's is flushed or destroyed.
    unsafe { libc::_exit(127) }
}

/// Makes the child what its program expects; errno tells why not.
fn set_up(plan: &Plan) -> Result<(), ()> {
    let check = |result: c_int| if result < 0 { Err(()) } else { Ok(()) };
    // SAFETY: numbers, and pointers to live values. The descriptors belong to the caller, whose table is not
    // shared with this child; they are above 2 (`occupy_standard`), so that dup2 takes close-on-exec away.
    unsafe {
        // A process group, so that it can be killed whole; not a session: with the scheduler's autogroups each
        // session costs the kernel a scheduling group, which is more than starting the program does.
        check(libc::setpgid(0, 0))?;
        for (at, fd) in (0..).zip(plan.standard) {
            check(libc::dup2(fd, at))?;
        }
        if let Some(fd) = plan.fourth {
            // None of the standard ones is needed at its own number any more. One that is there already keeps its flag.
            check(libc::dup2(fd, 3))?;
            check(libc::fcntl(3, libc::F_SETFD, 0))?;
        }
        check(libc::fchdir(plan.working))?;
        for (limit, bounds) in &plan.limits {
            check(libc::syscall(libc::SYS_prlimit64, 0, *limit, &raw const *bounds, 0) as c_int)?;
        }
        if let Some(nice) = plan.nice {
            // Only downwards is allowed to everybody; a program is not kept from running by its priority.
            libc::setpriority(libc::PRIO_PROCESS, 0, nice);
        }
        if plan.no_new_privs {
            let (one, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none))?;
        }
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM))?;
        // All of the parent's descriptors are close-on-exec; this is for one that slipped in without it.
        let first = 3 + libc::c_uint::from(plan.fourth.is_some());
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
        let none = std::mem::zeroed::<libc::sigset_t>();
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()))
    }
}

/// Runs the program; comes back with errno set.
fn execute(plan: &Plan) {
    let (args, env) = (plan.args.as_ptr(), plan.env.as_ptr());
    // SAFETY: the strings end with NUL, the lists with a null pointer, and both live in the parent's plan.
    unsafe {
        libc::syscall(libc::SYS_execveat, plan.directory, plan.name, args, env, plan.flags);
        if *libc::__errno_location() == libc::ENOENT && !plan.fallback.is_null() {
            libc::execve(plan.fallback, args, env);
        }
    }
}

/// Numbers that [`inherited`] has given out.
static INHERITED: AtomicU32 = AtomicU32::new(0);

/// A descriptor that this process was started with (3 to 31), close-on-exec from now on. Each number is given
/// out once, to be asked for before the process opens anything.
///
/// # Errors
/// EBADF where there is none, or not any more.
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    let bit = u32::try_from(number).ok().filter(|n| (3..32).contains(n)).map(|n| 1 << n);
    if bit.is_none_or(|bit| INHERITED.fetch_or(bit, Ordering::Relaxed) & bit != 0) {
        return Err(Errno::BADF.into());
    }
    // SAFETY: only looks whether the descriptor is open.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_setfd(fd, fcntl_getfd(fd)? | FdFlags::CLOEXEC)?;
    // SAFETY: it is open, came from our parent, and is given out this once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Opens `/dev/null` in place of missing standard descriptors, so that nothing else ever gets their numbers.
///
/// # Errors
/// The kernel's.
pub fn occupy_standard() -> io::Result<()> {
    loop {
        let fd = open(c"/dev/null", OFlags::RDWR, Mode::empty())?;
        if fd.as_raw_fd() > 2 {
            return Ok(());
        }
        let _stays_open = fd.into_raw_fd();
    }
}

/// Signals ignored by whoever started this process, SIGPIPE above all, do what they do by default again: what is
/// ignored here would be ignored in every program started here.
pub fn default_signals() {
    // The kernel's `sigaction` with a default handler, no flags and an empty mask is all zeroes. libc's function
    // would refuse the two signals that it keeps for itself.
    let default = [0_u64; 4];
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the kernel reads the 32 bytes and writes nothing; SIGKILL and SIGSTOP fail without effect.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), 0, 8) };
    }
}

#[cfg(test)]
mod tests;
