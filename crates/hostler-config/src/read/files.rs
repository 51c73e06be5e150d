//! Files: the main one, Include with patterns and directories, and what directives refer to.

use super::expand::Reader;
use super::parse::parse;
use crate::builder::{server_path, vhost_host};
use crate::lexer::words;
use crate::{Node, Origin};
use hostler_expr::{GlobMode, glob_matches};
use std::fs;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// Largest configuration file in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The system's file of media types, if the configuration names none.
const SYSTEM_TYPES: &str = "/etc/mime.types";

impl Reader {
    pub(super) fn main_file(&mut self, path: &Path, out: &mut Vec<Node>) {
        self.file(path, out);
    }

    fn file(&mut self, path: &Path, out: &mut Vec<Node>) {
        let file = self.add_file(&path.to_string_lossy());
        match read(path) {
            Ok(text) => self.contents(&text, file, out),
            Err(message) => self.error(Origin { file, line: 0 }, "", message),
        }
    }

    pub(super) fn include(
        &mut self,
        at: Origin,
        name: &str,
        args: &str,
        optional: bool,
        out: &mut Vec<Node>,
    ) -> Result<(), String> {
        let files = self.included_files(args, optional)?;
        self.nested(at, name, |reader| files.iter().for_each(|file| reader.file(file, out)));
        Ok(())
    }

    /// The files that an Include names.
    pub(super) fn included_files(&self, args: &str, optional: bool) -> Result<Vec<PathBuf>, String> {
        let words = words(args);
        let [word] = &words[..] else { return Err(format!("takes one argument, not {}", words.len())) };
        let path = server_path(&self.facts.server_root, word);
        let is_pattern = path.contains(['*', '?', '[']);
        let mut files = Vec::new();
        if is_pattern {
            matching(&path, &mut files)?;
            if files.is_empty() && !optional {
                return Err(format!("no file matches {path} (IncludeOptional accepts that)"));
            }
        } else {
            match fs::metadata(&path) {
                Ok(data) if data.is_dir() => below(Path::new(&path), 0, &mut files)?,
                Ok(_) => files.push(PathBuf::from(&path)),
                Err(_) if optional => {}
                Err(error) => return Err(format!("cannot open {path}: {error}")),
            }
        }
        Ok(files)
    }

    /// Keeps the contents of a file that a directive names; whoever needs it finds it missing otherwise.
    pub(super) fn attach(&mut self, name: &str) {
        let path = server_path(&self.facts.server_root, name);
        if !self.htaccess
            && let Ok(text) = read(Path::new(&path))
        {
            self.facts.attached.insert(path, String::from_utf8_lossy(&text).into_owned());
        }
    }

    /// Without a TypesConfig, Apache reads `conf/mime.types`; where that is not there, the system's is as good.
    pub(super) fn default_types(&mut self, nodes: &mut Vec<Node>) {
        if nodes.iter().any(|node| node.name.eq_ignore_ascii_case("TypesConfig")) {
            return;
        }
        for name in ["conf/mime.types", SYSTEM_TYPES] {
            let path = server_path(&self.facts.server_root, name);
            self.attach(&path);
            if self.facts.attached.contains_key(&path) {
                let file = self.add_file("default");
                let origin = Origin { file, line: 1 };
                let args = format!("\"{path}\"");
                nodes.insert(0, Node { name: "TypesConfig".to_owned(), args, origin, children: None });
                return;
            }
        }
    }

    /// Resolves the host names of a VirtualHost line. The front has no say in what they mean.
    pub(super) fn resolve_hosts(&mut self, args: &str) {
        for word in words(args) {
            let host = vhost_host(&word);
            let port = host.bytes().all(|b| b.is_ascii_digit());
            let plain = port || host.parse::<IpAddr>().is_ok() || host.starts_with('[');
            if plain || matches!(host, "*" | "" | "_default_") || self.facts.hosts.contains_key(host) {
                continue;
            }
            let found = (host, 0)
                .to_socket_addrs()
                .map(|found| found.map(|address| address.ip()).collect::<Vec<_>>());
            self.facts.hosts.insert(host.to_owned(), found.unwrap_or_default());
        }
    }
}

/// The lines of a file, before anything is resolved; mistakes in it are left to those who carry it out.
pub(super) fn parsed(path: &Path, file: u32) -> Result<Vec<Node>, String> {
    Ok(parse(&read(path)?, file, false).0)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("cannot read the file: {error}");
    let data = fs::metadata(path).map_err(failed)?;
    if !data.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if data.len() > MAX_FILE {
        return Err(format!("is larger than {MAX_FILE} bytes"));
    }
    fs::read(path).map_err(failed)
}

/// All files of a directory and the directories in it, by name.
fn below(directory: &Path, depth: u32, files: &mut Vec<PathBuf>) -> Result<(), String> {
    if depth > 20 {
        return Err(format!("{} is nested too deeply", directory.display()));
    }
    for path in entries(directory)? {
        match path.is_dir() {
            true => below(&path, depth + 1, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("cannot read the directory {}: {error}", directory.display());
    let listed = fs::read_dir(directory).map_err(failed)?;
    let mut paths =
        listed.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// The files that match a pattern, in which every part of the path may have wildcards. A directory that matches
/// at the end stands for all files below it.
fn matching(pattern: &str, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for base in &found {
            if !part.contains(['*', '?', '[']) {
                next.push(base.join(part));
                continue;
            }
            if !base.is_dir() {
                continue;
            }
            next.extend(entries(base)?.into_iter().filter(|path| matches(part, path)));
        }
        found = next;
    }
    for path in found {
        match path.is_dir() {
            true => below(&path, 0, files)?,
            false if path.exists() => files.push(path),
            false => {}
        }
    }
    Ok(())
}

/// A leading dot must be written out.
fn matches(pattern: &str, path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let name = name.as_encoded_bytes();
    (!name.starts_with(b".") || pattern.starts_with('.'))
        && glob_matches(pattern.as_bytes(), name, GlobMode::Path)
}
