//! CGI. Its directives are Apache's, and stand beside those of Apache's other modules; only forks of a warm parent need
//! an engine, and scripts in Perl are those that can be forked.

use hostler_config::directives::pool::Isolation;
use hostler_config::technique::{Phases, Serve, Technique, Via};
use hostler_perl_technique::ENGINE;

/// CGI programs.
pub static CGI: Technique = Technique {
    name: "cgi",
    is_there: || true,
    handlers: &["cgi-script", "application/x-httpd-cgi"],
    ways: &[(Isolation::Exec, Via::Program), (Isolation::Fork, Via::Ring(&ENGINE))],
    refused: &[(
        Isolation::Persistent,
        "the handler cgi-script cannot be persistent, a CGI script ends after one request: use Isolation fork, or \
         SetHandler perl-script with PerlResponseHandler ModPerl::Registry",
    )],
    phases: Phases::Response,
    modules: &[],
    is_other_version: |_| false,
    plain: None,
    is_whole: |_| false,
    applications: None,
    serve: Serve { lines: "AddHandler cgi-script .cgi .pl\n", ..Serve::NOTHING },
    answers: |dir, _| match CGI.isolation(dir) {
        Isolation::Fork => {
            "a CGI program in Perl, forked from a warm parent for each request (Isolation fork)".to_owned()
        }
        _ => "a CGI program, started for each request".to_owned(),
    },
};
