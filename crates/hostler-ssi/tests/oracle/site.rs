//! A site small enough for the cases: the files in `files/`, programs run by `sh`, one request.
//!
//! It stands for what Apache does around mod_include, as far as the cases need it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hostler_expr::{Captures, SubrequestTest, Variable};
use hostler_ssi::time::{self, CivilTime};
use hostler_ssi::{
    Answer, Environment, FileReference, Host, Markers, Need, Page, Run, Settings, Severity, Step, Zone,
};

/// Time of all files.
const MODIFIED: i64 = 1_709_208_003;

pub(crate) struct Site {
    environment: Environment,
    /// `plain`, `legacy`, `noexec` or `percent`.
    folder: &'static str,
    uri: String,
    info: String,
    query: String,
    messages: RefCell<Vec<(Severity, String)>>,
}

/// A resolved target.
struct Found {
    path: PathBuf,
    info: String,
    query: Option<String>,
}

impl Site {
    pub(crate) fn new(name: &str, options: &[&str]) -> Site {
        let folder = ["legacy", "noexec", "percent"].into_iter().find(|folder| options.contains(folder));
        let folder = folder.unwrap_or("plain");
        let option =
            |key: &str| options.iter().find_map(|option| option.strip_prefix(key)).map(str::to_owned);
        let (query, info) = (option("query="), option("info=").unwrap_or_default());
        let script = format!("/{folder}/{name}.shtml");
        let environment = environment(&script, &info, query.as_deref());
        let uri = format!("{script}{info}");
        let query = query.unwrap_or_default();
        Site { environment, folder, uri, info, query, messages: RefCell::default() }
    }

    pub(crate) fn serve(&mut self, source: &[u8], out: &mut Vec<u8>) {
        let uri = self.uri.clone();
        self.run(source, &uri, out);
    }

    /// Errors and warnings, as in `log=`.
    pub(crate) fn logged(&self) -> String {
        let messages = self.messages.borrow();
        let count = |wanted| messages.iter().filter(|(severity, _)| *severity == wanted).count();
        format!("{},{}", count(Severity::Error), count(Severity::Warning))
    }

    pub(crate) fn messages(&self) -> String {
        self.messages.borrow().iter().map(|(_, message)| format!("    {message}\n")).collect()
    }

    fn run(&mut self, source: &[u8], uri: &str, out: &mut Vec<u8>) {
        let percent = Markers::new(b"%%", b"%%").expect("two characters are a marker");
        let markers = if self.folder == "percent" { percent } else { Markers::default() };
        let page = Arc::new(Page::parse(source, &markers, self.folder == "legacy"));
        let settings = Settings { no_exec: self.folder == "noexec", ..Settings::default() };
        let mut run = Run::new(page, settings);
        loop {
            let answer = match run.step(self, out) {
                Step::Done => return,
                Step::Full => continue,
                Step::Need(need) => self.fulfil(&need, uri, out).unwrap_or_else(Answer::Failed),
            };
            run.resume(answer);
        }
    }

    fn fulfil(&mut self, need: &Need<'_>, uri: &str, out: &mut Vec<u8>) -> Result<Answer, String> {
        match need {
            Need::Include { reference, target, text_only } => {
                let found = self.find(*reference, target, uri)?;
                self.include(&found, *text_only, out)?;
            }
            Need::File { reference, target, .. } => {
                let found = self.find(*reference, target, uri)?;
                return Ok(Answer::File { size: Some(size(&found.path)), modified: MODIFIED });
            }
            Need::Command { command } => {
                let mut shell = Command::new("/bin/sh");
                shell.arg("-c").arg(text(command));
                self.spawn(shell, &[], out)?;
            }
            Need::Cgi { target } => return self.cgi(target, uri, out),
            Need::Expression(question) => return Err(format!("{question:?}")),
        }
        Ok(Answer::Done)
    }

