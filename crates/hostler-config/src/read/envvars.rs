//! `envvars`: the file beside Debian's main configuration in which its commands find the variables (`APACHE_RUN_USER`,
//! `APACHE_LOG_DIR` …) before they start Apache. It is a shell's script; here nothing is run. Lines that assign words are
//! read, the usual suffix of a second instance (`/etc/apache2-NAME`) included; a value that takes a shell to know is
//! none, and whoever asks for it is told the line.

use hostler_sys::fs::{Node, read_to_end};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// More than any such file has.
const LONGEST: usize = 64 << 10;

const NAME: &str = "envvars";

/// The variables of a file, or why there are none.
#[derive(Debug, Default)]
pub(super) struct Envvars {
    file: PathBuf,
    values: BTreeMap<String, Assignment>,
    /// The file is there, and not read.
    refused: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Assignment {
    To(String),
    /// In this line, in a way that only a shell understands.
    ByShell(usize),
}

impl Envvars {
    /// Of the file beside the main configuration; of no file where there is none.
    pub(super) fn beside(main: &Path) -> Self {
        let folder = main.parent().unwrap_or(Path::new("."));
        let file = folder.join(NAME);
        let (values, refused) = match text(folder, main) {
            Ok(None) => (BTreeMap::new(), None),
            Ok(Some(text)) => (assignments(&text, &suffix(folder)), None),
            Err(why) => (BTreeMap::new(), Some(why)),
        };
        Self { file, values, refused }
    }

    /// Returns the value of a variable.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(Assignment::To(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns a remark on an unavailable variable; empty if the file is not involved.
    pub(super) fn about(&self, name: &str) -> String {
        let file = self.file.display();
        match (self.values.get(name), &self.refused) {
            (Some(Assignment::ByShell(line)), _) => {
                format!("; {file}:{line} assigns it with what takes a shell, which is not run")
            }
            (_, Some(why)) => format!("; {file} is not read: {why}"),
            _ => String::new(),
        }
    }
}

/// The file's text, if there is one that nobody else than the main file's owner, and root, can write to: it may well be
/// root who reads.
fn text(folder: &Path, main: &Path) -> Result<Option<String>, String> {
    let found =
        Node::directory(folder.as_os_str().as_bytes()).and_then(|folder| folder.child(NAME.as_bytes()));
    let Ok(file) = found else { return Ok(None) };
    let owner = std::fs::metadata(main).map_err(|e| e.to_string())?.uid();
    if ![0, owner].contains(&file.stat().st_uid) || (file.stat().st_mode & 0o022 != 0 && !file.is_link()) {
        return Err(format!("others than the owner of {} can write to it", main.display()));
    }
    if !file.is_regular() {
        return Err("it is not a regular file".to_owned());
    }
    let read = file.open_file().and_then(|file| read_to_end(file.as_fd(), LONGEST));
    let text = read.map_err(|e| e.to_string())?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// Returns the suffix that Debian's own file computes for a second instance: `-NAME` for /etc/apache2-NAME.
fn suffix(folder: &Path) -> String {
    let name = folder.to_str().and_then(|folder| folder.strip_prefix("/etc/apache2-"));
    name.map(|name| format!("-{name}")).unwrap_or_default()
}

fn assignments(text: &str, suffix: &str) -> BTreeMap<String, Assignment> {
    let mut known = BTreeMap::from([("SUFFIX".to_owned(), Assignment::To(suffix.to_owned()))]);
    let mut conditions = 0_usize;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        match line.split([' ', '\t', ';']).next() {
            Some("if" | "case" | "for" | "while" | "until") => conditions += 1,
            Some("fi" | "esac" | "done") => conditions = conditions.saturating_sub(1),
            _ => {}
        }
        let Some((name, written)) = line.split_once('=').filter(|(name, _)| is_name(name)) else { continue };
        if name == "SUFFIX" {
            continue;
        }
        // Under a condition it may be this value or another one.
        let value = if conditions > 0 { None } else { word(written, &known) };
        known.insert(name.to_owned(), value.map_or(Assignment::ByShell(number + 1), Assignment::To));
    }
    known
}

fn is_name(text: &str) -> bool {
    let first = text.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The word that is assigned, where it is one without a shell: quotes of both kinds, and variables of the same file.
fn word(written: &str, known: &BTreeMap<String, Assignment>) -> Option<String> {
    let mut value = String::new();
    let mut rest = written;
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => quoted = !quoted,
            '\'' if !quoted => {
                let (text, after) = rest.split_once('\'')?;
                value.push_str(text);
                rest = after;
            }
            '$' => {
                let (text, after) = variable(rest, known)?;
                value.push_str(text);
                rest = after;
            }
            ' ' | '\t' if !quoted => {
                let after = rest.trim_start();
                return (after.is_empty() || after.starts_with('#')).then_some(value);
            }
            '`' | '\\' => return None,
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '*' | '?' | '[' | '~' if !quoted => return None,
            c => value.push(c),
        }
    }
    (!quoted).then_some(value)
}

