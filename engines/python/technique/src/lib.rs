//! Python's part of the table of techniques: its engine, the rows of WSGI and ASGI, and mod_wsgi's directives. Values
//! only: `hostler-python` runs applications, and the front handles their requests.

mod aliases;
pub mod asgi;
mod daemon;
mod directives;
mod forwarded;
pub mod groups;
mod options;
mod parts;
mod refused;
mod scripts;
mod serve;
mod setup;

pub use directives::MODULE;
pub use parts::{
    Alias, CALLABLE, DIR, Daemon, Dir, Guard, HANDLE_REQUEST, HandlerScript, HeadIsGet, Import, Matcher,
    SERVER, Server, Where,
};
pub use setup::server_name;

use hostler_config::directives::pool::Isolation;
use hostler_config::pools;
use hostler_config::technique::{Engine, Groups, Phases, Serve, Technique, Via};
use hostler_python_frames::{self as frames, handler};

/// The module's name in logs.
pub const LOG: &str = "wsgi";

/// The engine: `hostler-python`.
pub static ENGINE: Engine = Engine {
    name: "python",
    program: |_| "python",
    language: "Python",
    title: |_| "Python".to_owned(),
    log: LOG,
    generation: |_| 0,
    stands_alone: |main, own| setup::differs(main, own),
    has_say: |_| false,
    has_say_in_server: |server| !server.part(&SERVER).aliases.is_empty(),
    setup: |config, servers, _, one_shot| pools::setup(config, servers, one_shot, LOG).0,
    groups: Some(&Groups {
        setup: setup::of_group,
        environment: setup::environment,
        sizes: setup::sizes,
        check: groups::check,
        are_configured: false,
    }),
    versions: None,
};

/// WSGI applications, under mod_wsgi's handler.
pub static WSGI: Technique = Technique {
    name: "wsgi",
    is_there: || true,
    handlers: &[handler::RUN, handler::TYPE],
    ways: &[(Isolation::Persistent, Via::Ring(&ENGINE)), (Isolation::Fork, Via::Ring(&ENGINE))],
    refused: &[(
        Isolation::Exec,
        "WSGI applications cannot be started for each request by exec: use Isolation fork, or a CGI script that calls \
         wsgiref.handlers.CGIHandler, with SetHandler cgi-script",
    )],
    phases: Phases::Response,
    modules: &[&MODULE, &refused::MODULE],
    is_other_version: |_| false,
    plain: None,
    is_whole: |_| false,
    applications: None,
    serve: Serve { recognize: serve::application, ..Serve::NOTHING },
    answers: |dir, file| {
        let callable = dir.part(&DIR).callable.as_deref().unwrap_or(parts::CALLABLE);
        format!("the WSGI application {callable} of {file}, in a warm worker")
    },
};

/// ASGI applications, under a handler of ours.
pub static ASGI: Technique = Technique {
    name: "asgi",
    is_there: || true,
    handlers: &[frames::asgi::HANDLER],
    ways: &[(Isolation::Persistent, Via::Listener)],
    refused: &[
        (
            Isolation::Fork,
            "ASGI applications cannot be forked for each request, they serve many at a time in one event loop: leave out \
             Isolation, or serve the application's WSGI side with Isolation fork",
        ),
        (
            Isolation::Exec,
            "ASGI applications cannot be started for each request by exec, they serve many at a time in one event loop: leave \
             out Isolation",
        ),
    ],
    phases: Phases::Response,
    modules: &[&asgi::MODULE],
    is_other_version: |_| false,
    plain: None,
    is_whole: |dir| dir.part(&asgi::DIR).app.is_some(),
    applications: None,
    serve: Serve::NOTHING,
    answers: |dir, _| match &dir.part(&asgi::DIR).app {
        Some(app) => format!("the ASGI application {}, in warm workers of its own", app.said),
        None => "no ASGI application: ASGIApp is missing".to_owned(),
    },
};
