//! The types of a case file: shared files, configuration, and cases with their expectations.
//!
//! Unknown keys are errors, because a misspelt expectation would otherwise pass for ever.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One case file: everything in it runs against one start of a server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The file's name without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// Its cases count what was asked before, or look at the lines of a log: nothing is asked again.
    #[serde(default)]
    pub once: bool,
    /// Extra modules of this subject, without `_module`.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Files of other programs' packages without which there is nothing to test.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The configuration after the common prologue, with placeholders.
    pub config: String,
    /// Environment variables that the server is started with.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Programs that are started before the server, each with a listening socket as its standard input: the Unix
    /// socket's path below the tree, or `tcp:ONE` for a TCP port that `@ONE@` stands for -> the program's path.
    #[serde(default)]
    pub backends: BTreeMap<String, String>,
    /// Path below the tree -> content.
    #[serde(default)]
    pub files: BTreeMap<String, FileSpec>,
    /// A shell script that makes more files, such as certificates, before the server starts. It runs in the tree.
    #[serde(default)]
    pub prepare: Option<String>,
    /// Servers behind the one that is tested, by the names of their ports: `ONE` listens at `@ONE@`.
    #[serde(default)]
    pub servers: BTreeMap<String, crate::scripted::Answers>,
    /// The cases, run in this order.
    #[serde(rename = "case", deserialize_with = "cases")]
    pub cases: Vec<Case>,
}

/// A file of the tree: its text alone, or with details.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum FileSpec {
    /// A file of mode 0644, or 0755 where it starts with `#!`.
    Text(String),
    /// A file with other properties.
    Detailed(FileDetails),
}

/// The properties of a file besides its text.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDetails {
    /// Content.
    #[serde(default)]
    pub text: String,
    /// Content that is no text: base 64 of gzip.
    pub gz: Option<String>,
    /// The content is `text` this many times.
    pub repeat: Option<usize>,
    /// Permission bits.
    pub mode: Option<u32>,
    /// Seconds since 1970; otherwise one fixed day for all.
    pub mtime: Option<u64>,
    /// The target of a symbolic link; makes all the rest void.
    pub symlink: Option<String>,
    /// An empty directory.
    #[serde(default)]
    pub dir: bool,
}

/// The request of a case, and what must come back.
#[derive(Debug, Clone)]
pub struct Case {
    /// Unique inside its subject.
    pub name: String,
    /// The request.
    pub request: Request,
    /// The expected response of both servers.
    pub expect: Expect,
}

/// The request half of a case.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Path of a GET.
    pub get: Option<String>,
    /// `METHOD target` of anything else.
    pub request: Option<String>,
    /// Every byte that is sent; excludes the rest. `@9*a@` stands for nine times `a`.
    pub raw: Option<String>,
    /// The Host field; `localhost` where absent.
    pub host: Option<String>,
    /// `1.0` or `1.1`.
    pub version: Option<String>,
    /// Further header lines.
    pub headers: Vec<String>,
    /// A body, sent with Content-Length.
    pub body: Option<String>,
    /// The body is sent this many times over.
    pub body_times: Option<usize>,
    /// A file of the tree that is sent as the body, with Content-Length.
    pub body_file: Option<String>,
    /// A body in chunks.
    pub chunked: Option<Vec<String>>,
    /// The client says that it sends no more (it closes its sending side) as soon as the request is out.
    pub half_close: bool,
    /// The second port instead of the first.
    pub port2: bool,
    /// Files to write (or, empty detail, replace) before the request.
    pub write: BTreeMap<String, FileSpec>,
    /// Files to remove before the request.
    pub remove: Vec<String>,
    /// A login by digest: the request is sent once for its nonce, then with what is signed.
    pub digest: Option<crate::digest::Login>,
    /// Milliseconds to wait before the request, for what the server does after the answer before (log handlers).
    pub after_ms: u64,
    /// It is not asked again: its answer comes in other pieces each time, or counts how often it was asked.
    pub once: bool,
}

impl Request {
    /// Returns whether it asks for a page, as often as anybody wants to.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.get.is_some()
            && self.raw.is_none()
            && self.digest.is_none()
            && !self.half_close
            && self.after_ms == 0
            && !self.once
    }
}

