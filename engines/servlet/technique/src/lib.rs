//! The servlets' part of the table of techniques: their row and their directive. Values only: `hostler-servlet` is the
//! virtual machine, and the front handles requests for its applications.

mod directives;
mod java;
mod parts;
mod serve;

pub use directives::MODULE;
pub use parts::{App, SERVER, Server, is_private};

use hostler_config::directives::pool::Isolation;
use hostler_config::technique::{Applications, Phases, Serve, Technique, Via};

/// The program, without the `hostler-` before it.
pub const PROGRAM: &str = "servlet";

/// The handler that answers for applications. No configuration names it: `ServletApp` does.
pub const HANDLER: &str = "servlet";

/// Why servlets can't be isolated from each other by processes.
const WHY_NOT: &str = "servlets run in threads of one Java virtual machine, which cannot fork and takes seconds to start: \
                           only Isolation persistent is supported (ServletApp)";

/// Servlets and JSP, which `ServletApp` maps to paths.
pub static SERVLET: Technique = Technique {
    name: "servlet",
    is_there: || true,
    handlers: &[],
    ways: &[(Isolation::Persistent, Via::Listener)],
    refused: &[(Isolation::Fork, WHY_NOT), (Isolation::Exec, WHY_NOT)],
    phases: Phases::Response,
    modules: &[&MODULE],
    is_other_version: |_| false,
    plain: None,
    is_whole: |_| false,
    applications: Some(&APPLICATIONS),
    serve: Serve { recognize: serve::application, ..Serve::NOTHING },
    answers: |_, file| format!("servlets: {file}"),
};

static APPLICATIONS: Applications = Applications {
    are_there: |server| !server.part(&SERVER).apps.is_empty(),
    find: |server, path| {
        let app = server.part(&SERVER).find(path)?;
        Some(format!("the application {}, in the site's Tomcat (ServletApp)", app.path))
    },
    take_away: |server| *server.part_mut(&SERVER) = Server::default(),
    examine: java::examine,
};
