//! The front's parsers, included from its source: it is a program, so nothing can depend on it. Each of these
//! files stands alone but for the others here.

// The front uses all of it.
#![allow(dead_code, unreachable_pub)]

pub(crate) mod http1;

#[path = "../../crates/hostler-front/src/byte_range.rs"]
pub(crate) mod byte_range;
#[path = "../../crates/hostler-front/src/uri.rs"]
pub(crate) mod uri;
#[path = "../../crates/hostler-front/src/vhost.rs"]
pub(crate) mod vhost;
