//! Arguments of `hostler lab run`.

use super::{PageChoice, take};
use crate::command::{Measure, measured};
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `hostler lab run`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct OwnSite {
    /// The configuration file. It is only read: the servers under test run on copies of it, on free ports.
    #[arg(short = 'f', value_name = "FILE")]
    file: PathBuf,
    /// The page: a path of the main server, or a URL of a virtual host (http:// or https://).
    #[arg(long, value_name = "URL")]
    url: String,
    /// Define a name, or a variable, for IfDefine and ${NAME}.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    defines: Vec<String>,
    /// Number of concurrent clients [default: 15].
    #[arg(long, value_name = "NUMBER")]
    clients: Option<u32>,
    #[command(flatten)]
    measure: Measure,
}

const EXAMPLES: &str = "\
Examples:
  hostler lab run -f httpd.conf --url /cgi-bin/test.pl --quick
  hostler lab run -f httpd.conf --url http://www.example.org/index.shtml --clients 50
  hostler lab run -f httpd.conf --url /perl/page.pl --contestants hostler-registry,hostler-cgi-fork

The ways in which the page can be served are the contestants. Their answers must agree.";

/// Runs `hostler lab run`.
///
/// # Errors
/// As [`take`], and what cannot be written.
pub fn own_site(args: &OwnSite) -> Result<ExitCode> {
    let wanted = PageChoice {
        file: args.file.clone(),
        defines: args.defines.clone(),
        url: args.url.clone(),
        clients: args.clients,
    };
    let out = args.measure.out.as_deref();
    measured("own", out, args.measure.options(), |options, events| take(&wanted, options, events))
}
