//! A server process's own hardening at its start: the part of its confinement that an `execve` undoes, so that its
//! parent could not do it.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::ffi::CStr;
use std::io;

use crate::limits::{Bounds, Limit, set};

/// No core dumps, and no other process of the same user may trace this one or read its memory and descriptors.
/// `name` (up to 15 bytes) is what `ps -e`, `top` and `pkill` call the process.
///
/// To be called first thing in `main`.
///
/// # Errors
/// The kernel's; the caller should then end.
pub fn settle(name: &CStr) -> io::Result<()> {
    rustix::thread::set_name(name)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set(Limit::Core, Bounds { soft: Some(0), hard: Some(0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::dumpable_behavior;

    #[test]
    fn nobody_may_look_into_a_settled_process() {
        settle(c"settled").unwrap();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        assert_eq!(crate::limits::current(Limit::Core).hard, Some(0));
    }
}
