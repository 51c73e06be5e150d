//! The messages between a run and its driver.

use std::ops::Range;
use std::sync::Arc;

use hostler_expr::Question;

use crate::Page;

/// The progress of a run.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'run> {
    /// The page is at its end.
    Done,
    /// The output wants no more for now ([`Output::is_full`]); the next step goes on.
    Full,
    /// Something from outside is needed; [`Run::resume`](crate::Run::resume) brings the answer.
    Need(Need<'run>),
}

/// A run's need from outside.
#[derive(Debug, PartialEq, Eq)]
pub enum Need<'run> {
    /// Another document's body, to be written to the output now (`include`). Answer: `Done`, or `Failed` if
    /// nothing was written, be it that a status other than 200 came back.
    Include {
        /// The kind of reference in `target`.
        reference: FileReference,
        /// A URL, possibly with a query, or a relative path without `..`.
        target: &'run [u8],
        /// `IncludesNOEXEC`: must fail if the document's media type is known and not `text/…`.
        text_only: bool,
    },
    /// A shell command's output, to be written now (`exec cmd`). It sees the document's environment.
    /// Answer: `Done` or `Failed`.
    Command {
        /// For `/bin/sh -c`.
        command: &'run [u8],
    },
    /// A program's output, to be written now (`exec cgi`). The target is run as a CGI program whatever its
    /// type, with the document's path information and query; a target with its own fails.
    /// Answer: `Done`, `Location` or `Failed`.
    Cgi {
        /// A URL.
        target: &'run [u8],
    },
    /// Size or time of a file (`fsize`, `flastmod`). Answer: `File` or `Failed`.
    File {
        /// The kind of reference in `target`.
        reference: FileReference,
        /// A URL or a relative path without `..`.
        target: &'run [u8],
        /// The fact that is asked for.
        fact: FileFact,
    },
    /// A condition cannot be evaluated before the host knows this. Answer: `Done` once it does.
    Expression(&'run Question),
}

/// The ways in which an element names a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileReference {
    /// `file=`: relative to the document's directory, access checked by a sub-request for the file.
    File,
    /// `virtual=`: a URL, relative to the document's or absolute; walks like a request.
    Virtual,
}

/// The facts that `fsize` and `flastmod` show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFact {
    /// `fsize`.
    Size,
    /// `flastmod`.
    Modified,
}

/// The driver's answer to a need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The need is fulfilled.
    Done,
    /// It cannot be fulfilled, and nothing was written. The reason goes to the error log.
    Failed(String),
    /// A CGI program redirects: the run writes a link.
    Location(Vec<u8>),
    /// A file's data.
    File {
        /// Bytes; `None` prints a dash.
        size: Option<u64>,
        /// Seconds since 1970.
        modified: i64,
    },
}

/// The output of a run.
pub trait Output {
    /// A stretch of the page's source. An output may keep the page and the range instead of copying.
    fn literal(&mut self, page: &Arc<Page>, range: Range<usize>);

    /// Other text; called with small pieces.
    fn text(&mut self, text: &[u8]);

    /// Returns whether the run should pause before the next element, because the output has to be sent on first.
    fn is_full(&self) -> bool {
        false
    }
}

impl Output for Vec<u8> {
    fn literal(&mut self, page: &Arc<Page>, range: Range<usize>) {
        self.extend_from_slice(page.source().get(range).unwrap_or_default());
    }

    fn text(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }
}

/// The format of `fsize`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeFormat {
    /// `1.2K`
    #[default]
    Abbreviated,
    /// `1,234`
    Bytes,
}

/// The settings at the start of a document's run. Included documents get their own, not the parent's `config`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `SSIErrorMsg`
    pub error_message: Arc<[u8]>,
    /// `SSIUndefinedEcho`
    pub undefined_echo: Arc<[u8]>,
    /// `SSITimeFormat`
    pub time_format: Arc<[u8]>,
    /// `Options IncludesNOEXEC`: `exec` is an error.
    pub no_exec: bool,
}

impl Default for Settings {
    /// Apache's defaults, with `exec` allowed.
    fn default() -> Settings {
        Settings {
            error_message: b"[an error occurred while processing this directive]"[..].into(),
            undefined_echo: b"(none)"[..].into(),
            time_format: b"%A, %d-%b-%Y %H:%M:%S %Z"[..].into(),
            no_exec: false,
        }
    }
}
