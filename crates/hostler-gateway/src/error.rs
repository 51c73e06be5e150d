//! The errors between a request and its program: their origin, their status, and one sentence for the error log.

use hostler_cgi::HeaderError;
use hostler_wire::site::{ConnectError, RunError};
use std::error::Error as StdError;
use std::fmt;

/// The party at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The client's.
    Client,
    /// The program's, or of whoever installed it.
    Script,
    /// The site's process, or what it runs in.
    Worker,
    /// Our own process, or the machine.
    Front,
    /// The server's configuration.
    Config,
}

/// The severity of an error for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Clients do such things.
    Info,
    /// Worth a look when it happens often.
    Warn,
    /// A client got no proper response, and it is not the client's fault.
    Error,
}

/// The kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The client closed the connection before its request was complete.
    ClientGone,
    /// The client sent nothing for too long.
    ClientTimeout,
    /// The request body can't be understood.
    ClientMalformed,
    /// The request body is over the limit.
    ClientTooLarge,
    /// There is no such program.
    NotFound,
    /// The program may not or can't be executed.
    NotRunnable,
    /// No process could be made for it.
    NoProcess,
    /// The site's process can't be started.
    WorkerNotStarted,
    /// The site's process ended while the program was being started.
    SiteGone,
    /// The site's process ended while the program ran, which ends with it.
    SiteLost,
    /// The program ended, or closed its output, without a header.
    NoHeader,
    /// The program's output does not begin with a header.
    BadHeader,
    /// A signal ended the program.
    Killed,
    /// The program neither read nor wrote anything for too long.
    Timeout,
    /// A system call of ours failed.
    System,
    /// As many requests as may wait for a worker do.
    QueueFull,
    /// The request has waited for a worker for too long.
    QueueTimeout,
    /// The request has waited for too long for a worker that can't be made.
    WorkerNotMade,
    /// The engine's parent process can't be started.
    EngineFailed,
    /// Two of the server's programs are not of one build.
    OtherBuild,
    /// The engine can't load what the configuration says.
    EngineNotLoaded,
    /// The worker ended while it served the request.
    WorkerDied,
    /// The worker neither read nor wrote anything for too long, and was killed.
    WorkerTimeout,
    /// The worker broke the protocol; it was killed.
    WorkerViolation,
    /// There is no connection to the program that answers.
    NotConnected,
    /// The host name of the program that answers has no address.
    NameNotResolved,
    /// The program that answers has closed the connection before its answer was complete.
    ConnectionClosed,
    /// The program's output violates its protocol.
    ProtocolViolation,
    /// The program that answers has said that it failed.
    ProgramFailed,
    /// The server stops before the program has answered.
    Stopping,
}

/// A row of the table of errors.
struct Facts {
    origin: Origin,
    /// HTTP status while nothing has been answered yet.
    status: u16,
    severity: Severity,
    /// True if the request may be sent once more: nothing has been done for it yet.
    retry: bool,
    cause: &'static str,
}

impl Kind {
    /// The table.
    #[rustfmt::skip]
    const fn facts(self) -> Facts {
        use Origin::{Client, Config, Front, Script, Worker};
        use Severity::{Error, Info};
        const fn row(origin: Origin, status: u16, severity: Severity, retry: bool, cause: &'static str) -> Facts {
            Facts { origin, status, severity, retry, cause }
        }
        match self {
            Self::ClientGone =>       row(Client, 400, Info,  false, "the client closed the connection before its request was complete"),
            Self::ClientTimeout =>    row(Client, 408, Info,  false, "the client sent nothing of its request body for too long"),
            Self::ClientMalformed =>  row(Client, 400, Info,  false, "the request body is malformed"),
            Self::ClientTooLarge =>   row(Client, 413, Info,  false, "the request body is larger than LimitRequestBody"),
            Self::NotFound =>         row(Script, 404, Error, false, "the program was not found"),
            Self::NotRunnable =>      row(Script, 500, Error, false, "the program can't be run"),
            Self::NoProcess =>        row(Worker, 503, Error, true,  "no process could be made for the program"),
            Self::WorkerNotStarted => row(Worker, 503, Error, true,  "the site's process can't be started"),
            Self::SiteGone =>       row(Worker, 503, Error, false, "the site's process ended while it started the program"),
            Self::SiteLost =>       row(Worker, 503, Error, false, "the site's process ended while the program ran, and the program with it"),
            Self::NoHeader =>         row(Script, 500, Error, false, "End of script output before headers"),
            Self::BadHeader =>        row(Script, 500, Error, false, "the program's answer has no proper header"),
            Self::Killed =>           row(Script, 500, Error, false, "the program was killed"),
            Self::Timeout =>          row(Script, 504, Error, false, "the program neither read nor wrote anything for too long"),
            Self::System =>           row(Front,  503, Error, false, "a system call failed"),
            Self::QueueFull =>        row(Worker, 503, Error, true,  "all workers are busy and the queue is full"),
            Self::QueueTimeout =>     row(Worker, 503, Error, true,  "all workers were busy for too long"),
            Self::WorkerNotMade =>    row(Worker, 503, Error, true,  "no further worker can be made"),
            Self::EngineFailed =>     row(Worker, 503, Error, true,  "the engine can't be started"),
            Self::OtherBuild =>       row(Config, 503, Error, true,  "the server's programs are of different builds"),
            Self::EngineNotLoaded =>  row(Script, 500, Error, true,  "the engine can't load what it is to load"),
            Self::WorkerDied =>       row(Worker, 502, Error, false, "the worker ended while it served the request"),
            Self::WorkerTimeout =>    row(Worker, 504, Error, false, "the worker neither read nor wrote anything for too long and was killed"),
            Self::WorkerViolation =>       row(Worker, 502, Error, false, "the worker broke the protocol and was killed"),
            Self::NotConnected =>     row(Worker, 503, Error, true,  "the program that answers can't be connected to"),
            Self::NameNotResolved =>  row(Config, 500, Error, true,  "the host name of the program that answers cannot be resolved"),
            Self::ConnectionClosed => row(Worker, 502, Error, false, "the program that answers closed the connection in mid-response"),
            Self::Stopping =>         row(Front, 503, Error, false, "the server is stopping before the program has answered"),
            Self::ProgramFailed =>    row(Script, 500, Error, false, "the program has failed"),
            Self::ProtocolViolation => row(Worker, 502, Error, false, "the program that answers does not keep to its protocol"),
        }
    }

