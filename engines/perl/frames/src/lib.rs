//! The messages between the Perl engine and its technique in the front beyond [`hostler_wire`], where they travel as
//! bytes: the code a pool loads, mod_perl's part of a directory's configuration and of a request's head, its phases,
//! and the questions of programs with their answers. And the messages between the planner and `hostler-perl configure`.
//!
//! This crate moves no bytes; it only says what they mean. What comes from the engine is a tenant's, and is checked here.

pub mod configure;
mod directory;
mod phase;
mod reply;
mod request;
mod setup;

pub use directory::{Directory, directory_flag};
pub use phase::{Phase, PhaseSet};
pub use reply::{Changes, FromPerl};
pub use request::{Nested, RequestHead, Role, ToPerl};
pub use setup::{Preload, PreloadKind, Setup};