    fn find(&self, reference: FileReference, target: &[u8], uri: &str) -> Result<Found, String> {
        let target = text(target);
        let (path, query) = match reference {
            FileReference::File => (target, None),
            FileReference::Virtual => {
                let target = target.split('#').next().unwrap_or_default();
                let (path, query) =
                    target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
                (self.inside(path, uri)?, query.map(str::to_owned))
            }
        };
        let mut file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/files");
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        while file.is_dir() {
            file.push(segments.next().ok_or("a directory")?);
        }
        let info: String = segments.map(|segment| format!("/{segment}")).collect();
        let invented = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("size-"));
        if file.is_file() || invented {
            Ok(Found { path: file, info, query })
        } else {
            Err("no such file".into())
        }
    }

    /// A URL's path as seen from this site's folder.
    fn inside(&self, path: &str, uri: &str) -> Result<String, String> {
        if path.is_empty() {
            return Err("nothing named".into());
        }
        let base = if path.starts_with('/') { "" } else { uri.rsplit_once('/').map_or("", |(base, _)| base) };
        let mut segments: Vec<&str> = Vec::new();
        for segment in base.split('/').chain(path.split('/')).filter(|segment| !segment.is_empty()) {
            match segment {
                ".." => drop(segments.pop().ok_or("above the root")?),
                _ => segments.push(segment),
            }
        }
        match segments.first() {
            Some(first) if *first == self.folder || *first == "plain" => Ok(segments[1..].join("/")),
            _ => Err("denied".into()),
        }
    }

    fn include(&mut self, found: &Found, text_only: bool, out: &mut Vec<u8>) -> Result<(), String> {
        let name = found.path.to_string_lossy().into_owned();
        if name.ends_with(".cgi") {
            let query = found.query.clone().unwrap_or_default();
            let output = self.program(&found.path, &query, &found.info)?;
            let (header, body) = split_header(&output);
            if header.contains("Location: ") {
                return Err("a redirection".into());
            }
            out.extend_from_slice(body);
            return Ok(());
        }
        if text_only && name.ends_with(".gif") {
            return Err("not a text".into());
        }
        let source = std::fs::read(&found.path).map_err(|error| error.to_string())?;
        if name.ends_with(".shtml") {
            let folder = self.folder;
            if let Some(query) = &found.query {
                self.environment.set_query(query.as_bytes());
            }
            self.run(&source, &format!("/{folder}/{}", name.rsplit('/').next().unwrap_or_default()), out);
        } else {
            out.extend_from_slice(&source);
        }
        Ok(())
    }

    fn cgi(&mut self, target: &[u8], uri: &str, out: &mut Vec<u8>) -> Result<Answer, String> {
        let found = self.find(FileReference::Virtual, target, uri)?;
        if found.query.is_some() || !found.info.is_empty() {
            return Err("a query or path information of its own".into());
        }
        let output = self.program(&found.path, &self.query, &self.info)?;
        let (header, body) = split_header(&output);
        if let Some(location) = header.lines().find_map(|line| line.strip_prefix("Location: ")) {
            return Ok(Answer::Location(location.as_bytes().to_vec()));
        }
        out.extend_from_slice(body);
        Ok(Answer::Done)
    }

    fn program(&self, path: &Path, query: &str, info: &str) -> Result<Vec<u8>, String> {
        let mut shell = Command::new("/bin/sh");
        shell.arg(path);
        let mut output = Vec::new();
        self.spawn(shell, &[("QUERY_STRING", query), ("PATH_INFO", info)], &mut output)?;
        Ok(output)
    }

    fn spawn(&self, mut shell: Command, more: &[(&str, &str)], out: &mut Vec<u8>) -> Result<(), String> {
        shell.env_clear();
        self.each_variable(b"", &mut |name, value| {
            shell.env(text(name), text(value));
        });
        let output = shell.envs(more.iter().copied()).output().map_err(|error| error.to_string())?;
        out.extend_from_slice(&output.stdout);
        Ok(())
    }

    fn deferred(name: &[u8], time_format: &[u8]) -> Vec<u8> {
        let mut value = Vec::new();
        match name {
            b"USER_NAME" => value.extend_from_slice(b"root"),
            b"DATE_GMT" => time::format(time_format, &CivilTime::gmt(MODIFIED), &mut value),
            _ => time::format(time_format, &CivilTime::new(MODIFIED, 0, "UTC"), &mut value),
        }
        value
    }
}

