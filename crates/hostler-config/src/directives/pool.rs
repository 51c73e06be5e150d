//! Pools of warm workers: how many, how long, and how separate. Apache's knobs of prefork, which here size the
//! pool of a virtual host, and Hostler's own.

mod bounds;
mod privileges;
mod site;

pub use bounds::{AddressBounds, Rate, SiteBounds, programs_in_all, programs_of_site};
pub use privileges::NoNewPrivileges;
pub use site::SiteLimits;

use super::core::values::{choice, number};
use crate::{
    Args, Arity, Command, Context, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part,
};

/// The knobs of prefork. `MaxRequestWorkers` outside of virtual hosts also bounds CGI programs.
pub static MODULE: Module = Module {
    name: "mpm_prefork_module",
    file: "prefork.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

/// Hostler's own.
pub static HOSTLER: Module = Module {
    name: "hostler_module",
    file: "mod_hostler.c",
    directives: HOSTLER_DIRECTIVES,
    effect: Effect::Guards,
};

/// More workers than this in one pool is a slip of the pen.
const MOST: u32 = 20_000;

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "StartServers",
        Arity::Take1,
        "number",
        "Set the initial number of workers of a pool (default 1)",
        |cmd, args| {
            cmd.server.pool.start = Some(raised(cmd, args, 0, MOST)?);
            Ok(())
        },
    ),
    Directive::new(
        "MinSpareServers",
        Arity::Take1,
        "number",
        "Set the minimum number of idle workers of a pool in use (default 1)",
        |cmd, args| {
            cmd.server.pool.min_spare = Some(raised(cmd, args, 0, MOST)?);
            Ok(())
        },
    ),
    Directive::new(
        "MaxSpareServers",
        Arity::Take1,
        "number",
        "Set the maximum number of idle workers of a pool (default 10)",
        |cmd, args| {
            // Quirk(apache): one that is too small is raised above MinSpareServers without a word.
            let count = whole(args.first())?.unwrap_or(0).max(1);
            cmd.server.pool.max_spare = Some(number(&count.to_string(), 1..=MOST)?);
            Ok(())
        },
    ),
    Directive::new("MaxRequestWorkers", Arity::Take1, "number", WORKERS, max_workers),
    Directive::new("MaxClients", Arity::Take1, "number", WORKERS, max_workers),
    Directive::new("MaxConnectionsPerChild", Arity::Take1, "number", REQUESTS, max_requests),
    Directive::new("MaxRequestsPerChild", Arity::Take1, "number", REQUESTS, max_requests),
];

const WORKERS: &str = "Limit the number of workers of a pool (default: 8 per CPU, at least 16 and at most \
    64); outside virtual hosts, also the number of concurrent programs that are started for a single \
    request each (default 256)";
const REQUESTS: &str = "Replace a worker after this many requests; 0: never (default)";

static HOSTLER_DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Isolation",
        Arity::Take1,
        "persistent|fork|exec",
        "Set how many requests a process serves: many (persistent; default for perl-script, modperl and \
            psgi), one, after a fork of the warm parent (fork), or one, in a newly started process \
            (exec; default for cgi-script)",
        isolation,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "HostlerQueueLength",
        Arity::Take1,
        "number",
        "Limit the number of requests that wait for a worker of a pool; further requests get 503 (default \
            1000)",
        |cmd, args| {
            cmd.server.pool.queue_length = Some(number(args.first(), 0..=10_000_000)?);
            Ok(())
        },
    ),
    Directive::new(
        "HostlerQueueTimeout",
        Arity::Take1,
        "seconds",
        "Limit the time, in seconds, that a request waits for a worker before it gets 503 (default 30)",
        |cmd, args| {
            cmd.server.pool.queue_timeout = Some(number(args.first(), 1..=86_400)?);
            Ok(())
        },
    ),
    Directive::new(
        "HostlerPoolIdle",
        Arity::Take1,
        "seconds",
        "Stop the processes of a pool after this many seconds without a request (default 300)",
        |cmd, args| {
            cmd.server.pool.idle = Some(number(args.first(), 1..=10_000_000)?);
            Ok(())
        },
    ),
    Directive::new(
        "HostlerMemory",
        Arity::Take1,
        "bytes[K|M|G]",
        "Limit the memory of the warm processes of all pools together; processes that have been idle \
            longest are stopped first (default: half of the machine's memory)",
        |cmd, args| {
            cmd.process.pool_memory = Some(bytes(args.first())?);
            Ok(())
        },
    )
    .allowed(Contexts::GLOBAL, Overrides::NONE),
    site::MEMORY,
    site::CPU,
    site::TASKS,
    privileges::NO_NEW_PRIVILEGES,
    bounds::PROGRAMS,
    bounds::CONNECTIONS,
    bounds::REQUESTS,
    bounds::WORKER_TIMEOUT,
    bounds::CONNECTIONS_PER_ADDRESS,
    bounds::REQUESTS_PER_ADDRESS,
];

