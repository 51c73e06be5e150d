//! `hostler check --htaccess DIR`, and the list that `hostler check` adds: for people who move. Which directives of their
//! files Hostler does not carry out, by how often they are used, and what to do instead.
//!
//! Root reads nothing that another user can write: it is refused, with the command that asks as the owner.

mod count;

use crate::Failed;
use crate::load;
use crate::plan::{Situation, users};
use count::{MissingDirective, Standing, Survey};
use hostler_config::directives::core::{Allow, OptionBits};
use hostler_config::{Config, HtaccessScope, Origin, Overrides, Stands, parse_htaccess_beside};
use hostler_sys::fs::{Node, read_to_end};
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest file that is read, most files, and most levels of directories.
const LARGEST: usize = 1 << 20;
const MOST: usize = 100_000;
const DEEPEST: usize = 64;

/// The findings in a folder.
#[derive(Debug, Default)]
struct Folder {
    survey: Survey,
    files: usize,
    refused: Vec<String>,
    warned: usize,
}

/// Checks all `.htaccess` files below a directory, with what the configuration says of their modules.
///
/// # Errors
/// The directory can't be read, or files in it would not be accepted.
pub(crate) fn check(directory: &Path, config: Option<&Config>) -> Result<(), Failed> {
    let directory = std::path::absolute(directory)?;
    let owner = fs::metadata(&directory).map_err(|why| format!("{}: {why}", directory.display()))?.uid();
    if is_root() && owner != 0 {
        let (user, path) = (users::name(owner), directory.display());
        return Err(Failed(format!(
            "{path} belongs to {user}, and root reads nothing that others write: runuser -u {user} -- hostler check \
             --htaccess {path}"
        )));
    }
    let own;
    let config = match config {
        Some(config) => config,
        None => {
            own = load::empty()?;
            &own
        }
    };
    let mut folder = Folder::default();
    for file in access_files(&directory) {
        folder.look(&file, config);
    }
    let Folder { survey, files, refused, warned } = folder;
    for why in &refused {
        println!("{why}");
    }
    let (lines, _) = survey.counted();
    let lacking = survey.lacking();
    print!("{}", table(&lacking));
    let accepted = files - refused.len();
    let shown = directory.display();
    println!(
        "{shown}: {accepted} of {files} .htaccess files with {lines} directives are accepted, {warned} of them with warnings"
    );
    if refused.is_empty() {
        Ok(())
    } else {
        Err(Failed("the directories of the others would answer 500".to_owned()))
    }
}

fn is_root() -> bool {
    Situation::here(false).root()
}

impl Folder {
    fn look(&mut self, path: &Path, config: &Config) {
        let name = path.display().to_string();
        let text = match read(path) {
            Ok(text) => text,
            Err(why) => {
                self.files += 1;
                self.refused.push(format!("{name}: {why}"));
                return;
            }
        };
        self.files += 1;
        self.survey.add(&name, &text);
        let directory = path.parent().map_or(String::new(), |parent| parent.display().to_string());
        let allow = Allow { classes: Overrides::ALL, options: OptionBits::EVERY, ..Allow::default() };
        let scope = HtaccessScope {
            config,
            host: Origin::default(),
            file: &name,
            directory: &directory,
            allow: Arc::new(allow),
        };
        match parse_htaccess_beside(&text, &scope, Stands::OnDisk) {
            Ok(parsed) => self.warned += usize::from(!parsed.warnings.is_empty()),
            Err(error) => self.refused.push(error.to_string()),
        }
    }
}

/// All `.htaccess` files below a directory, in order. Links are not followed.
fn access_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = left.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < DEEPEST {
                left.push((entry.path(), depth + 1));
            } else if kind.is_file() && entry.file_name() == ".htaccess" && found.len() < MOST {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// The file's text. Neither a link nor a pipe in its place leads anywhere.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |why: std::io::Error| format!("can't be read: {why}");
    let (parent, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
    let directory = Node::directory(parent.as_os_str().as_bytes()).map_err(failed)?;
    let node = directory.child(name.as_bytes()).map_err(failed)?;
    if !node.is_regular() {
        return Err("is not a regular file".to_owned());
    }
    if is_root() && node.stat().st_uid != 0 {
        return Err("belongs to another user; root does not read it".to_owned());
    }
    let file = node.open_file().map_err(failed)?;
    read_to_end(file.as_fd(), LARGEST).map_err(failed)
}

/// Lists what a configuration's files lack; empty if nothing is missing.
pub(crate) fn of_configuration(config: &Config) -> String {
    let mut survey = Survey::default();
    for name in &config.files {
        if Path::new(&**name).is_absolute()
            && let Ok(text) = fs::read(&**name)
        {
            survey.add(name, &text);
        }
    }
    table(&survey.lacking())
}

/// A line for each, the most used first, with what to do instead below it.
fn table(lacking: &[MissingDirective]) -> String {
    if lacking.is_empty() {
        return String::new();
    }
    let mut out = String::from("Directives that Hostler does not carry out, the most used first:\n");
    for one in lacking {
        let (becomes, why) = match &one.standing {
            Standing::Works => continue,
            Standing::LeftOut(why) => ("is left out", &why[..]),
            Standing::Refused(why) => ("is refused", &why[..]),
            Standing::Unknown => ("is unknown", "no module that Hostler knows has it"),
        };
        let module = one.module.map(|name| format!(" ({name})")).unwrap_or_default();
        let files = if one.files == 1 { "1 file".to_owned() } else { format!("{} files", one.files) };
        out.push_str(&format!(
            "{:>7} {}{module} in {files}, first {}: {becomes}: {why}\n",
            one.uses, one.name, one.first
        ));
        if !one.advice.is_empty() {
            out.push_str(&format!("        instead: {}\n", one.advice));
        }
    }
    out
}
