//! The command line. Its texts are also the man pages (`hostler docs`).

use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A web server configured in Apache's language, each site under its own user.
#[derive(Debug, Parser)]
#[command(name = "hostler", version = VERSION, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A debug build is marked: its measurements mean nothing.
pub(crate) const VERSION: &str = if cfg!(debug_assertions) {
    concat!(env!("CARGO_PKG_VERSION"), " (debug build)")
} else {
    env!("CARGO_PKG_VERSION")
};

const BACKEND_EXAMPLES: &str = "\
Examples:
  hostler backend list -f /etc/hostler/httpd.conf
  hostler backend drain app http://10.0.0.2:8080 -f /etc/hostler/httpd.conf
  hostler backend enable app -f /etc/hostler/httpd.conf";

const EXAMPLES: &str = "\
Examples:
  hostler serve ~/public_html                     serve a directory on http://127.0.0.1:8080/
  hostler check -f /etc/apache2/apache2.conf      check an Apache configuration
  hostler run -f /etc/hostler/httpd.conf          serve a configuration in the foreground
  hostler explain -f httpd.conf https://www.example.org/cgi-bin/test.pl
  hostler reload -f /etc/hostler/httpd.conf       load a changed configuration
  hostler lab registry --quick                    measure Registry scripts and handlers, in Apache and in Hostler";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a directory or an application without a configuration.
    ///
    /// In a directory, pages, .shtml, .cgi, .pl, .psgi and .php files just work. An application is a PSGI, WSGI or ASGI program, or
    /// an archive of servlets (.war).
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Serve a configuration in the foreground, until SIGTERM.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Check a configuration: print errors as file:line with the accepted form.
    ///
    /// When migrating from Apache: also lists the unsupported directives, most used first, each with a replacement.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// List the virtual hosts with their addresses, users and document roots, and the pools of warm workers.
    #[command(after_help = SITES_EXAMPLES)]
    Sites(Run),
    /// Show which configuration lines apply to a URL.
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Check the configuration, then load it into the running server; no request fails.
    #[command(after_help = RELOAD_EXAMPLES)]
    Reload(Reload),
    /// Stop the running server.
    #[command(after_help = STOP_EXAMPLES)]
    Stop(Stop),
    /// Show whether the server is running, with statistics of fronts, sites and worker pools.
    #[command(after_help = STATUS_EXAMPLES)]
    Status(Status),
    /// List the members of balancers or change their state; changes survive reloads.
    ///
    /// drain and disable take a member out, enable brings it back, reset restores the configured state.
    #[command(after_help = BACKEND_EXAMPLES)]
    Backend(Backend),
    /// Measure servers and techniques of dynamic content on this machine, side by side.
    Lab(hostler_lab::command::LabArgs),
    /// Write the plan of a configuration for hostler-master to descriptor 3.
    #[command(hide = true)]
    Plan(Plan),
    /// Open logs again for hostler-master that were moved away.
    #[command(hide = true)]
    ReopenLogs,
    /// Open files for the planner as the user of a site, for requests on descriptor 3.
    #[command(hide = true)]
    OpenAs,
    /// Keep a piped log's program running as the front's user, with the log's lines on descriptor 0.
    #[command(hide = true)]
    PipedLog {
        /// As in the configuration: `|program arguments`.
        target: String,
    },
    /// Write man pages, shell completions and the directive reference.
    #[command(hide = true)]
    Docs(Docs),
}

const SERVE_EXAMPLES: &str = "\
Examples:
  hostler serve                          this directory on http://127.0.0.1:8080/
  hostler serve site --listen 0.0.0.0:80
  hostler serve app.psgi                 a PSGI application, for all URLs
  hostler serve shop.web:app             a Python application: a module and the name in it
  hostler serve shop.war                 an archive of servlets

Programs (.cgi, .pl) must be executable (chmod +x) and run as you. Started by root, everything runs as the \
directory's owner.";