    /// The HTTP status, as long as nothing has been answered.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.facts().status
    }

    /// Returns whether nothing of a request has been sent, as there is no connection: another program may be asked.
    #[must_use]
    pub const fn is_unconnected(self) -> bool {
        matches!(self, Self::NotConnected | Self::NameNotResolved)
    }

    /// The cause in one sentence.
    #[must_use]
    pub const fn cause(self) -> &'static str {
        self.facts().cause
    }

    /// Returns its severity.
    #[must_use]
    pub const fn severity(self) -> Severity {
        self.facts().severity
    }
}

/// An error, complete for the error log: its [`Display`](fmt::Display) is the cause in one line. With a program's
/// path, see [`Self::of`].
#[derive(Debug)]
pub struct Error {
    /// The kind of error.
    pub kind: Kind,
    /// The party at fault.
    pub origin: Origin,
    /// True if the request may safely be sent once more.
    pub retry: bool,
    /// The details.
    pub source: Option<Box<dyn StdError + Send + Sync>>,
    /// The last lines that the program wrote to stderr.
    pub last_lines: Vec<String>,
    /// When the client may try again, in seconds: for the `Retry-After` field of the answer (RFC 9110 §10.2.3).
    pub retry_after: Option<u32>,
}

impl Error {
    /// An error that needs no details.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        let Facts { origin, retry, .. } = kind.facts();
        Self { kind, origin, retry, source: None, last_lines: Vec::new(), retry_after: None }
    }

    /// An error with its details.
    pub fn because(kind: Kind, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..Self::new(kind) }
    }

    /// The same, with when the client may try again, if its status is one that goes with that.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after: (self.status() == 503).then_some(seconds), ..self }
    }

    /// The HTTP status, as long as nothing has been answered.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.kind.status()
    }

    /// Returns its severity.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// The line for the error log, with the program it is about behind the cause, where Apache has it.
    #[must_use]
    pub fn of(&self, program: &str) -> String {
        format!("{}: {program}{}", self.cause(), self.details())
    }

    /// One sentence.
    fn cause(&self) -> String {
        match &self.source {
            // A header's error is a sentence of its own.
            Some(source) if self.kind == Kind::BadHeader => source.to_string(),
            _ => self.kind.facts().cause.to_owned(),
        }
    }

    /// Returns the details beyond the cause, in parentheses.
    fn details(&self) -> String {
        let source = self.source.as_ref().filter(|_| self.kind != Kind::BadHeader).map(ToString::to_string);
        let said =
            (!self.last_lines.is_empty()).then(|| format!("last on stderr: {}", self.last_lines.join(" | ")));
        match (source, said) {
            (None, None) => String::new(),
            (Some(one), None) | (None, Some(one)) => format!(" ({one})"),
            (Some(source), Some(said)) => format!(" ({source}; {said})"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.cause(), self.details())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        let kind = match error {
            RunError::NotFound => Kind::NotFound,
            RunError::Fork { .. } => Kind::NoProcess,
            _ => Kind::NotRunnable,
        };
        Self::because(kind, error)
    }
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        Self::because(Kind::NotConnected, error)
    }
}

impl From<HeaderError> for Error {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Nothing => Self::new(Kind::NoHeader),
            error => Self::because(Kind::BadHeader, error),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::because(Kind::System, error)
    }
}

/// A signal, with its name and what it mostly comes from.
pub(crate) fn signal_name(signal: i32) -> String {
    let name = match signal {
        2 => " (INT)",
        4 => " (ILL)",
        6 => " (ABRT)",
        7 => " (BUS)",
        8 => " (FPE)",
        9 => " (KILL: out of memory, over RLimitCPU, or by hand)",
        11 => " (SEGV)",
        13 => " (PIPE)",
        14 => " (ALRM)",
        15 => " (TERM)",
        24 => " (XCPU: over RLimitCPU)",
        25 => " (XFSZ)",
        31 => " (SYS)",
        _ => "",
    };
    format!("signal {signal}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_its_cause() {
        let mut error = Error::from(RunError::Writable { mode: 0o777 });
        assert_eq!((error.status(), error.origin, error.retry), (500, Origin::Script, false));
        error.last_lines = vec!["a".into(), "b".into()];
        assert_eq!(
            error.to_string(),
            "the program can't be run (it is writable by group or others (mode 0777): chmod go-w it; \
             last on stderr: a | b)"
        );
        let bad = Error::from(HeaderError::Premature);
        assert_eq!(bad.of("/cgi/x"), "Premature end of script headers: /cgi/x");
        assert_eq!(Error::from(HeaderError::Nothing).to_string(), "End of script output before headers");
        assert!(Error::from(RunError::Fork { errno: 11 }).retry);
    }
}
