//! A copy of a user's configuration in one file that can run beside his own server: what binds ports and writes logs
//! is left to the lab, the virtual hosts of the page's port listen on the contestant's, and the page gets a last word.

use super::page::Url;
use super::pattern;
use super::ways::Way;
use crate::contestant;
use anyhow::{Context, Result, bail};
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Files within files: more is a loop.
const DEEPEST: usize = 16;
/// The mark that a way's `<Location>` replaces.
const MARK: &str = "# The way under test\n";
/// The mark that the size of a virtual host's pool replaces ([`crate::contestant::Site`]).
const POOL: &str = "@WORKERS@\n";
/// The lab's own business.
const LEFT_OUT: &[&str] = &[
    "listen",
    "pidfile",
    "errorlog",
    "customlog",
    "transferlog",
    "globallog",
    "scriptsock",
    "scriptlog",
    "mutex",
    "lockfile",
    "scoreboardfile",
    "defaultruntimedir",
    "coredumpdirectory",
    "mpm-accept",
    "acceptmutex",
];
/// Directives that Apache does not know.
const HOSTLER_ONLY: &[&str] = &["isolation", "psgiapp", "asgiapp", "servletapp", "phpwarm"];

/// The copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Copy {
    text: String,
    /// True if it says who it runs as.
    pub(super) names_users: bool,
    /// True if what serves the page speaks TLS (`SSLEngine on`).
    pub(super) tls: bool,
    /// Notes for the reader of the run.
    pub(super) notes: Vec<String>,
}

impl Copy {
    /// Reads the file and all that it includes.
    ///
    /// # Errors
    /// A file cannot be read, or includes itself.
    pub(super) fn of(file: &Path, defines: &[String], url: &Url) -> Result<Self> {
        let file = file.canonicalize().with_context(|| format!("cannot read {}", file.display()))?;
        let folder = file.parent().unwrap_or(Path::new("/")).to_path_buf();
        let mut copying = Copying { root: folder, port: url.port, ..Copying::default() };
        copying.out = format!("ServerRoot \"{}\"\n", copying.root.display());
        for define in defines {
            let (name, value) = define.split_once('=').unwrap_or((define, ""));
            copying.defines.insert(name.to_owned(), value.to_owned());
            copying.out.push_str(&format!("Define {name} {}\n", quoted(value)));
        }
        copying.file(&file, 0)?;
        if url.port.is_none() {
            copying.out.push_str(MARK);
        } else if copying.hosts == 0 {
            copying.out.push_str(MARK);
            let port = url.port.unwrap_or_default();
            copying
                .notes
                .push(format!("no <VirtualHost> has the port {port}: the page is asked of the main server"));
        }
        // What a virtual host does not say it has from the main server.
        let tls = copying.tls_of_hosts.filter(|_| copying.hosts > 0).or(copying.tls).unwrap_or(false);
        if url.tls && !tls {
            bail!("nothing in {} speaks TLS (SSLEngine on) at the page's port", file.display());
        }
        Ok(Self { text: copying.out, names_users: copying.names_users, tls, notes: copying.notes })
    }

