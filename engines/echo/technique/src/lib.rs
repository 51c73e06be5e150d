//! The tests' engine in the table of techniques: its row and its engine. Hostler knows nothing else of it.
//!
//! A technique with directives of its own has a `Slot` beside them, as `engines/python/technique`.

use hostler_config::directives::pool::Isolation;
use hostler_config::pools;
use hostler_config::technique::{Engine, Phases, Plain, Serve, Technique, Via};

/// The module's name in logs.
const LOG: &str = "echo";

/// The engine: `hostler-echo`.
pub static ENGINE: Engine = Engine {
    name: "echo",
    program: |_| "echo",
    language: "Echo",
    title: |_| "the tests' echo".to_owned(),
    log: LOG,
    generation: |_| 0,
    stands_alone: |_, _| false,
    has_say: |_| false,
    has_say_in_server: |_| false,
    setup: |config, servers, _, one_shot| pools::setup(config, servers, one_shot, LOG).0,
    groups: None,
    versions: None,
};

/// It answers with what it was asked.
pub static ECHO: Technique = Technique {
    name: "echo",
    is_there: || true,
    handlers: &["echo"],
    ways: &[(Isolation::Persistent, Via::Ring(&ENGINE)), (Isolation::Fork, Via::Ring(&ENGINE))],
    refused: &[(
        Isolation::Exec,
        "the tests' echo is not a program of a site: use Isolation persistent or fork",
    )],
    phases: Phases::Response,
    modules: &[],
    is_other_version: |_| false,
    plain: Some(Plain { directory: |_| b"said: ".to_vec(), runs_to_end: false }),
    is_whole: |_| false,
    applications: None,
    serve: Serve::NOTHING,
    answers: |_, file| format!("the tests' echo, in a warm worker: {file}"),
};
