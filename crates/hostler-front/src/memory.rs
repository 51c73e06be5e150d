//! Answers that are known before a request has gone its way.

pub(crate) mod fast;
