//! The reader's interface to the runner of Perl code: only the runner knows processes and users.

use hostler_perl_frames::Preload;
use hostler_perl_frames::configure::SourceFacts;
use hostler_wire::engine::ServerFacts;

/// The runner of sections, where there is one.
pub trait RunPerl {
    /// Runs one section, or what is to be loaded before it. All that is asked with the same [`RunAs`] is run by one
    /// interpreter.
    ///
    /// # Errors
    /// Why it could not be run, as a sentence with the place in the code.
    fn run(&mut self, asked: &PerlRequest<'_>) -> Result<Output, String>;

    /// Reads the text of something that is to be loaded, and of what it loads, without running it. `places` are the
    /// directories of modules. What can't be read shows nothing.
    fn look(&mut self, asked: &PerlRequest<'_>, places: &[String]) -> SourceFacts;
}

/// The words of `User` and `Group`, or of `AssignUserID`; `None` where there was none yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunAs {
    /// A user's name, or `#uid`.
    pub user: Option<String>,
    /// A group's name, or `#gid`.
    pub group: Option<String>,
}

/// The code to run.
#[derive(Clone, Copy, Debug)]
pub struct PerlRequest<'a> {
    /// By whom.
    pub run_as: &'a RunAs,
    /// `ServerRoot`.
    pub server_root: &'a str,
    /// Of mod_perl's API, as far as the configuration so far betrays it: 1 or 2.
    pub generation: u8,
    /// `PerlSwitches` so far.
    pub switches: &'a [String],
    /// The main server's settings so far.
    pub main: &'a ServerFacts,
    /// `PerlSetVar`, `PerlAddVar` of it.
    pub vars: &'a [(String, String)],
    /// What.
    pub preload: &'a Preload,
    /// A section in `<VirtualHost>`: it is not to add to the whole server.
    pub in_host: bool,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Configuration.
    pub text: String,
    /// Perl's warnings.
    pub warnings: String,
    /// Directives that modules have added so far (`Apache2::Module::add`).
    pub declared: String,
}