/// The requests that a program's process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Many requests, one after the other.
    Persistent,
    /// One request; forked from the warm parent.
    Fork,
    /// One request; started for it.
    Exec,
}

impl Isolation {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Persistent, Self::Fork, Self::Exec];

    /// As the directive writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Persistent => "persistent",
            Self::Fork => "fork",
            Self::Exec => "exec",
        }
    }
}

/// A directory's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dir {
    /// `Isolation`; unset: what is usual for the technique, see [`crate::technique::Technique::isolation`].
    pub isolation: Option<Isolation>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self { isolation: over(&self.isolation, &other.isolation) }
    }

    unset_part!(Dir);
}

/// A virtual host's settings; the defaults are [`crate::pools::PoolSettings`]'.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// `StartServers`
    pub start: Option<u32>,
    /// `MinSpareServers`
    pub min_spare: Option<u32>,
    /// `MaxSpareServers`
    pub max_spare: Option<u32>,
    /// `MaxRequestWorkers`, `MaxClients`
    pub max_workers: Option<u32>,
    /// `MaxConnectionsPerChild`, `MaxRequestsPerChild`; 0: no limit.
    pub max_requests: Option<u32>,
    /// `HostlerQueueLength`
    pub queue_length: Option<u32>,
    /// `HostlerQueueTimeout`, seconds.
    pub queue_timeout: Option<u32>,
    /// `HostlerPoolIdle`, seconds.
    pub idle: Option<u32>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self {
            start: other.start.or(self.start),
            min_spare: other.min_spare.or(self.min_spare),
            max_spare: other.max_spare.or(self.max_spare),
            max_workers: other.max_workers.or(self.max_workers),
            max_requests: other.max_requests.or(self.max_requests),
            queue_length: other.queue_length.or(self.queue_length),
            queue_timeout: other.queue_timeout.or(self.queue_timeout),
            idle: other.idle.or(self.idle),
        }
    }

    unset_part!(Server);
}

fn max_workers(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let count = raised(cmd, args, 1, i32::MAX.unsigned_abs())?;
    if cmd.context == Context::Main {
        cmd.process.max_request_workers = Some(count);
    }
    cmd.server.pool.max_workers = Some(count.min(MOST));
    Ok(())
}

fn max_requests(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let count = whole(args.first())?;
    if count.is_none() {
        let word = args.first();
        cmd.warn(format!("{word} means that no worker is replaced for its age, as 0 does"));
    }
    cmd.server.pool.max_requests = Some(count.unwrap_or(0));
    Ok(())
}

/// A number of workers; one below `least` is raised to 1 with a warning, as prefork does.
fn raised(cmd: &mut Command<'_>, args: &Args, least: u32, most: u32) -> Result<u32, String> {
    match whole(args.first())? {
        Some(count) if count >= least => number(args.first(), least..=most),
        _ => {
            let (name, word) = (cmd.directive.name, args.first());
            cmd.warn(format!("{name} of {word} not allowed, increasing to 1"));
            Ok(1)
        }
    }
}

/// A number; `None`: one below nothing.
fn whole(word: &str) -> Result<Option<u32>, String> {
    match word.strip_prefix('-') {
        Some(digits) => {
            number(digits, 0..=u32::MAX).map(|_| None).map_err(|_| format!("\"{word}\" is not a number"))
        }
        None => number(word, 0..=u32::MAX).map(Some),
    }
}

fn isolation(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let all = Isolation::ALL.map(|one| (one.name(), one));
    cmd.dir.pool.isolation = Some(choice(args.first(), &all)?);
    Ok(())
}

/// `512M`, `2G`, `1073741824`.
fn bytes(word: &str) -> Result<u64, String> {
    let (digits, shift) = match word.as_bytes().last().map(u8::to_ascii_uppercase) {
        Some(b'K') => (&word[..word.len() - 1], 10),
        Some(b'M') => (&word[..word.len() - 1], 20),
        Some(b'G') => (&word[..word.len() - 1], 30),
        _ => (word, 0),
    };
    let count: u64 =
        number(digits, 1..=1 << 50).map_err(|_| format!("\"{word}\" is not a number of bytes"))?;
    let bytes = u128::from(count) << shift;
    match u64::try_from(bytes) {
        Ok(bytes) if bytes >= 1 << 20 => Ok(bytes),
        _ => Err(format!("\"{word}\" is less than 1M or too large")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_nothing_are_told_from_words() {
        assert_eq!((whole("7"), whole("0"), whole("-1")), (Ok(Some(7)), Ok(Some(0)), Ok(None)));
        for bad in ["", "-", "--1", "x", "-x", "1.5", "+1"] {
            assert!(whole(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bytes_take_suffixes() {
        assert_eq!(bytes("512M"), Ok(512 << 20));
        assert_eq!(bytes("2g"), Ok(2 << 30));
        assert_eq!(bytes("1048576"), Ok(1 << 20));
        for bad in ["", "M", "1", "-1M", "1T", "1.5G", "99999999999999999999G"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