    /// The configuration of a way.
    pub(super) fn text(&self, way: &Way) -> String {
        let section = match &way.location {
            Some(path) => format!("<Location \"{path}\">\n{}</Location>\n", way.lines),
            None => way.lines.clone(),
        };
        let for_apache = way.server.starts_with("apache");
        let sets_handler = way.lines.contains("SetHandler");
        let decides = way.lines.contains("Isolation");
        let kept = |line: &&str| {
            let word = word(line);
            let hostler_only = HOSTLER_ONLY.contains(&word.as_str()) || word.starts_with("hostler");
            !(for_apache && hostler_only || decides && word == "isolation")
        };
        let mut text = String::new();
        for line in self.text.lines().filter(kept) {
            match word(line).as_str() {
                "assignuserid" if for_apache => text.push_str(&only_itk(line)),
                // The way says what the page's handler is, and an alias must not say otherwise.
                "scriptalias" | "scriptaliasmatch" if sets_handler => {
                    text.push_str(&format!("{}\n", line.trim_start().get(6..).unwrap_or_default()));
                }
                _ if line == MARK.trim_end() => text.push_str(&section),
                _ => {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        text
    }
}

fn only_itk(line: &str) -> String {
    format!("<IfModule mpm_itk_module>\n{line}\n</IfModule>\n")
}

/// While it is made.
#[derive(Debug, Default)]
struct Copying {
    out: String,
    root: PathBuf,
    port: Option<u16>,
    defines: BTreeMap<String, String>,
    /// Within a virtual host of the page's port, or of another one.
    in_host: bool,
    elsewhere: bool,
    hosts: usize,
    /// The value of `SSLEngine` outside virtual hosts, and in those of the page's port.
    tls: Option<bool>,
    tls_of_hosts: Option<bool>,
    names_users: bool,
    notes: Vec<String>,
}

impl Copying {
    fn file(&mut self, file: &Path, depth: usize) -> Result<()> {
        if depth > DEEPEST {
            bail!("{}: files include each other", file.display());
        }
        let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = String::from_utf8_lossy(&text).replace("\\\n", " ");
        for line in text.lines() {
            self.line(line, depth).with_context(|| format!("in {}", file.display()))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str, depth: usize) -> Result<()> {
        let name = word(line);
        let args = line.trim().get(name.len()..).unwrap_or_default().trim();
        match name.as_str() {
            "include" | "includeoptional" => return self.include(args, depth),
            "serverroot" => self.root = PathBuf::from(self.expanded(unquoted(args))),
            "define" => {
                let (name, value) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
                self.defines.insert(name.to_owned(), unquoted(value.trim()).to_owned());
            }
            "user" | "group" => {
                if !geteuid().is_root() || self.expanded(args).contains("${") {
                    return Ok(());
                }
                self.names_users = true;
            }
            "assignuserid" if !geteuid().is_root() => return Ok(()),
            "loadmodule" => return self.load_module(args),
            "<virtualhost" => return self.host(line, args),
            "</virtualhost>" if std::mem::take(&mut self.in_host) => {
                self.out.push_str(MARK);
                self.out.push_str(POOL);
            }
            "</virtualhost>" => self.elsewhere = false,
            "sslengine" if !self.elsewhere => {
                let on = Some(unquoted(args).eq_ignore_ascii_case("on"));
                *(if self.in_host { &mut self.tls_of_hosts } else { &mut self.tls }) = on;
            }
            left if LEFT_OUT.contains(&left) => return Ok(()),
            _ => {}
        }
        self.out.push_str(line);
        self.out.push('\n');
        Ok(())
    }

    fn include(&mut self, args: &str, depth: usize) -> Result<()> {
        let pattern = self.expanded(unquoted(args));
        if pattern.contains("${") {
            self.notes.push(format!("Include {args} is left out: its variables are not defined"));
            return Ok(());
        }
        for file in pattern::files(&self.root.join(pattern)) {
            self.file(&file, depth + 1)?;
        }
        Ok(())
    }

    /// The lab loads the modules that do the work of several connections, and finds the others where they are here.
    fn load_module(&mut self, args: &str) -> Result<()> {
        let mut words = args.split_ascii_whitespace().map(unquoted);
        let (Some(name), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
        let short = name.trim_end_matches("_module");
        if short.starts_with("mpm_") || matches!(short, "cgi" | "cgid") {
            return Ok(());
        }
        let path = self.root.join(self.expanded(path));
        let path = contestant::apache_module(short).or_else(|| path.is_file().then_some(path));
        match path {
            Some(path) => {
                let path = path.display();
                self.out
                    .push_str(&format!("<IfModule !{name}>\nLoadModule {name} \"{path}\"\n</IfModule>\n"));
            }
            None => self.notes.push(format!("LoadModule {args} is left out: there is no such file here")),
        }
        Ok(())
    }

    /// Virtual hosts of the page's port move to the contestant's; others are never asked.
    fn host(&mut self, line: &str, args: &str) -> Result<()> {
        let addresses = self.expanded(args.trim_end_matches('>'));
        let fits = |address: &str| {
            let port = address.rsplit_once(':').map_or("", |(_, port)| port);
            match (port.parse::<u16>(), self.port) {
                (Ok(port), Some(wanted)) => port == wanted,
                // Without a port, or `*`: all ports.
                (Err(_), Some(_)) => true,
                (_, None) => false,
            }
        };
        if addresses.split_ascii_whitespace().map(unquoted).any(fits) {
            self.in_host = true;
            self.hosts += 1;
            self.out.push_str("<VirtualHost *:@PORT@>\n");
        } else {
            self.elsewhere = true;
            self.out.push_str(line);
            self.out.push('\n');
        }
        Ok(())
    }

    /// With the variables that are defined so far, and the environment's.
    fn expanded(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else { break };
            let value = self.defines.get(name).cloned().or_else(|| std::env::var(name).ok());
            out.push_str(before);
            out.push_str(&value.unwrap_or_else(|| format!("${{{name}}}")));
            rest = after;
        }
        out + rest
    }
}

/// The directive of a line, in small letters; empty for comments.
fn word(line: &str) -> String {
    let line = line.trim_start();
    if line.starts_with('#') {
        return String::new();
    }
    line.split_ascii_whitespace().next().unwrap_or_default().to_lowercase()
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

fn quoted(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!("\"{}\"", value.replace('"', "\\\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(text: &str, url: &str) -> Copy {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("conf.d")).unwrap();
        fs::write(folder.path().join("conf.d/a.conf"), "# a\nAlias /a /srv/a\n").unwrap();
        let file = folder.path().join("httpd.conf");
        fs::write(&file, text).unwrap();
        Copy::of(&file, &["Z=1".to_owned()], &Url::parse(url).unwrap()).unwrap()
    }

    fn way(server: &'static str, location: Option<&str>, lines: &str) -> Way {
        Way { server, location: location.map(str::to_owned), lines: lines.to_owned(), ..Way::default() }
    }

    #[test]
    fn ports_and_logs_are_the_labs_business() {
        let copy = copy(
            "Listen 80\nDefine D conf.d\nInclude ${D}/*.conf\nErrorLog \\\n logs/e\nAlias /b /srv/b\n",
            "/x",
        );
        let text = copy.text(&way("apache-prefork", Some("/x"), "SetHandler x\n"));
        assert!(!text.contains("Listen") && !text.contains("ErrorLog"), "{text}");
        assert!(text.contains("Alias /a /srv/a\n") && text.contains("Define Z \"1\"\n"), "{text}");
        assert!(text.ends_with("Alias /b /srv/b\n<Location \"/x\">\nSetHandler x\n</Location>\n"), "{text}");
    }

    #[test]
    fn the_pages_virtual_hosts_move_to_the_contestants_port() {
        let hosts =
            "<VirtualHost *:8080>\nServerName a\n</VirtualHost>\n<VirtualHost *:443>\n</VirtualHost>\n";
        let text = copy(hosts, "http://a:8080/x").text(&way("hostler", Some("/x"), "A b\n"));
        let host = "<VirtualHost *:@PORT@>\nServerName a\n<Location \"/x\">\nA b\n</Location>\n@WORKERS@\n</VirtualHost>";
        assert!(text.contains(host), "{text}");
        assert!(text.contains("<VirtualHost *:443>\n</VirtualHost>\n"), "{text}");
        assert!(!copy(hosts, "/x").text(&way("hostler", None, "")).contains("@PORT@"));
    }

    #[test]
    fn who_speaks_tls_is_found_out() {
        let hosts = "<VirtualHost *:443>\nSSLEngine on\n</VirtualHost>\n<VirtualHost *:80>\n</VirtualHost>\n";
        assert!(copy(hosts, "https://a/x").tls && copy(hosts, "http://a:443/x").tls);
        assert!(!copy(hosts, "http://a/x").tls && !copy(hosts, "/x").tls);
        assert!(copy("SSLEngine on\n", "/x").tls);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("httpd.conf");
        fs::write(&file, hosts.replace("443", "8443")).unwrap();
        let why = Copy::of(&file, &[], &Url::parse("https://a/x").unwrap()).unwrap_err().to_string();
        assert!(why.contains("speaks TLS (SSLEngine on)"), "{why}");
    }

    #[test]
    fn what_apache_does_not_know_is_kept_from_it() {
        let copy = copy("Isolation fork\nAssignUserID a b\nLoadModule no_module /no/such.so\n", "/x");
        assert!(!copy.text(&way("apache-itk", None, "")).contains("Isolation"));
        assert!(copy.text(&way("hostler", None, "")).contains("Isolation fork\n"));
        let decided = copy.text(&way("hostler", None, "Isolation persistent\n"));
        assert!(decided.ends_with("Isolation persistent\n") && !decided.contains("fork"), "{decided}");
        if geteuid().is_root() {
            let wrapped = "<IfModule mpm_itk_module>\nAssignUserID a b\n</IfModule>\n";
            assert!(copy.text(&way("apache-itk", None, "")).contains(wrapped));
        }
        assert!(copy.notes[0].contains("no_module"), "{:?}", copy.notes);
    }

    #[test]
    fn a_way_that_sets_the_handler_has_the_last_word() {
        let copy = copy("ScriptAlias /cgi/ /srv/cgi/\nScriptAliasMatch ^/c /srv/c\n", "/cgi/x");
        let text = copy.text(&way("hostler", Some("/cgi/x"), "SetHandler perl-script\n"));
        assert!(text.contains("\nAlias /cgi/ /srv/cgi/\nAliasMatch ^/c /srv/c\n"), "{text}");
        assert!(copy.text(&way("hostler", None, "")).contains("ScriptAlias /cgi/"));
    }

    #[test]
    fn a_file_that_includes_itself_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("httpd.conf");
        fs::write(&file, "Include httpd.conf\n").unwrap();
        let error = Copy::of(&file, &[], &Url::parse("/").unwrap()).unwrap_err();
        assert!(format!("{error:#}").contains("include each other"), "{error:#}");
    }
}