/// The expectation half of a case. Also what a difference puts in its place.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// Status of the (last) answer. 0: closed without an answer, or no status line.
    pub status: Option<u16>,
    /// Status of every answer on the connection.
    pub statuses: Option<Vec<u16>>,
    /// Status of the interim answers (1xx).
    pub interim: Option<Vec<u16>>,
    /// The reason phrase.
    pub reason: Option<String>,
    /// Field -> exact value; several fields of one name are joined by ` | `.
    pub has: BTreeMap<String, String>,
    /// Field -> regular expression.
    pub like: BTreeMap<String, String>,
    /// Fields that must not be there.
    pub lacks: Vec<String>,
    /// The whole body.
    pub text: Option<String>,
    /// Parts of the body.
    pub contains: OneOrMany,
    /// Texts that the body must not contain.
    pub omits: OneOrMany,
    /// A regular expression for the body (dot matches newline).
    pub matches: Option<String>,
    /// True if the server closes the connection after the answers.
    pub closes: Option<bool>,
    /// A regular expression that a new line of `logs/access.log` must match.
    pub log: Option<String>,
    /// A regular expression that no new line of `logs/access.log` may match.
    pub no_log: Option<String>,
    /// The access log to read instead of `access.log`.
    pub log_file: Option<String>,
    /// A regular expression for the new part of `logs/error.log`.
    pub error_log: Option<String>,
    /// Leave these out when Hostler's answer is compared with Apache's: field names, `body`.
    pub ignore: Vec<String>,
}

/// A string or a list of strings.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// Nothing was written.
    #[default]
    None,
    /// One string.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// The strings.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

const REQUEST_KEYS: [&str; 17] = [
    "digest",
    "get",
    "request",
    "raw",
    "host",
    "version",
    "headers",
    "body",
    "chunked",
    "port2",
    "write",
    "remove",
    "half_close",
    "after_ms",
    "once",
    "body_times",
    "body_file",
];

/// A case is written flat; its keys are told apart here.
fn cases<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Case>, D::Error> {
    let tables = Vec::<toml::Table>::deserialize(from)?;
    tables.into_iter().map(|table| case(table).map_err(serde::de::Error::custom)).collect()
}

fn case(mut expect: toml::Table) -> Result<Case, String> {
    let name = match expect.remove("name") {
        Some(toml::Value::String(name)) => name,
        _ => return Err("a case without a name".to_owned()),
    };
    let mut request = toml::Table::new();
    for key in REQUEST_KEYS {
        if let Some(value) = expect.remove(key) {
            request.insert(key.to_owned(), value);
        }
    }
    let of_case = |error: toml::de::Error| format!("case {name}: {error}");
    Ok(Case {
        request: request.try_into().map_err(of_case)?,
        expect: expect.try_into().map_err(of_case)?,
        name,
    })
}

/// Reads every case file of a folder, in the order of their names.
///
/// # Errors
/// A sentence that names the file, where one cannot be read or two cases share a name.
pub fn load(folder: &Path) -> Result<Vec<Subject>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().map(|path| load_one(path)).collect()
}

fn load_one(path: &Path) -> Result<Subject, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| at(&error))?;
    let mut subject: Subject = toml::from_str(&text).map_err(|error| at(&error))?;
    subject.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut seen = std::collections::BTreeSet::new();
    for case in &subject.cases {
        if !seen.insert(&case.name) {
            return Err(at(&format!("two cases are called {}", case.name)));
        }
    }
    Ok(subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_expectation_is_an_error() {
        let text = "config = ''\n[[case]]\nname = 'a'\nget = '/'\nstatsu = 200\n";
        assert!(toml::from_str::<Subject>(text).is_err());
    }

    #[test]
    fn keys_of_request_and_expectation_are_told_apart() -> Result<(), toml::de::Error> {
        let text = "config = ''\n[[case]]\nname = 'a'\nget = '/'\nstatus = 200\ncontains = 'x'\n";
        let subject: Subject = toml::from_str(text)?;
        assert_eq!(subject.cases[0].request.get.as_deref(), Some("/"));
        assert_eq!(subject.cases[0].expect.contains.as_slice(), ["x"]);
        Ok(())
    }
}
