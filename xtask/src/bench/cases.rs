//! What is asked of the contestants.

use crate::bench::contestant::Kind;
use crate::bench::perl;

/// One kind of request, and who answers it.
pub(crate) struct Case {
    /// Short name, for `--only`.
    pub(crate) name: &'static str,
    /// One line for the report.
    pub(crate) description: &'static str,
    /// The path of the request.
    pub(crate) path: &'static str,
    /// Connections at the same time.
    pub(crate) connections: u32,
    /// Whether connections are used again.
    pub(crate) keep_alive: bool,
    /// `Host`, if not `localhost`.
    pub(crate) host: Option<&'static str>,
    pub(crate) contestants: &'static [Kind],
}

const EVERYBODY: &[Kind] = &[Kind::Hostler, Kind::Nginx, Kind::ApacheEvent, Kind::ApachePrefork];
const NOT_NGINX: &[Kind] = &[Kind::Hostler, Kind::ApacheEvent, Kind::ApachePrefork];

/// All cases that are measured with a load generator, in the order of the report.
pub(crate) fn all() -> Vec<Case> {
    let usual = Case {
        name: "",
        description: "",
        path: "/small.html",
        connections: 15,
        keep_alive: true,
        host: None,
        contestants: EVERYBODY,
    };
    let mut cases = vec![
        Case { name: "static-15", description: "4 KB file, keep-alive, 15 connections", ..usual },
        Case {
            name: "static-64",
            description: "4 KB file, keep-alive, 64 connections",
            connections: 64,
            ..usual
        },
        Case {
            name: "large",
            description: "10 MB file, keep-alive, 15 connections",
            path: "/large.bin",
            ..usual
        },
        Case {
            name: "ssi",
            description: "SSI page of 20 × (set, echo, echo date, include virtual, if), keep-alive, 15 connections",
            path: "/page.shtml",
            ..usual
        },
        Case {
            name: "ssi-close",
            description: "the same SSI page, a connection for each request, 15 at a time",
            path: "/page.shtml",
            keep_alive: false,
            ..usual
        },
        Case {
            name: "cgi",
            description: "CGI, a hello in C, keep-alive, 15 connections",
            path: "/cgi-bin/hello",
            contestants: NOT_NGINX,
            ..usual
        },
    ];
    cases.extend(perl::cases(&usual));
    cases
}
