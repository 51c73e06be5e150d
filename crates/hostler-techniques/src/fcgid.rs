//! FastCGI programs that the server starts. Their directives are mod_fcgid's, and stand beside those of Apache's other
//! modules.

use hostler_config::directives::fcgid;
use hostler_config::directives::pool::Isolation;
use hostler_config::technique::{Phases, Serve, Technique, Via};

/// FastCGI programs.
pub static FCGID: Technique = Technique {
    name: "fcgid",
    is_there: || true,
    handlers: fcgid::HANDLERS,
    ways: &[(Isolation::Persistent, Via::Listener)],
    refused: &[
        (
            Isolation::Fork,
            "the handler fcgid-script cannot be forked for each request, a FastCGI program starts by itself: use \
             FcgidMaxRequestsPerProcess 1 for a process for each request",
        ),
        (
            Isolation::Exec,
            "the handler fcgid-script cannot be started for each request: use FcgidMaxRequestsPerProcess 1, or the handler \
             cgi-script for a CGI program",
        ),
    ],
    phases: Phases::Response,
    modules: &[],
    is_other_version: |_| false,
    plain: None,
    is_whole: |_| false,
    applications: None,
    serve: Serve::NOTHING,
    answers: |dir, file| match dir.fcgid.wrapper(file.as_bytes()) {
        Some(wrapper) => {
            format!("{file}, run by the FastCGI program {} (FcgidWrapper)", wrapper.command.join(" "))
        }
        None => format!("the FastCGI program {file}"),
    },
};
