//! Perl's part of the table of techniques: its engine, and the rows of mod_perl's handlers and of PSGI. Values only:
//! `hostler-perl` runs programs, and the front handles their requests.

pub mod psgi;
mod registries;
mod serve;
mod setup;
mod tree;

use hostler_config::directives::perl;
use hostler_config::directives::pool::Isolation;
use hostler_config::technique::{Engine, Phases, Serve, Technique, Via, Way};
use hostler_perl_frames::Phase;

/// The module's name in logs.
pub const LOG: &str = "perl";

/// The engine: `hostler-perl`.
pub static ENGINE: Engine = Engine {
    name: "perl",
    program: |_| "perl",
    language: "Perl",
    title: |server| format!("mod_perl {}", perl::generation(server)),
    log: LOG,
    generation: perl::generation,
    stands_alone: |main, own| {
        let (main, own) = (&main.conf.perl, &own.conf.perl);
        !own.is_same(main) && own.differs_in_interpreter(main)
    },
    has_say: |dir| !dir.perl.handlers.is_empty(),
    has_say_in_server: |server| !server.perl.handlers.is_empty(),
    setup: |config, servers, generation, one_shot| {
        setup::setup(config, servers, generation, one_shot).into_wire()
    },
    groups: None,
    versions: None,
};

/// Both ways are warm.
const WAYS: &[Way] = &[(Isolation::Persistent, Via::Ring(&ENGINE)), (Isolation::Fork, Via::Ring(&ENGINE))];

const REFUSED: &[(Isolation, &str)] = &[(
    Isolation::Exec,
    "handlers in Perl cannot be started for each request by exec: use Isolation fork, or SetHandler cgi-script",
)];

/// mod_perl's handlers.
pub static PERL: Technique = Technique {
    name: "perl",
    is_there: || true,
    handlers: &["perl-script", "modperl"],
    ways: WAYS,
    refused: REFUSED,
    phases: Phases::All,
    modules: &[&perl::MODULE, &perl::LOADING, &perl::TELLING, &perl::CALLING],
    is_other_version: |_| false,
    plain: None,
    is_whole: |_| false,
    applications: None,
    serve: Serve::NOTHING,
    answers: |dir, _| {
        let functions = dir.perl.handlers.of(Phase::Response).join(", ");
        let functions = if functions.is_empty() { "no PerlResponseHandler".to_owned() } else { functions };
        format!("Perl, in a warm worker: {functions}")
    },
};

/// PSGI applications.
pub static PSGI: Technique = Technique {
    name: "psgi",
    is_there: || true,
    handlers: &["psgi"],
    ways: WAYS,
    refused: REFUSED,
    phases: Phases::Response,
    modules: &[&psgi::MODULE],
    is_other_version: |_| false,
    plain: None,
    is_whole: |dir| dir.part(&psgi::DIR).app.is_some(),
    applications: None,
    serve: Serve { lines: "AddHandler psgi .psgi\n", recognize: serve::application },
    answers: |dir, file| {
        let app = dir.part(&psgi::DIR).app.as_deref().unwrap_or(file);
        format!("the PSGI application {app}, in a warm worker")
    },
};

#[cfg(test)]
mod tests;