/// `NAME` or `{NAME}` after a dollar: its value and what follows.
fn variable<'a>(rest: &'a str, known: &'a BTreeMap<String, Assignment>) -> Option<(&'a str, &'a str)> {
    let (name, after) = match rest.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            rest.split_at(end)
        }
    };
    match known.get(name) {
        Some(Assignment::To(value)) => Some((value, after)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    const DEBIANS: &str = "unset HOME\n\
        if [ \"${APACHE_CONFDIR##/etc/apache2-}\" != \"${APACHE_CONFDIR}\" ] ; then\n\
        \tSUFFIX=\"-${APACHE_CONFDIR##/etc/apache2-}\"\nelse\n\tSUFFIX=\nfi\n\
        export APACHE_RUN_USER=www-data\n\
        export APACHE_PID_FILE=/var/run/apache2$SUFFIX/apache2.pid\n\
        #export APACHE_ULIMIT_MAX_FILES='ulimit -n 65536'\n\
        export LANG=C\nexport LANG\n";

    fn value(text: &str, name: &str) -> Option<Assignment> {
        assignments(text, "-two").remove(name)
    }

    fn to(value: &str) -> Option<Assignment> {
        Some(Assignment::To(value.to_owned()))
    }

    #[test]
    fn debians_file_is_understood() {
        assert_eq!(value(DEBIANS, "APACHE_RUN_USER"), to("www-data"));
        assert_eq!(value(DEBIANS, "APACHE_PID_FILE"), to("/var/run/apache2-two/apache2.pid"));
        assert_eq!(value(DEBIANS, "LANG"), to("C"));
        assert_eq!(value(DEBIANS, "APACHE_ULIMIT_MAX_FILES"), None);
        assert_eq!(suffix(Path::new("/etc/apache2-two")), "-two");
        assert_eq!(suffix(Path::new("/etc/apache2")), "");
    }

    #[test]
    fn words_are_read_as_a_shell_reads_them() {
        for (line, expected) in [
            ("A=x", "x"),
            ("A=", ""),
            ("export A='x y' # why", "x y"),
            ("A=\"x y\"z", "x yz"),
            ("B=1\nA=${B}2$B", "121"),
            ("B=1\nA='$B'", "$B"),
            ("A=1\nA=2", "2"),
        ] {
            assert_eq!(value(line, "A"), to(expected), "{line}");
        }
    }

    #[test]
    fn what_takes_a_shell_is_not_guessed() {
        for line in [
            "A=$(id)",
            "A=`id`",
            "A=${B:-x}",
            "A=$B",
            "A=x; B=y",
            "A=x command",
            "A=\"x",
            "A=\\$x",
            "A=~/x",
            "A=*",
            "if true; then\nA=1\nfi",
            "case x in\nx) true;;\nesac\nwhile false; do\nA=1",
        ] {
            assert!(matches!(value(line, "A"), Some(Assignment::ByShell(_))), "{line}");
        }
    }

    #[test]
    fn only_a_file_of_the_same_owner_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (main, file) = (folder.path().join("apache2.conf"), folder.path().join("envvars"));
        std::fs::write(&main, "").unwrap();
        assert_eq!(Envvars::beside(&main).about("A"), "");
        std::fs::write(&file, "export A=1\nexport B=$(id)\n").unwrap();
        let found = Envvars::beside(&main);
        assert_eq!((found.value("A"), found.value("B"), found.value("C")), (Some("1"), None, None));
        assert!(found.about("B").contains("envvars:2 assigns it"), "{}", found.about("B"));
        std::fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        let refused = Envvars::beside(&main);
        assert_eq!(refused.value("A"), None);
        assert!(refused.about("A").contains("can write to it"), "{}", refused.about("A"));
        std::fs::write(&file, vec![b'#'; LONGEST * 2]).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        assert!(Envvars::beside(&main).about("A").contains("not read"));
    }
}
