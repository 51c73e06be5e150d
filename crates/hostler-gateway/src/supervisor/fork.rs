//! Workers that are forked from a warm parent, which has loaded what they need.

pub(crate) mod deaths;
pub(crate) mod farewell;
pub(crate) mod lines;
pub(crate) mod outlets;
pub(crate) mod parent;

pub use parent::{Host, Started};
