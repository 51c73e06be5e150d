//! The system calls that Hostler's processes are made of, each behind a safe function.
//!
//! This is the one server crate with `unsafe` code. It knows no protocol and no configuration.

pub mod cgroup;
mod child;
pub mod counters;
pub mod exec;
pub mod fdpass;
pub mod fs;
pub mod harden;
pub mod limits;
pub mod memfd;
pub mod memory;
pub mod names;
pub mod notify;
pub mod pipe;
pub mod poll;
pub mod private;
pub mod process;
pub mod shared;
pub mod signal;
pub mod socket;
pub mod stat;
pub mod time;
pub mod trusted;
pub mod users;
