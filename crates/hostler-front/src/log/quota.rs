//! The quota of a site's programs in the logs: a tenant must not fill the operator's disk, nor use up the front's time,
//! by writing lines. Lines beyond it are dropped, and one line states how many.
//!
//! Lines of the front itself, about a request or its failure, are not counted.

use crate::log;
use crate::request::thread::Thread;
use hostler_config::Server;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bytes that a site which has been silent may write at once; a CGI program alone may write half of it.
const AT_ONCE: i64 = 8 << 20;
/// Bytes that it may write in a second from then on.
const IN_A_SECOND: i64 = 256 << 10;
/// The cost of a line besides its text: the time and address before it.
const HEAD: i64 = 128;
/// Longest line of a program, in bytes, as in Apache (`MAX_STRING_LEN`); the rest of a longer one is cut off.
pub(super) const LONGEST: usize = 8 << 10;

/// The sites' accounts.
#[derive(Debug)]
pub(crate) struct Quota(Vec<Account>);

#[derive(Debug)]
struct Account {
    left: AtomicI64,
    /// The second up to which it was filled up.
    filled: AtomicU32,
    /// Lines that were left out since that was last told, and their virtual host.
    left_out: AtomicU64,
    server: AtomicU32,
}

impl Quota {
    /// For so many sites.
    pub(crate) fn new(sites: usize) -> Self {
        let account = || Account {
            left: AtomicI64::new(AT_ONCE),
            filled: AtomicU32::new(0),
            left_out: AtomicU64::new(0),
            server: AtomicU32::new(0),
        };
        Self((0..sites).map(|_| account()).collect())
    }
}

impl Account {
    /// Returns whether a line of this length may be written in this second.
    fn allows(&self, length: usize, second: u32) -> bool {
        let since = self.filled.fetch_max(second, Relaxed);
        if since < second {
            let more = IN_A_SECOND.saturating_mul(i64::from(second - since));
            let _ =
                self.left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_add(more).min(AT_ONCE)));
        }
        let cost = i64::try_from(length).unwrap_or(i64::MAX / 2) + HEAD;
        let allowed = self.left.fetch_update(Relaxed, Relaxed, |left| (left >= cost).then(|| left - cost));
        allowed.is_ok()
    }
}

/// Returns whether a line of this length, of a program of the virtual host's site, may be written; if not, it is
/// counted.
pub(super) fn allows(thread: &Thread, server: &Server, length: usize) -> bool {
    let shared = &thread.shared;
    let Some(account) = shared.program_lines.0.get(shared.sites.of(server) as usize) else { return false };
    let allowed = account.allows(length, thread.second());
    if !allowed {
        account.server.store(server.id, Relaxed);
        account.left_out.fetch_add(1, Relaxed);
    }
    allowed
}

/// Says what was left out. To be called on one thread, once in a second.
pub(crate) fn tell_left_out(thread: &Thread) {
    for account in &thread.shared.program_lines.0 {
        let lines = account.left_out.swap(0, Relaxed);
        if lines == 0 {
            continue;
        }
        let Some(server) = thread.shared.config.servers.get(account.server.load(Relaxed) as usize) else {
            continue;
        };
        let message = format!(
            "{lines} lines of this site's programs were left out: they write more than {} kilobytes in a second",
            IN_A_SECOND >> 10
        );
        log::about_programs(thread, server, &message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_silent_may_say_much_and_from_then_on_little() {
        let quota = Quota::new(1);
        let account = &quota.0[0];
        let written = |second| (0..1 << 20).take_while(|_| account.allows(1000, second)).count() as i64;
        assert_eq!(written(7), AT_ONCE / (1000 + HEAD));
        assert_eq!(written(7), 0);
        let each = written(8);
        assert!((IN_A_SECOND / (1000 + HEAD) - each).abs() <= 1, "{each}");
        assert_eq!(written(8), 0);
        assert!(written(100_000) > each);
    }
}
