//! `hostler serve`: a directory, or a PSGI application, is served by a configuration that is made up here, in
//! Apache's words.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Failed;
use crate::cli::Serve;
use crate::run;

/// What a site runs as when root serves a directory of root's.
const NOBODY: u32 = 64_991;

pub(crate) fn serve(args: &Serve) -> Result<(), Failed> {
    let served = Served::of(args)?;
    let words = ["serve".into(), served.path().into(), "--listen".into(), args.listen.to_string().into()];
    run::become_master(words.into_iter().collect::<Vec<OsString>>())
}

/// What is served.
enum Served {
    /// A document root.
    Directory(PathBuf),
    /// A PSGI application, for all URLs.
    Application(PathBuf),
}

impl Served {
    fn of(args: &Serve) -> Result<Self, Failed> {
        let shown = args.directory.display();
        let path = args.directory.canonicalize().map_err(|e| format!("{shown}: {e}"))?;
        if path.is_dir() {
            Ok(Self::Directory(path))
        } else if path.extension().is_some_and(|extension| extension == "psgi") {
            Ok(Self::Application(path))
        } else {
            Err(Failed(format!("{shown} is neither a directory nor a .psgi application")))
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Directory(path) | Self::Application(path) => path,
        }
    }

    /// The directory, or that of the application.
    fn directory(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Application(path) => path.parent().unwrap_or(path),
        }
    }
}

/// The configuration's text, and its ServerRoot.
pub(crate) fn configuration(args: &Serve) -> Result<(String, String), Failed> {
    let served = Served::of(args)?;
    let (root, path) = (word(served.directory())?, word(served.path())?);
    let owner = served.path().metadata()?;
    let user = if owner.uid() == 0 { NOBODY } else { owner.uid() };
    let group = if owner.uid() == 0 || owner.gid() == 0 { user } else { owner.gid() };
    let mut text = String::new();
    let _ = writeln!(text, "Listen {}\nDocumentRoot \"{root}\"", args.listen);
    if hostler_sys::process::is_root() {
        let _ = writeln!(text, "User #{user}\nGroup #{group}");
    }
    text.push_str(REST);
    let _ = match served {
        Served::Directory(_) => writeln!(text, "<Directory \"{root}\">\n{ALLOWED}</Directory>"),
        Served::Application(_) => writeln!(
            text,
            "<Location \"/\">\nSetHandler psgi\nPSGIApp \"{path}\"\nRequire all granted\n</Location>"
        ),
    };
    Ok((text, root.to_string()))
}

/// A path as a word of the configuration.
fn word(path: &Path) -> Result<&str, Failed> {
    path.to_str().filter(|path| !path.contains(['"', '\n', '\\', '$', '%'])).ok_or_else(|| {
        Failed(format!("the path {} has characters that a configuration can't contain", path.display()))
    })
}

const REST: &str = r#"
ServerName localhost
ErrorLog /dev/stderr
LogFormat "%h %l %u %t \"%r\" %>s %b" common
CustomLog /dev/stderr common
DirectoryIndex index.html index.shtml index.cgi index.pl
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
AddHandler cgi-script .cgi .pl
AddHandler psgi .psgi
IndexOptions FancyIndexing HTMLTable SuppressIcon SuppressRules FoldersFirst VersionSort NameWidth=* Charset=UTF-8
IndexHeadInsert "<meta name=\"viewport\" content=\"width=device-width\"><style>body{font:1rem/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}th{text-align:left}th,td{padding:0 1.5rem 0 0}</style>"
"#;

const ALLOWED: &str = "\
Require all granted
AllowOverride All
Options Indexes Includes ExecCGI FollowSymLinks
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_in_the_configuration() {
        let directory = std::env::temp_dir().canonicalize().unwrap();
        let args = Serve { directory: directory.clone(), listen: "127.0.0.1:81".parse().unwrap() };
        let (text, root) = configuration(&args).ok().unwrap();
        assert_eq!(root, directory.to_str().unwrap());
        assert!(text.contains(&format!("<Directory \"{root}\">")) && text.contains("Listen 127.0.0.1:81"));
        assert!(!text.contains("#0"), "{text}");
    }

    #[test]
    fn an_application_answers_for_all_urls() {
        let folder = std::env::temp_dir().canonicalize().unwrap();
        let file = folder.join(format!("serve-{}.psgi", std::process::id()));
        std::fs::write(&file, "sub { [200, [], []] }").unwrap();
        let args = Serve { directory: file.clone(), listen: "127.0.0.1:81".parse().unwrap() };
        let (text, _) = configuration(&args).ok().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(text.contains(&format!("PSGIApp \"{}\"", file.display())), "{text}");
        assert!(text.contains("<Location \"/\">\nSetHandler psgi"), "{text}");
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let args = |directory: &str| Serve {
            directory: PathBuf::from(directory),
            listen: "127.0.0.1:81".parse().unwrap(),
        };
        assert!(configuration(&args("/etc/passwd")).is_err());
        assert!(configuration(&args("/no/such")).is_err());
    }
}
