//! A folder of Registry scripts, and an engine that runs them: what the tests of Registry and of mod_perl 1 share.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used, reason = "each test uses some of it")]

use crate::front::{Answer, Engine, Worker, code, directory, request};
use hostler_perl_frames::{Directory, Phase, Preload, PreloadKind, Setup, directory_flag};
use hostler_wire::engine::ServerFacts;
use hostler_wire::work::FileFacts;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub const EXEC_CGI: u32 = 8;

pub struct Site {
    pub root: TempDir,
    pub engine: Engine,
    pub worker: Worker,
    /// Configuration of the folder.
    pub directory: Directory,
}

/// As `SetHandler perl-script`, `Options ExecCGI`, `PerlOptions +ParseHeaders` (`PerlSendHeader On`).
pub fn scripts(class: &str) -> Directory {
    Directory {
        flags: directory_flag::PARSE_HEADERS | directory_flag::SETUP_ENV,
        allow_options: EXEC_CGI,
        location: Some("/perl".into()),
        ..directory(&[(Phase::Response, &[class])])
    }
}

/// `PerlModule`, `PerlRequire`.
pub fn module(name: &str) -> Preload {
    Preload { kind: PreloadKind::Module, text: name.into(), origin: "test.conf:1".into(), configured: false }
}

pub fn file(path: &Path) -> Preload {
    Preload {
        kind: PreloadKind::File,
        text: path.display().to_string(),
        origin: "test.conf:2".into(),
        configured: false,
    }
}

impl Site {
    pub fn new(generation: u8, class: &str) -> Self {
        Self::with(generation, class, tempfile::tempdir().unwrap(), vec![code("1;")])
    }

    /// `PerlTaintCheck On`.
    pub fn tainted(generation: u8, class: &str) -> Self {
        Self::start(generation, class, tempfile::tempdir().unwrap(), vec![], vec!["-T".into()])
    }

    pub fn with(generation: u8, class: &str, root: TempDir, preload: Vec<Preload>) -> Self {
        Self::start(generation, class, root, preload, vec![])
    }

    pub fn start(
        generation: u8,
        class: &str,
        root: TempDir,
        preload: Vec<Preload>,
        switches: Vec<String>,
    ) -> Self {
        fs::create_dir_all(root.path().join("perl")).unwrap();
        let server = ServerFacts {
            name: "a".into(),
            document_root: root.path().display().to_string(),
            port: 80,
            log_level: 7,
            ..ServerFacts::default()
        };
        let setup = Setup {
            title: "test".into(),
            generation,
            preload,
            switches,
            server_root: root.path().display().to_string(),
            servers: vec![server],
            ..Setup::default()
        };
        let mut engine = Engine::start(setup).unwrap();
        let worker = engine.fork();
        Self { root, engine, worker, directory: scripts(class) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("perl").join(name)
    }

    /// Writes an executable script.
    pub fn script(&self, name: &str, text: &str) {
        write_script(&self.path(name), text);
    }

    pub fn get(&mut self, name: &str) -> Answer {
        let directory = self.directory.clone();
        self.get_in(&directory, name, "")
    }

    pub fn get_in(&mut self, directory: &Directory, name: &str, args: &str) -> Answer {
        self.post_in(directory, name, args, "", b"")
    }

    pub fn post_in(
        &mut self,
        directory: &Directory,
        name: &str,
        args: &str,
        kind: &str,
        body: &[u8],
    ) -> Answer {
        let path = self.path(name);
        let filename = path.display().to_string();
        let uri = format!("{}/{name}", directory.location.as_deref().unwrap_or_default());
        let length = body.len().to_string();
        let mut head = request("perl-script");
        head.uri = uri.as_bytes();
        head.unparsed_uri = uri.as_bytes();
        head.filename = filename.as_bytes();
        head.args = (!args.is_empty()).then_some(args.as_bytes());
        head.finfo = facts(&path);
        head.server_port = 80;
        if !body.is_empty() {
            head.method = b"POST";
            head.headers_in.push((b"Content-Type", kind.as_bytes()));
            head.headers_in.push((b"Content-Length", length.as_bytes()));
        }
        head.headers_in.push((b"Cookie", b"taste=sweet%20sour; size=1&2"));
        self.worker.ask_in(directory, head, body)
    }

    /// The body of a good answer.
    pub fn body(&mut self, name: &str) -> String {
        let answer = self.get(name);
        assert_eq!(answer.outcome, "done", "{name}: {answer:?}");
        answer.body
    }
}

pub fn write_script(path: &Path, text: &str) {
    // A new file each time: what the front knows of it changes at once, however coarse the file system's clock is.
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&new, path).unwrap();
}

/// Returns the front's facts about a path.
fn facts(path: &Path) -> FileFacts {
    let Ok(m) = fs::metadata(path) else { return FileFacts::default() };
    FileFacts {
        kind: if m.is_file() { 1 } else { 2 },
        mode: m.mode(),
        uid: m.uid(),
        gid: m.gid(),
        size: m.size(),
        dev: m.dev(),
        ino: m.ino(),
        nlink: m.nlink(),
        mtime: u64::try_from(m.mtime()).unwrap(),
        mtime_nsec: u32::try_from(m.mtime_nsec()).unwrap(),
        ctime: u64::try_from(m.ctime()).unwrap(),
        atime: u64::try_from(m.atime()).unwrap(),
    }
}
