//! The front's own confinement: from here on the kernel carries out only the system calls that serving HTTP takes
//! (seccomp(2)). Whoever gets code of his own to run in the front can start no program, become nobody, look into no
//! other process, and reach none of the kernel's rarer parts.
//!
//! **Runs as** the front, before it has threads: they and all that follows inherit it. What is not on the list fails
//! with ENOSYS, as on a kernel that does not have it, so that the C library takes the older way where it has one.

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;

/// The system calls that serving needs, by purpose. Sorted within a line.
#[rustfmt::skip]
const ALLOWED: &[c_long] = &[
    // Connections, pipes and descriptors that are passed.
    libc::SYS_accept4, libc::SYS_bind, libc::SYS_connect, libc::SYS_getpeername, libc::SYS_getsockname,
    libc::SYS_getsockopt, libc::SYS_listen, libc::SYS_pipe2, libc::SYS_recvfrom, libc::SYS_recvmmsg, libc::SYS_recvmsg,
    libc::SYS_sendfile, libc::SYS_sendmmsg, libc::SYS_sendmsg, libc::SYS_sendto, libc::SYS_setsockopt,
    libc::SYS_shutdown, libc::SYS_socket, libc::SYS_socketpair, libc::SYS_splice, libc::SYS_tee,
    // Bytes.
    libc::SYS_copy_file_range, libc::SYS_lseek, libc::SYS_pread64, libc::SYS_preadv, libc::SYS_preadv2,
    libc::SYS_pwrite64, libc::SYS_pwritev, libc::SYS_pwritev2, libc::SYS_read, libc::SYS_readv, libc::SYS_write,
    libc::SYS_writev,
    // Descriptors.
    libc::SYS_close, libc::SYS_close_range, libc::SYS_dup, libc::SYS_dup3, libc::SYS_fcntl, libc::SYS_ioctl,
    // Events.
    libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_eventfd2,
    libc::SYS_inotify_add_watch, libc::SYS_inotify_init1, libc::SYS_inotify_rm_watch, libc::SYS_ppoll,
    libc::SYS_pselect6, libc::SYS_timerfd_create, libc::SYS_timerfd_gettime, libc::SYS_timerfd_settime,
    // Files: what the C library reads to resolve names, what /proc tells, and what sites have opened.
    libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_fadvise64, libc::SYS_fdatasync, libc::SYS_flock, libc::SYS_fstat,
    libc::SYS_fstatfs, libc::SYS_fsync, libc::SYS_ftruncate, libc::SYS_getcwd, libc::SYS_getdents64,
    libc::SYS_newfstatat, libc::SYS_openat, libc::SYS_openat2, libc::SYS_readlinkat, libc::SYS_statfs, libc::SYS_statx,
    // Memory.
    libc::SYS_brk, libc::SYS_madvise, libc::SYS_membarrier, libc::SYS_memfd_create, libc::SYS_mincore, libc::SYS_mlock,
    libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_msync, libc::SYS_munlock, libc::SYS_munmap,
    // Threads and waiting.
    libc::SYS_clock_getres, libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_futex,
    libc::SYS_get_robust_list, libc::SYS_getcpu, libc::SYS_getitimer, libc::SYS_gettimeofday, libc::SYS_nanosleep,
    libc::SYS_restart_syscall, libc::SYS_rseq, libc::SYS_sched_get_priority_max, libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity, libc::SYS_sched_getparam, libc::SYS_sched_getscheduler, libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler, libc::SYS_sched_yield, libc::SYS_set_robust_list, libc::SYS_set_tid_address,
    libc::SYS_setpriority, libc::SYS_times,
    // Itself.
    libc::SYS_exit, libc::SYS_exit_group, libc::SYS_getegid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getgroups,
    libc::SYS_getpid, libc::SYS_getppid, libc::SYS_getrandom, libc::SYS_getrusage, libc::SYS_gettid, libc::SYS_getuid,
    libc::SYS_prctl, libc::SYS_prlimit64, libc::SYS_rt_sigaction, libc::SYS_rt_sigpending, libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn, libc::SYS_rt_sigtimedwait, libc::SYS_sigaltstack, libc::SYS_signalfd4, libc::SYS_sysinfo,
    libc::SYS_tgkill, libc::SYS_umask, libc::SYS_uname,
];

/// Calls that only older architectures have, in place of some of those above.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OF_ARCHITECTURE: &[c_long] = &[
    libc::SYS_access, libc::SYS_arch_prctl, libc::SYS_dup2, libc::SYS_epoll_wait, libc::SYS_getdents, libc::SYS_getrlimit,
    libc::SYS_lstat, libc::SYS_open, libc::SYS_pipe, libc::SYS_poll, libc::SYS_readlink, libc::SYS_select,
    libc::SYS_setrlimit, libc::SYS_stat, libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_ARCHITECTURE: &[c_long] = &[];

/// Lets the kernel refuse everything else, for this thread and those that it will start.
///
/// # Errors
/// The kernel can't filter, or not on this architecture; as a sentence's end.
pub(crate) fn confine() -> Result<(), String> {
    let program = program().map_err(|e| e.to_string())?;
    seccompiler::apply_filter(&program).map_err(|e| e.to_string())
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let calls = ALLOWED.iter().chain(OF_ARCHITECTURE);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = calls.map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![of_a_thread()?])?]);
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// `clone` makes threads only, never a process. (`clone3`, whose flags no filter can see, is not on the list.)
fn of_a_thread() -> Result<SeccompCondition, seccompiler::BackendError> {
    let thread = libc::CLONE_THREAD as u64;
    SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::net::TcpListener;

    #[test]
    fn what_serving_takes_goes_on_and_nothing_else_does() {
        // The filter is this thread's alone, and ends with it.
        let confined = std::thread::spawn(|| {
            confine().expect("this kernel filters");
            let listener = TcpListener::bind("127.0.0.1:0").expect("sockets");
            let file = std::fs::read_to_string("/proc/thread-self/status").expect("files");
            let another = std::thread::spawn(|| 7).join().expect("threads");
            let refused = [
                rustix::process::chroot("/").expect_err("no chroot"),
                rustix::fs::mkdir("/tmp/hostler-confined", rustix::fs::Mode::empty())
                    .expect_err("no folders"),
                rustix::fs::unlink("/tmp/hostler-confined").expect_err("no removal"),
                rustix::process::setsid().expect_err("no session"),
            ];
            let program = std::process::Command::new("/bin/true").status();
            (listener.local_addr().is_ok(), file.contains("Seccomp:\t2"), another, refused, program.is_err())
        });
        let told = confined.join().expect("the thread ends");
        assert_eq!(told, (true, true, 7, [Errno::NOSYS; 4], true));
    }
}