const CHECK_EXAMPLES: &str = "\
Examples:
  hostler check -f /etc/apache2/apache2.conf
  hostler check --htaccess /home/joe/public_html                  the .htaccess files of an account, read as its user
  hostler check -f httpd.conf --htaccess /home/joe/public_html    both";

const RUN_EXAMPLES: &str = "\
Examples:
  hostler run -f httpd.conf
  hostler run -f httpd.conf -D SSL -D PORT=8080 -c 'LogLevel debug'
  hostler run -f httpd.conf --single-user     accept that all sites run as one user

Signals: TERM stops, HUP and USR1 reload, WINCH stops once all connections have finished.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  hostler explain -f httpd.conf /cgi-bin/test.pl/info
  hostler explain -f httpd.conf http://www.example.org:8080/~joe/index.shtml";

const SITES_EXAMPLES: &str = "\
Examples:
  hostler sites -f httpd.conf
  hostler sites -f /etc/apache2/apache2.conf      which user would each Apache site run as?";

const RELOAD_EXAMPLES: &str = "\
Examples:
  hostler reload -f httpd.conf                load the file; if it has errors, the old configuration stays in place
  hostler reload -f httpd.conf --wait 120     for sites that take long to load

Exit status: 0 the new configuration serves, 1 the old one still does (the reason is printed).";

const STOP_EXAMPLES: &str = "\
Examples:
  hostler stop -f httpd.conf               stop now
  hostler stop -f httpd.conf               stop once all requests have finished";

const STATUS_EXAMPLES: &str = "\
Examples:
  hostler status -f httpd.conf
  hostler status -f httpd.conf --watch 2     every two seconds, with the rates since the last time
  hostler status -f httpd.conf --json        for programs

A pool's picture shows busy workers (#), idle workers (-) and room for more (.). Percentiles (P99) are upper bounds \
of histogram buckets. Only root and the user who started the server can read the statistics.

Exit status: 0 running, 3 not running, 1 unknown.";

/// The configuration of an installed server.
const STANDARD: &str = "/etc/hostler/httpd.conf";

/// The configuration, with the options of Apache's httpd.
#[derive(Args, Clone, Debug)]
pub(crate) struct Configuration {
    /// The configuration file.
    #[arg(short = 'f', value_name = "FILE", default_value = STANDARD)]
    pub(crate) file: PathBuf,
    /// ServerRoot, until the directive changes it [default: the file's directory].
    #[arg(short = 'd', value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Define a name or a variable for IfDefine and ${NAME}.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(crate) defines: Vec<String>,
    /// A directive to read before the file.
    #[arg(short = 'C', value_name = "DIRECTIVE")]
    pub(crate) before: Vec<String>,
    /// A directive to read after the file.
    #[arg(short = 'c', value_name = "DIRECTIVE")]
    pub(crate) after: Vec<String>,
}

/// Arguments of `run`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// Run all sites as one user and ignore AssignUserID.
    #[arg(long)]
    pub(crate) single_user: bool,
}

/// Arguments of `check`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Check {
    /// The configuration file [default: /etc/hostler/httpd.conf, unless only --htaccess is given].
    #[arg(short = 'f', value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Check all .htaccess files below a directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) htaccess: Option<PathBuf>,
    /// ServerRoot, until the directive changes it [default: the file's directory].
    #[arg(short = 'd', value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Define a name or a variable for IfDefine and ${NAME}.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(crate) defines: Vec<String>,
    /// A directive to read before the file.
    #[arg(short = 'C', value_name = "DIRECTIVE")]
    pub(crate) before: Vec<String>,
    /// A directive to read after the file.
    #[arg(short = 'c', value_name = "DIRECTIVE")]
    pub(crate) after: Vec<String>,
    /// Run all sites as one user and ignore AssignUserID.
    #[arg(long)]
    pub(crate) single_user: bool,
}

