//! The current handler of a page, from the output of `hostler explain`.

use crate::contestant::hostler;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The requested URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// The `Host` field.
    pub(super) host: String,
    /// The virtual hosts' port; `None`: the page is the main server's.
    pub(super) port: Option<u16>,
    /// Path and query.
    pub(super) path: String,
    /// True if it says https.
    pub(super) tls: bool,
    given: String,
}

impl Url {
    /// A path, or an absolute URL.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let given = text.to_owned();
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'\\');
        if !text.bytes().all(plain) {
            bail!("--url {text:?}: write other characters than letters, digits and the usual signs as %XX");
        }
        if text.starts_with('/') {
            return Ok(Self {
                host: "localhost".to_owned(),
                port: None,
                path: text.to_owned(),
                tls: false,
                given,
            });
        }
        let (tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => bail!("--url {text}: a path (/page), or a URL with http:// or https://"),
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let port = match authority.rsplit_once(':') {
            Some((_, port)) if !port.ends_with(']') => {
                port.parse().with_context(|| format!("--url {text}: no port {port}"))?
            }
            _ if tls => 443,
            _ => 80,
        };
        Ok(Self { host: authority.to_owned(), port: Some(port), path: path.to_owned(), tls, given })
    }

    /// Without the query.
    pub(super) fn path_only(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

/// A directive that has a say.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    scope: String,
    directive: String,
    args: String,
}

/// The output of `hostler explain`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Explanation {
    file: PathBuf,
    /// The technique that answers, by its name.
    technique: Option<String>,
    lines: Vec<Line>,
}

/// Asks it.
pub(super) fn explain(file: &Path, defines: &[String], url: &Url) -> Result<Explanation> {
    let hostler = hostler().context("the hostler command is not there: `make build` makes it")?;
    let mut command = Command::new(hostler);
    command.arg("explain").arg("-f").arg(file);
    for define in defines {
        command.arg("-D").arg(define);
    }
    let output = command.arg("--").arg(&url.given).output().context("cannot run hostler explain")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(Explanation::parse(&String::from_utf8_lossy(&output.stdout)))
}

impl Explanation {
    /// Lines of `NAME VALUE`, then scopes at the margin with lines of `PLACE DIRECTIVE ARGUMENTS` below them; columns
    /// are apart by two spaces.
    fn parse(text: &str) -> Self {
        let mut explained = Self::default();
        let (facts, steps) = text.split_once("\nWhat has a say").unwrap_or((text, ""));
        let fact = |name: &str| facts.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        explained.file = fact("file ").map(PathBuf::from).unwrap_or_default();
        explained.technique = fact("technique ").map(str::to_owned);
        let mut scope = "";
        for line in steps.lines().skip(1) {
            let Some(rest) = line.strip_prefix("  ") else {
                scope = line.trim();
                continue;
            };
            let Some((_, rest)) = rest.split_once("  ") else { continue };
            let (directive, args) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
            explained.lines.push(Line {
                scope: scope.to_owned(),
                directive: directive.to_lowercase(),
                args: args.trim().to_owned(),
            });
        }
        explained
    }

    fn last(&self, directive: &str) -> Option<&Line> {
        self.lines.iter().rfind(|line| line.directive == directive)
    }

    /// The argument of the last `AddHandler` or the like that names an ending of the file.
    fn by_ending(&self, directive: &str) -> Option<String> {
        let name = self.file.file_name()?.to_string_lossy().to_lowercase();
        let endings: Vec<&str> = name.split('.').skip(1).collect();
        let fits = |line: &&Line| {
            let mut words =
                line.args.split_ascii_whitespace().skip(1).map(|word| unquoted(word).to_lowercase());
            line.directive == directive && words.any(|word| endings.contains(&word.trim_start_matches('.')))
        };
        let line = self.lines.iter().rfind(fits)?;
        line.args.split_ascii_whitespace().next().map(|word| unquoted(word).to_lowercase())
    }

    /// The handler, where that is no technique's.
    fn handler(&self) -> Option<String> {
        let set = self.last("sethandler").map(|line| unquoted(&line.args).to_lowercase());
        let set = set.filter(|name| name != "none" && name != "default-handler");
        set.or_else(|| self.by_ending("addhandler"))
    }

    fn is_parsed(&self) -> bool {
        let set =
            self.last("setoutputfilter").is_some_and(|line| line.args.to_uppercase().contains("INCLUDES"));
        set || self
            .by_ending("addoutputfilter")
            .is_some_and(|filters| filters.to_uppercase().contains("INCLUDES"))
    }
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\''])
}

/// The current handler of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// A file as it is.
    Static(PathBuf),
    /// A file with server-side includes.
    Parsed(PathBuf),
    /// A CGI program that is not in Perl.
    Program,
    /// A script in Perl, as CGI or under Registry.
    PerlScript,
    /// A handler of `mod_perl`.
    Handler,
    /// A PSGI application, and where it is mounted.
    Psgi { application: PathBuf, mount: String },
    /// A script in PHP, its file.
    Php(PathBuf),
    /// A WSGI application.
    Wsgi,
    /// A FastCGI program that the server starts.
    FastCgi,
    /// An application that Apache has no words for: ASGI, servlets.
    Application,
    /// Another handler, or a folder: served as it is by those that can.
    Other(String),
}

