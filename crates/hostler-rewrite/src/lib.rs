//! mod_rewrite's engine: rules, conditions, substitutions, flags and maps, in a server and in a directory.
//!
//! The crate does no I/O. Directives' arguments are read once into [`Rule`]s, which a [`Context`] holds; a
//! [`Rewriting`] carries them out on a request, which is a [`Host`]. Where the host would have to wait (a file, a
//! sub-request, a map), rewriting stops with a [`Need`]; whoever drives it fetches the answer and calls again, and the
//! rule that asked is evaluated from its beginning. A rule changes nothing before it is known to apply.
//!
//! Rules are a tenant's. Patterns are matched within `hostler_regex`'s effort, texts have a longest length, `N` has a
//! most number of rounds, and a rule that can't be carried out is a 500, because it may guard something.
//!
//! Reference: docs/manual/mod/mod_rewrite.html and docs/manual/rewrite of release 2.4; where those are silent, what a
//! running Apache answers (`conformance/cases/rewrite*.toml`).

mod condition;
mod context;
mod cookie;
mod evaluate;
mod expand;
mod finish;
mod flags;
mod host;
mod index;
mod line;
mod map;
mod rule;
mod run;
mod template;
mod uri;
mod variable;

#[cfg(test)]
mod tests;

pub use condition::Condition;
pub use context::{Context, Options, check_base};
pub use expand::Maps;
pub use finish::{Fixup, Rewriting, Translation};
pub use host::{Explanation, Host, LookupResult, Need};
pub use hostler_expr::Place;
pub use map::{FileMap, Function, Source, part};
pub use rule::{Rule, Rules};
pub use template::Template;
pub use uri::escape;
pub use variable::{Ahead, Variable};
