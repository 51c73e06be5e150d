//! Finding Apache's program and modules, as the distributions place them.

use super::kind::installed;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An installed Apache.
#[derive(Clone, Debug)]
pub(super) struct Apache {
    pub(super) program: PathBuf,
    modules: PathBuf,
}

/// Folders of modules: Debian, Fedora (64 bit, 32 bit), openSUSE, Arch and others, FreeBSD's and the project's own.
const MODULE_FOLDERS: [&str; 8] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/lib64/apache2",
    "/usr/lib/apache2",
    "/usr/local/libexec/apache24",
    "/usr/local/apache2/modules",
    "/usr/lib64/apache2-prefork",
];

/// The modules that a usual installation loads, without any that would answer or change requests unasked; in the order
/// of loading. Others are loaded if the configuration mentions them ([`MENTIONED`]).
const COMMON: [&str; 17] = [
    "unixd",
    "authz_core",
    "authz_host",
    "authn_core",
    "authn_file",
    "auth_basic",
    "authz_user",
    "access_compat",
    "alias",
    "dir",
    "env",
    "filter",
    "deflate",
    "headers",
    "include",
    "mime",
    "setenvif",
];

/// Modules that cost memory or processes by merely being there, with a word that tells that they are wanted.
const MENTIONED: [(&str, &str); 19] = [
    ("proxy", "proxypass"),
    ("proxy", "\"proxy:"),
    ("proxy_ajp", "ajp://"),
    ("proxy_http", "\"http://"),
    ("proxy_fcgi", "fcgi://"),
    ("wsgi", "wsgi"),
    ("perl", "perl"),
    ("fcgid", "fcgi"),
    ("php", "php"),
    ("rewrite", "rewrite"),
    ("expires", "expires"),
    ("actions", "action "),
    ("autoindex", "index"),
    ("negotiation", "multiviews"),
    ("brotli", "brotli"),
    ("userdir", "userdir"),
    ("log_config", "customlog"),
    ("socache_shmcb", "sslengine"),
    ("ssl", "sslengine"),
];

impl Apache {
    /// The one that is installed.
    pub(super) fn find() -> Option<Self> {
        let program = installed("apache2").or_else(|| installed("httpd"))?;
        let modules = MODULE_FOLDERS.into_iter().map(PathBuf::from);
        let modules = modules.into_iter().find(|folder| folder.join("mod_alias.so").is_file());
        Some(Self { program, modules: modules.unwrap_or_default() })
    }

    /// The file of a module: `alias`, `mpm_itk`.
    pub(super) fn module(&self, name: &str) -> Option<PathBuf> {
        let names = [format!("mod_{name}.so"), format!("{name}.so"), format!("lib{name}.so")];
        let usual = names.into_iter().map(|file| self.modules.join(file)).find(|path| path.is_file());
        // Debian's has its version in its name: libphp8.2.so. The newest one counts.
        usual.or_else(|| self.versioned(&format!("lib{name}")))
    }

    fn versioned(&self, start: &str) -> Option<PathBuf> {
        let files = fs::read_dir(&self.modules).ok()?.flatten().map(|entry| entry.path());
        let is_one = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let version = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(".so"));
            version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
        };
        files.filter(is_one).max()
    }

    /// Returns whether it is part of the program itself.
    pub(super) fn has_built_in(&self, name: &str) -> bool {
        let output = Command::new(&self.program).arg("-l").output();
        output.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains(&format!("{name}.c")))
    }

    /// Lines that load the multi-processing modules, what is usual, and what the configuration speaks of.
    pub(super) fn load(&self, first: &[&str], configuration: &str) -> String {
        let text = configuration.to_lowercase();
        let wanted = MENTIONED.into_iter().filter(|(_, word)| text.contains(word)).map(|(name, _)| name);
        // PHP as it is packaged bears no threads, and stops the start.
        let wanted = wanted.filter(|name| *name != "php" || !first.contains(&"mpm_event"));
        // These need what others have loaded.
        let proxies = MENTIONED.into_iter().any(|(name, word)| name == "proxy" && text.contains(word));
        let wanted = wanted.filter(|name| proxies || !name.starts_with("proxy_"));
        let names = first.iter().copied().chain(COMMON).chain(wanted);
        let found = names.filter_map(|name| Some((name, self.module(name)?)));
        found.map(|(name, path)| line(name, &path)).collect()
    }

    /// `mod_perl/2.0.12`, as it stands in the module.
    pub(super) fn mod_perl_version(&self) -> Option<String> {
        let module = fs::read(self.module("perl")?).ok()?;
        let name = b"mod_perl/";
        let starts = module.windows(name.len()).enumerate().filter(|(_, bytes)| bytes == name);
        let mut versions = starts.filter_map(|(at, _)| {
            let bytes = module.get(at..at + 24)?;
            let end = bytes.iter().position(|byte| !byte.is_ascii_graphic())?;
            let version = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
            version.ends_with(|last: char| last.is_ascii_digit()).then_some(version)
        });
        versions.next()
    }
}

fn line(name: &str, path: &Path) -> String {
    format!("<IfModule !{name}_module>\nLoadModule {name}_module \"{}\"\n</IfModule>\n", path.display())
}