impl Page {
    pub(super) fn of(explained: &Explanation) -> Self {
        let response =
            ["perlresponsehandler", "perlhandler"].into_iter().find_map(|name| explained.last(name));
        match explained.technique.as_deref() {
            Some("cgi") if is_perl(&explained.file) => Self::PerlScript,
            Some("cgi") => Self::Program,
            Some("perl") => {
                let module = response.map_or("", |line| line.args.as_str());
                let scripts = ["Registry", "PerlRun"].iter().any(|name| module.contains(name));
                if scripts { Self::PerlScript } else { Self::Handler }
            }
            Some("psgi") => match explained.last("psgiapp") {
                Some(line) => {
                    Self::Psgi { application: PathBuf::from(unquoted(&line.args)), mount: mount(&line.scope) }
                }
                None => Self::Other("psgi".to_owned()),
            },
            Some("php") => Self::Php(explained.file.clone()),
            Some("wsgi") => Self::Wsgi,
            Some("fcgid") => Self::FastCgi,
            Some("asgi" | "servlet") => Self::Application,
            Some(name) => Self::Other(name.to_owned()),
            None => Self::without_technique(explained),
        }
    }

    fn without_technique(explained: &Explanation) -> Self {
        match explained.handler().as_deref() {
            Some("server-parsed") => Self::Parsed(explained.file.clone()),
            Some(name) => Self::Other(name.to_owned()),
            None if explained.is_parsed() => Self::Parsed(explained.file.clone()),
            None if explained.file.is_file() => Self::Static(explained.file.clone()),
            None => Self::Other("no handler".to_owned()),
        }
    }
}

/// `<Location /psgi>` mounts an application there.
fn mount(scope: &str) -> String {
    let path = scope.strip_prefix("<Location ").and_then(|rest| rest.strip_suffix('>')).unwrap_or("/");
    unquoted(path.trim()).trim_end_matches('/').to_owned()
}

/// A script whose first line names a Perl.
fn is_perl(file: &Path) -> bool {
    let mut start = [0; 128];
    let read = fs::File::open(file).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    let start = String::from_utf8_lossy(start.get(..read).unwrap_or_default()).into_owned();
    start.starts_with("#!") && start.lines().next().is_some_and(|line| line.contains("perl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "host       main.example (main server)\nuser       ? ?\nfile       /srv/cgi-bin/hello.sh\n\
        \x20          by ScriptAlias /cgi-bin/ /srv/cgi-bin/ (/srv/httpd.conf:13)\nanswers    a CGI program\ntechnique  cgi\n\nWhat has a say, in merge order: of \
        two.\n\nserver\n  /srv/httpd.conf:2   Listen 8080\n  /srv/httpd.conf:13  ScriptAlias /cgi-bin/ \
        /srv/cgi-bin/\n<Directory /srv>\n  /srv/httpd.conf:9   Require all granted\n";

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn page(technique: &str, lines: &str, file: &str) -> Page {
        let text = format!("file       {file}\n{technique}\n\nWhat has a say\n\n{lines}");
        Page::of(&Explanation::parse(&text))
    }

    #[test]
    fn an_explanation_is_understood() {
        let explained = Explanation::parse(TEXT);
        assert_eq!(explained.file, PathBuf::from("/srv/cgi-bin/hello.sh"));
        assert_eq!(explained.lines.len(), 3);
        assert_eq!(explained.lines[2].scope, "<Directory /srv>");
        assert_eq!(Page::of(&explained), Page::Program);
        assert_eq!(page("technique  php", "", "/srv/x.php"), Page::Php("/srv/x.php".into()));
        assert_eq!(page("technique  wsgi", "", "/srv/x.wsgi"), Page::Wsgi);
        assert_eq!(page("technique  fcgid", "", "/srv/x.fcgi"), Page::FastCgi);
        assert_eq!(page("technique  servlet", "", "/srv/x"), Page::Application);
        assert_eq!(page("technique  new", "", "/srv/x"), Page::Other("new".to_owned()));
    }

    #[test]
    fn the_later_line_holds() {
        let lines = "server\n  f:1  SetHandler cgi-script\n<Location /x>\n  f:3  SetHandler psgi\n  f:4  PSGIApp \
                     \"/srv/app.psgi\"\n";
        let application = PathBuf::from("/srv/app.psgi");
        assert_eq!(
            page("technique  psgi", lines, "/srv/x"),
            Page::Psgi { application, mount: "/x".to_owned() }
        );
        let lines = "<Location /x>\n  f:3  SetHandler modperl\n  f:4  PerlResponseHandler My::Page\n";
        assert_eq!(page("technique  perl", lines, "/srv/x"), Page::Handler);
        let lines = "server\n  f:1  SetHandler perl-script\n  f:2  PerlResponseHandler ModPerl::Registry\n";
        assert_eq!(page("technique  perl", lines, "/srv/x"), Page::PerlScript);
    }

    #[test]
    fn endings_decide_where_nothing_else_does() {
        let lines = "server\n  f:1  AddHandler send-as-is .asis\n  f:2  AddOutputFilter INCLUDES shtml\n";
        assert_eq!(page("", lines, "/srv/x.en.ASIS"), Page::Other("send-as-is".to_owned()));
        assert_eq!(page("", lines, "/srv/x.shtml"), Page::Parsed("/srv/x.shtml".into()));
        assert_eq!(page("", lines, "/srv/x.txt"), Page::Other("no handler".to_owned()));
        assert_eq!(page("", lines, "/dev/null"), Page::Other("no handler".to_owned()));
        assert_eq!(page("", "", "/proc/self/stat"), Page::Static("/proc/self/stat".into()));
    }

    #[test]
    fn urls_are_paths_or_absolute() {
        let one = url("http://www.example:8080/a?b=c");
        assert_eq!(
            (one.host.as_str(), one.port, one.path.as_str()),
            ("www.example:8080", Some(8080), "/a?b=c")
        );
        assert_eq!(one.path_only(), "/a");
        assert_eq!(url("http://[::1]").port, Some(80));
        assert_eq!(url("/x").port, None);
        for wrong in ["x", "http://a:b/", "/a b", "/\">"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }
}