/// The request's variables in Apache's order.
fn environment(script: &str, info: &str, query: Option<&str>) -> Environment {
    let mut environment = Environment::new();
    let search = query.map(|query| format!("?{query}")).unwrap_or_default();
    let name = script.rsplit('/').next().unwrap_or_default();
    let known = "HTTP_HOST=ssi.test HTTP_USER_AGENT=case HTTP_COOKIE=c=1 PATH=/usr/bin:/bin SERVER_SIGNATURE= \
        SERVER_SOFTWARE=Apache SERVER_NAME=ssi.test SERVER_ADDR=127.0.0.1 SERVER_PORT=1 REMOTE_ADDR=127.0.0.1 \
        DOCUMENT_ROOT=/docs REQUEST_SCHEME=http CONTEXT_PREFIX= CONTEXT_DOCUMENT_ROOT=/docs \
        SERVER_ADMIN=admin@ssi.test";
    for (name, value) in known.split_ascii_whitespace().filter_map(|pair| pair.split_once('=')) {
        environment.set(name.as_bytes(), value.as_bytes());
    }
    environment.set(b"SCRIPT_FILENAME", format!("/docs{script}").as_bytes());
    let known = "REMOTE_PORT=1 GATEWAY_INTERFACE=CGI/1.1 SERVER_PROTOCOL=HTTP/1.1 REQUEST_METHOD=GET";
    for (name, value) in known.split_ascii_whitespace().filter_map(|pair| pair.split_once('=')) {
        environment.set(name.as_bytes(), value.as_bytes());
    }
    let query = query.unwrap_or_default();
    environment.set(b"QUERY_STRING", query.as_bytes());
    environment.set(b"REQUEST_URI", format!("{script}{info}{search}").as_bytes());
    environment.set(b"SCRIPT_NAME", script.as_bytes());
    if !info.is_empty() {
        environment.set(b"PATH_INFO", info.as_bytes());
        environment.set(b"DOCUMENT_PATH_INFO", info.as_bytes());
    }
    for name in ["DATE_LOCAL", "DATE_GMT", "LAST_MODIFIED"] {
        environment.defer(name);
    }
    environment.set(b"DOCUMENT_URI", format!("{script}{info}").as_bytes());
    environment.set(b"DOCUMENT_ARGS", query.as_bytes());
    environment.defer("USER_NAME");
    environment.set(b"DOCUMENT_NAME", name.as_bytes());
    if !search.is_empty() {
        environment.set_query(query.as_bytes());
    }
    environment
}

fn size(path: &Path) -> u64 {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let invented = name.strip_prefix("size-").and_then(|size| size.parse().ok());
    invented.unwrap_or_else(|| path.metadata().map_or(0, |metadata| metadata.len()))
}

fn split_header(output: &[u8]) -> (String, &[u8]) {
    let end = output.windows(2).position(|window| window == b"\n\n").unwrap_or(0);
    (text(&output[..end]), &output[(end + 2).min(output.len())..])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Host for Site {
    fn variable(&self, name: &[u8], time_format: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.environment.value(name, |name| Site::deferred(name, time_format)).map(Cow::Borrowed)
    }

    fn set_variable(&mut self, name: &[u8], value: &[u8]) {
        self.environment.set(name, value);
    }

    fn format_dates(&mut self, time_format: &[u8]) {
        for name in ["DATE_LOCAL", "DATE_GMT", "LAST_MODIFIED"] {
            self.environment.set(name.as_bytes(), &Site::deferred(name.as_bytes(), time_format));
        }
    }

    fn format_time(&self, seconds: i64, zone: Zone, format: &[u8], out: &mut Vec<u8>) {
        let zone = if zone == Zone::Gmt { "GMT" } else { "UTC" };
        time::format(format, &CivilTime::new(seconds, 0, zone), out);
    }

    fn each_variable(&self, time_format: &[u8], visit: &mut dyn FnMut(&[u8], &[u8])) {
        self.environment.each(|name| Site::deferred(name, time_format), visit);
    }

    fn expression(&self) -> &dyn hostler_expr::Host {
        self
    }

    fn log(&self, severity: Severity, line: usize, message: fmt::Arguments<'_>) {
        self.messages.borrow_mut().push((severity, format!("line {line}: {message}")));
    }
}

impl hostler_expr::Host for Site {
    fn variable(&self, variable: Variable) -> hostler_expr::Answer<Option<Cow<'_, [u8]>>> {
        hostler_expr::Answer::Ready(match variable {
            Variable::RequestMethod => Some(Cow::Borrowed(b"GET")),
            Variable::QueryString => Some(Cow::Borrowed(self.query.as_bytes())),
            _ => None,
        })
    }

    fn request_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn response_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn request_env<'a>(&'a self, _name: &[u8], _captures: &'a Captures) -> Option<Cow<'a, [u8]>> {
        None
    }

    fn subrequest(&self, _test: SubrequestTest, target: &[u8]) -> hostler_expr::Answer<bool> {
        hostler_expr::Answer::Ready(!target.starts_with(b"/denied"))
    }
}
