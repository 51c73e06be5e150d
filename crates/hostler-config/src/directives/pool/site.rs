//! The resources that all processes of a site may use together: `HostlerSiteMemory`, `HostlerSiteCPU`,
//! `HostlerSiteTasks`. The kernel enforces them by control groups (cgroups(7)); a site is all virtual hosts of one
//! user.

use super::bytes;
use crate::directives::core::values::number;
use crate::{Args, Arity, Directive};

/// A limit: `None` where nothing is said, `Some(None)` for `max`.
type Limit<T> = Option<Option<T>>;

/// The limits of a site, as a virtual host says them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteLimits {
    /// `HostlerSiteMemory`, bytes.
    pub memory: Limit<u64>,
    /// `HostlerSiteCPU`, percent of one processor.
    pub cpu: Limit<u32>,
    /// `HostlerSiteTasks`: processes and threads.
    pub tasks: Limit<u32>,
}

impl SiteLimits {
    /// With what `other`, further in, says instead.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            memory: other.memory.or(self.memory),
            cpu: other.cpu.or(self.cpu),
            tasks: other.tasks.or(self.tasks),
        }
    }
}

pub(super) const MEMORY: Directive = Directive::new(
    "HostlerSiteMemory",
    Arity::Take1,
    "bytes[K|M|G]|max",
    "Limit the memory of all processes of the site's user together (cgroup memory.max); above it the kernel \
        kills one of them (default: no limit)",
    |cmd, args| {
        cmd.server.core.site_limits.memory = Some(limit(args, bytes)?);
        Ok(())
    },
);

pub(super) const CPU: Directive = Directive::new(
    "HostlerSiteCPU",
    Arity::Take1,
    "percent%|max",
    "Limit the CPU time of all processes of the site's user together, in percent of one CPU (cgroup \
        cpu.max; default: no limit)",
    |cmd, args| {
        cmd.server.core.site_limits.cpu = Some(limit(args, percent)?);
        Ok(())
    },
);

pub(super) const TASKS: Directive = Directive::new(
    "HostlerSiteTasks",
    Arity::Take1,
    "number|max",
    "Limit the number of processes and threads of the site's user, including the server's own processes for \
        the site (cgroup pids.max; default: no limit)",
    |cmd, args| {
        cmd.server.core.site_limits.tasks = Some(limit(args, tasks)?);
        Ok(())
    },
);

/// `None`: `max`.
fn limit<T>(args: &Args, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    let word = args.first();
    if word.eq_ignore_ascii_case("max") { Ok(None) } else { parse(word).map(Some) }
}

/// `150%`: one processor and a half.
fn percent(word: &str) -> Result<u32, String> {
    let digits =
        word.strip_suffix('%').ok_or_else(|| format!("\"{word}\" is not a percentage such as 150%"))?;
    number(digits, 1..=1_000_000)
}

/// The server's own processes for a site are a few; with less nothing could be started.
fn tasks(word: &str) -> Result<u32, String> {
    number(word, 8..=4_194_304)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_of_one_processor() {
        assert_eq!(percent("150%"), Ok(150));
        for bad in ["150", "0%", "%", "1.5%", "-1%"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
        assert!(tasks("7").is_err() && tasks("8").is_ok());
    }

    #[test]
    fn a_virtual_host_can_lift_a_limit() {
        let main =
            SiteLimits { memory: Some(Some(1 << 30)), tasks: Some(Some(100)), ..SiteLimits::default() };
        let host = SiteLimits { memory: Some(None), ..SiteLimits::default() };
        let merged = main.merge(host);
        assert_eq!((merged.memory, merged.cpu, merged.tasks), (Some(None), None, Some(Some(100))));
    }
}
