//! What the planner and the process that runs Perl code for it while the configuration is read (`hostler-perl configure`) say to each other:
//! frames ([`crate::frame`]) without descriptors, one answer for each question.
//!
//! The process runs code that others than root may have written. The planner believes nothing of what it says, but
//! takes it for text of a configuration in which only some directives may stand.

use crate::build::Build;
use crate::engine::{Preload, ServerFacts};
use serde::{Deserialize, Serialize};

/// Longest answer that the planner takes, in bytes.
pub const LONGEST_ANSWER: usize = 1 << 20;

/// From the planner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToConfigure {
    /// Reads something that is to be loaded, without running it: whether its text shows that it builds configuration.
    /// Answered by [`FromConfigure::Saw`]. No interpreter is needed for it.
    Look {
        /// What.
        preload: Preload,
        /// `ServerRoot`.
        server_root: String,
        /// Directories in which modules are looked for.
        places: Vec<String>,
    },
    /// Before anything is run: what the interpreter is made with. Answered by [`FromConfigure::Hello`].
    Begin {
        /// Of mod_perl's API: 1 or 2.
        generation: u8,
        /// `ServerRoot`.
        server_root: String,
        /// Arguments of the interpreter (`PerlSwitches`).
        switches: Vec<String>,
        /// The main server, as far as the configuration has said it.
        main: Box<ServerFacts>,
    },
    /// Runs one thing: a section's code, or what is to be loaded before it.
    Run {
        /// It.
        preload: Preload,
        /// What is meant for the whole server is refused.
        in_host: bool,
    },
}

/// What the text of something that is to be loaded shows, with that of the tenant's own modules that it loads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// It calls `add_config` or `httpd_conf`.
    pub adds: bool,
    /// It sets variables of `Apache2::ReadConfig`, which count at the end of the next section.
    pub fills: bool,
    /// It names classes of mod_perl 1.
    pub first: bool,
    /// It names classes of mod_perl 2.
    pub second: bool,
    /// Directories in which modules are looked for from now on (`use lib`).
    pub places: Vec<String>,
}

/// From the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromConfigure {
    /// What the text shows.
    Saw(Shown),
    /// The interpreter is ready.
    Hello(Build),
    /// It was run.
    Done {
        /// The configuration that it has built.
        text: String,
        /// What it warned of.
        warnings: String,
        /// Directives that modules have added so far: a line for each with the module, the name, `args_how`,
        /// `req_override` and `errmsg`, tabulators between them.
        declared: String,
    },
    /// It could not be run.
    Failed {
        /// Perl's words, with the place.
        why: String,
    },
}