impl Check {
    /// The configuration to check, if one is given.
    pub(crate) fn configuration(&self) -> Option<Run> {
        let options = [&self.defines, &self.before, &self.after].iter().any(|words| !words.is_empty());
        let only_htaccess = self.htaccess.is_some() && self.root.is_none() && !options && !self.single_user;
        let standard = || (!only_htaccess).then(|| PathBuf::from(STANDARD));
        let configuration = Configuration {
            file: self.file.clone().or_else(standard)?,
            root: self.root.clone(),
            defines: self.defines.clone(),
            before: self.before.clone(),
            after: self.after.clone(),
        };
        Some(Run { configuration, single_user: self.single_user })
    }
}

/// Arguments of `serve`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Serve {
    /// The directory to serve, or the application: file.psgi, file.py, module:name (Python), file.war.
    #[arg(value_name = "DIR|APP", default_value = ".")]
    pub(crate) directory: PathBuf,
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
}

/// Arguments of `explain`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// An absolute URL, or a path on the main server.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
}

/// Arguments of `reload`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reload {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// Seconds to wait until the new generation serves.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) wait: u64,
}

/// Arguments of `stop`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Stop {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// Stop at once: cut off the requests that are being served.
    #[arg(long, conflicts_with = "graceful")]
    pub(crate) now: bool,
    /// Accept no new connections, and exit when all requests are done or GracefulShutdownTimeout is over (the default).
    #[arg(long)]
    pub(crate) graceful: bool,
    /// Seconds to wait until the server has exited; 0: do not wait. [default: as long as it takes; with --now: 15]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) wait: Option<u64>,
}

/// Arguments of `status`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print again every SECONDS, until the server exits.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) watch: Option<u32>,
}

/// Arguments of `backend`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Backend {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// The action.
    #[arg(value_enum)]
    pub(crate) change: BackendChange,
    /// The balancer's name, without balancer://.
    #[arg(value_name = "BALANCER")]
    pub(crate) balancer: Option<String>,
    /// The member's URL or route [default: all members of the balancer].
    #[arg(value_name = "MEMBER")]
    pub(crate) member: Option<String>,
}

/// The actions of `backend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BackendChange {
    /// List the members.
    List,
    /// Send it only requests of its own sessions.
    Drain,
    /// Send it no requests.
    Disable,
    /// Send it requests again.
    Enable,
    /// Restore the configured state.
    Reset,
}

/// Arguments of the planner: those of `run` or of `serve`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Plan {
    #[command(subcommand)]
    pub(crate) of: PlanOf,
}

/// The planner's input.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PlanOf {
    /// A configuration.
    Run(Run),
    /// A directory.
    Serve(Serve),
}

/// Arguments of `docs`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Docs {
    /// The target folder: man/*.1, completions/*, directives.md.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn directives_may_begin_with_a_dash_or_contain_spaces() {
        let words = ["hostler", "run", "-f", "x", "-D", "SSL", "-DPORT=8080", "-c", "LogLevel debug"];
        let Command::Run(run) = Cli::try_parse_from(words).unwrap().command else { panic!("not run") };
        assert_eq!(run.configuration.defines, ["SSL", "PORT=8080"]);
        assert_eq!(run.configuration.after, ["LogLevel debug"]);
    }

    #[test]
    fn the_installed_configuration_is_the_default() {
        let parsed = |words: &[&str]| Cli::try_parse_from(words).unwrap().command;
        let Command::Reload(reload) = parsed(&["hostler", "reload"]) else { panic!("not reload") };
        assert_eq!(reload.configuration.file, PathBuf::from(STANDARD));
        let checked = |words: &[&str]| {
            let Command::Check(check) = parsed(words) else { panic!("not check") };
            check.configuration().map(|run| run.configuration.file)
        };
        assert_eq!(checked(&["hostler", "check"]), Some(PathBuf::from(STANDARD)));
        assert_eq!(checked(&["hostler", "check", "-D", "X"]), Some(PathBuf::from(STANDARD)));
        assert_eq!(checked(&["hostler", "check", "-f", "x"]), Some(PathBuf::from("x")));
        assert_eq!(checked(&["hostler", "check", "--htaccess", "x"]), None);
    }
}
