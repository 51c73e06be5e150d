//! Resource limits of this process (`getrlimit`, `setrlimit`).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// The limits that the server and its directives know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Seconds of processor time (`RLimitCPU`).
    Cpu,
    /// Bytes of address space (`RLimitMEM`).
    Memory,
    /// Processes of the user (`RLimitNPROC`).
    Processes,
    /// Open descriptors.
    Descriptors,
    /// Bytes of a core dump.
    Core,
}

impl Limit {
    pub(crate) fn resource(self) -> Resource {
        match self {
            Self::Cpu => Resource::Cpu,
            Self::Memory => Resource::As,
            Self::Processes => Resource::Nproc,
            Self::Descriptors => Resource::Nofile,
            Self::Core => Resource::Core,
        }
    }
}

/// A limit's two values; `None`: unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The current limit; the process may raise it up to `hard`.
    pub soft: Option<u64>,
    /// The most that `soft` may become.
    pub hard: Option<u64>,
}

impl From<Bounds> for Rlimit {
    fn from(bounds: Bounds) -> Self {
        Self { current: bounds.soft, maximum: bounds.hard }
    }
}

/// The limit as it stands for this process.
#[must_use]
pub fn current(limit: Limit) -> Bounds {
    let Rlimit { current, maximum } = getrlimit(limit.resource());
    Bounds { soft: current, hard: maximum }
}

/// Sets the limit for this process.
///
/// # Errors
/// EPERM when the hard limit would be raised, EINVAL when soft is over hard.
pub fn set(limit: Limit, bounds: Bounds) -> io::Result<()> {
    Ok(setrlimit(limit.resource(), bounds.into())?)
}

/// Raises the soft limit of open descriptors to the hard one and returns what stood before.
///
/// # Errors
/// The kernel's.
pub fn raise_descriptors() -> io::Result<Bounds> {
    let before = current(Limit::Descriptors);
    set(Limit::Descriptors, Bounds { soft: before.hard, hard: before.hard })?;
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_go_up_to_the_hard_limit() {
        let before = raise_descriptors().unwrap();
        assert_eq!(current(Limit::Descriptors), Bounds { soft: before.hard, hard: before.hard });
        set(Limit::Descriptors, before).unwrap();
        assert!(set(Limit::Descriptors, Bounds { soft: Some(9), hard: Some(8) }).is_err());
    }
}
