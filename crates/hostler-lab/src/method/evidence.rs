//! The folders that contestants run in, and what of them stays with the run: their configurations, and the ends of
//! their logs. Temporary folders are called there by what they are for, as in the configurations that the lab makes
//! (`@ROOT@`): their names are of no use to anybody.

use crate::scenario::Case;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The folder of evidence within a run's folder.
pub const FOLDER: &str = "contestants";

/// Bytes of a log's end that are kept of each case.
const LOG: usize = 16 << 10;

/// The prefix of temporary folders' names, and the number of random letters at their end.
const TEMPORARY: &str = "hostler-lab-";
const CHANCE: usize = 6;

/// Makes a contestant's folder, and its case's around it.
pub(super) fn make_folder(folder: &Path) -> Result<()> {
    // For the servers' users: all folders from the temporary one on.
    for made in [folder.parent().unwrap_or(folder), folder] {
        fs::create_dir_all(made).with_context(|| format!("cannot make {}", made.display()))?;
        fs::set_permissions(made, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Copies the files of a contestant's folder: configurations whole, of all others the end, behind those of earlier
/// cases. Returns their names.
pub(super) fn keep(from: &Path, to: &Path, case: &Case) -> Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let bytes = if entry.file_type()?.is_file() { fs::read(entry.path())? } else { Vec::new() };
        if bytes.is_empty() {
            continue;
        }
        fs::create_dir_all(to)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".conf") {
            fs::write(to.join(&name), without_places(&String::from_utf8_lossy(&bytes)))?;
            names.push(name);
        } else {
            let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG)..]);
            let text = format!("== {}\n{}\n", case.title, without_places(end.trim_end()));
            let name = text_name(&name);
            let mut file = OpenOptions::new().create(true).append(true).open(to.join(&name))?;
            file.write_all(text.as_bytes())?;
            names.push(name);
        }
    }
    Ok(names)
}

/// `error-log.txt` for `error.log`: browsers show it, and no repository leaves it out.
fn text_name(name: &str) -> String {
    format!("{}.txt", name.replace('.', "-"))
}

/// A text in which temporary folders are called by what they are for: `@ROOT@` for that of a site, `@RUN@` for sockets
/// and the like; and `contestants/NAME` for a contestant's own, which is kept there. Servers that `./setup.sh bench` has unpacked
/// are in `@ORACLE@`.
pub(super) fn without_places(text: &str) -> String {
    let temporary = std::env::temp_dir();
    let real = temporary.canonicalize().unwrap_or_else(|_| temporary.clone());
    let mut text = text.to_owned();
    for above in [real, temporary] {
        text = without(&text, &above);
    }
    let program = std::env::current_exe().unwrap_or_default();
    for unpacked in program.ancestors().skip(1).map(|folder| folder.join("oracle")).filter(|it| it.is_dir()) {
        text = text.replace(&*unpacked.to_string_lossy(), "@ORACLE@");
    }
    text
}

fn without(text: &str, above: &Path) -> String {
    let begin = format!("{}/{TEMPORARY}", above.display().to_string().trim_end_matches('/'));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&begin) {
        out.push_str(before);
        let Some((what_for, after)) = named(after) else {
            out.push_str(&begin);
            rest = after;
            continue;
        };
        rest = after;
        match contestant(rest).filter(|_| what_for == "logs") {
            Some((name, after)) => {
                let _ = write!(out, "{FOLDER}/{name}");
                rest = after;
            }
            None => {
                let _ = write!(out, "@{}@", what_for.to_uppercase());
            }
        }
    }
    out + rest
}

/// `root-Xa6Tz9...`: what for, and the rest.
fn named(text: &str) -> Option<(&str, &str)> {
    let (what_for, rest) = text.split_once('-')?;
    let chance = rest.get(..CHANCE)?;
    let plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plain(what_for) && plain(chance)).then(|| (what_for, &rest[CHANCE..]))
}

/// `/CASE/NAME...`: the name, and the rest.
fn contestant(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.strip_prefix('/')?.split_once('/')?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
    Some(rest.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> Case {
        crate::scenario::load("registry").unwrap().cases[0].clone()
    }

    #[test]
    fn configurations_stay_whole_and_logs_by_their_end() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let long = vec![b'x'; LOG + 10];
        for name in ["server.conf", "error.log"] {
            fs::write(from.path().join(name), &long).unwrap();
        }
        fs::write(from.path().join("empty"), "").unwrap();
        fs::create_dir(from.path().join("folder")).unwrap();
        let mut names = keep(from.path(), &to.path().join("kept"), &case()).unwrap();
        names.sort();
        assert_eq!(names, ["error-log.txt", "server.conf"]);
        let text = |name: &str| fs::read_to_string(to.path().join("kept").join(name)).unwrap();
        assert_eq!(text("server.conf").len(), long.len());
        let log = text("error-log.txt");
        assert!(log.starts_with("== light handler\nxxx") && log.len() < LOG + 30, "{}", log.len());
        // What a further case says comes behind it.
        fs::write(from.path().join("error.log"), "later\n").unwrap();
        keep(from.path(), &to.path().join("kept"), &case()).unwrap();
        assert_eq!(text("error-log.txt"), format!("{log}== light handler\nlater\n"));
        // Who never started has no folder.
        assert!(keep(&from.path().join("none"), to.path(), &case()).unwrap().is_empty());
    }

    #[test]
    fn temporary_folders_are_called_by_what_they_are_for() {
        let temporary = std::env::temp_dir();
        let above = temporary.display();
        let text = format!(
            "ServerRoot \"{above}/hostler-lab-root-aB3xYz\"\nPidFile {above}/hostler-lab-run-aB3xYz/pid\n\
             its configuration: {above}/hostler-lab-logs-aB3xYz/ssi-close/apache-event/server.conf\n-I{above}/other {above}/hostler-lab-x"
        );
        let expected = format!(
            "ServerRoot \"@ROOT@\"\nPidFile @RUN@/pid\nits configuration: contestants/apache-event/server.conf\n\
             -I{above}/other {above}/hostler-lab-x"
        );
        assert_eq!(without_places(&text), expected);
    }
}
