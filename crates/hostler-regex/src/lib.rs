//! PCRE2 as a library without surprises: a match can be interrupted, so that no pattern of a tenant's holds a thread.
//!
//! PCRE2's own limits count steps, and one step may look at the whole subject: with 100,000 of them a pattern of twenty
//! characters takes minutes. So every program is compiled with callouts, and at these a match asks [`effort`] whether
//! it may go on. They cost some nanoseconds each.
//!
//! No syntax of Apache's and no words of its directives: those are `hostler-expr`'s. Decision:
//! `docs/decisions/0027-a-budget-for-a-sites-rules.md`.

pub mod effort;
mod matcher;
mod program;

pub use program::{Failure, Flags, Program};
