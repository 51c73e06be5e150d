//! `hostler serve`: a directory is served by a configuration that is made up here, in Apache's words.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::Failed;
use crate::cli::Serve;
use crate::run;

/// What a site runs as when root serves a directory of root's.
const NOBODY: u32 = 64_991;

pub(crate) fn serve(args: &Serve) -> Result<(), Failed> {
    let directory = document_root(args)?;
    eprintln!("hostler: serving {} on http://{}/", directory.display(), args.listen);
    let words = ["serve".into(), directory.into(), "--listen".into(), args.listen.to_string().into()];
    run::become_master(words.into_iter().collect::<Vec<OsString>>())
}

fn document_root(args: &Serve) -> Result<PathBuf, Failed> {
    let shown = args.directory.display();
    let directory = args.directory.canonicalize().map_err(|e| format!("{shown}: {e}"))?;
    if !directory.is_dir() {
        return Err(Failed(format!("{shown} is not a directory")));
    }
    Ok(directory)
}

/// The configuration's text, and its ServerRoot.
pub(crate) fn configuration(args: &Serve) -> Result<(String, String), Failed> {
    let directory = document_root(args)?;
    let owner = directory.metadata()?;
    let root = directory.to_str().filter(|path| !path.contains(['"', '\n', '\\', '$', '%']));
    let root = root.ok_or_else(|| {
        Failed(format!("the path {} has characters that a configuration can't contain", directory.display()))
    })?;
    let user = if owner.uid() == 0 { NOBODY } else { owner.uid() };
    let group = if owner.uid() == 0 || owner.gid() == 0 { user } else { owner.gid() };
    let mut text = String::new();
    let _ = writeln!(text, "Listen {}\nDocumentRoot \"{root}\"", args.listen);
    if hostler_sys::process::is_root() {
        let _ = writeln!(text, "User #{user}\nGroup #{group}");
    }
    text.push_str(REST);
    let _ = writeln!(text, "<Directory \"{root}\">\n{ALLOWED}</Directory>");
    Ok((text, root.to_string()))
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
    fn what_is_no_directory_is_refused() {
        let args = |directory: &str| Serve {
            directory: PathBuf::from(directory),
            listen: "127.0.0.1:81".parse().unwrap(),
        };
        assert!(configuration(&args("/etc/passwd")).is_err());
        assert!(configuration(&args("/no/such")).is_err());
    }
}
