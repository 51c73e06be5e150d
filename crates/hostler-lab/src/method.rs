//! The method: rounds of all contestants in turn, answers compared before, statistics after.

pub mod statistics;
