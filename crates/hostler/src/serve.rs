//! `hostler serve`: a directory, a PSGI, WSGI or ASGI application, or one of servlets is served by a configuration that is made up here, in
//! Apache's words.
//!
//! People serve folders that were never meant to be public as a whole. So what is private by its name (`.git`, `.env`,
//! `.htpasswd`), what editors leave behind, and the sources of programs that nothing here runs are refused, with a page
//! that says why.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hostler_config::technique::{self, Served, Word, quoted};
use hostler_wire::plan::Identity;

use crate::Failed;
use crate::cli::Serve;
use crate::open_as::{Opener, enter};
use crate::plan::users;
use crate::run;

/// The user of a site when root serves a directory of root's.
const NOBODY: u32 = 64_991;

pub(crate) fn serve(args: &Serve) -> Result<(), Failed> {
    let served = Site::of(args)?;
    served.check_readable()?;
    if let Site::Application(application) = &served
        && !application.sentence.is_empty()
    {
        eprintln!("hostler: {}", application.sentence);
    }
    let words = ["serve".into(), served.word().into(), "--listen".into(), args.listen.to_string().into()];
    run::become_master(words.into_iter().collect::<Vec<OsString>>())
}

/// The served site.
enum Site {
    /// A document root.
    Directory(PathBuf),
    /// An application of some technique, for all URLs.
    Application(Served),
}

impl Site {
    fn of(args: &Serve) -> Result<Self, Failed> {
        let word = Word { path: &args.directory, user: as_user };
        if let Some(served) = technique::all().iter().find_map(|row| (row.serve.recognize)(&word)) {
            return Ok(Self::Application(served.map_err(Failed)?));
        }
        let shown = args.directory.display();
        let path = args.directory.canonicalize().map_err(|e| format!("{shown}: {e}"))?;
        if path.is_dir() {
            return Ok(Self::Directory(path));
        }
        Err(Failed(format!(
            "{shown} is neither a directory nor an application: file.psgi, file.py, module:name (Python), file.war"
        )))
    }

    /// Returns whether those who are to serve it can read it.
    fn check_readable(&self) -> Result<(), Failed> {
        let path = self.path();
        let (uid, refused) = if hostler_sys::process::is_root() {
            let (uid, gid) = owner(&path.metadata()?);
            let opener = Opener::start(&Identity { uid, gid, groups: Vec::new() })?;
            let opened = if path.is_dir() { opener.enter(path) } else { opener.read(path).map(drop) };
            (uid, opened.err())
        } else {
            let opened = if path.is_dir() { enter(path) } else { std::fs::File::open(path) };
            (hostler_sys::process::effective_ids().0, opened.err())
        };
        let Some(why) = refused else { return Ok(()) };
        let name = users::name(uid);
        let closed =
            path.ancestors().skip(1).filter(|at| at.metadata().is_ok_and(|data| data.mode() & 0o001 == 0));
        let hint = closed
            .last()
            .map(|at| format!("; perhaps because of {}, which not everybody may enter", at.display()));
        let (path, hint) = (path.display(), hint.unwrap_or_default());
        Err(Failed(format!("{path} would be served as {name}, who can't read it: {why}{hint}")))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Application(application) => &application.path,
        }
    }

    /// The word that means it.
    fn word(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Application(application) => &application.word,
        }
    }

    /// The directory, or that of the application.
    fn directory(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Application(application) => &application.directory,
        }
    }
}

/// The user and group that a file's application runs as, where that can be chosen.
fn as_user(path: &Path) -> std::io::Result<Option<(u32, u32)>> {
    let metadata = path.metadata()?;
    Ok(hostler_sys::process::is_root().then(|| owner(&metadata)))
}

/// The configuration's text, and its ServerRoot.
pub(crate) fn configuration(args: &Serve) -> Result<(String, String), Failed> {
    let served = Site::of(args)?;
    let root = quoted(served.directory()).map_err(Failed)?;
    let (user, group) = owner(&served.path().metadata()?);
    let mut text = String::new();
    let _ = writeln!(text, "Listen {}\nDocumentRoot \"{root}\"", args.listen);
    if hostler_sys::process::is_root() {
        let _ = writeln!(text, "User #{user}\nGroup #{group}");
    }
    text.push_str(REST);
    technique::all().iter().filter(|row| (row.is_there)()).for_each(|row| text.push_str(row.serve.lines));
    match &served {
        Site::Directory(_) => {
            let refused = refused();
            let _ = writeln!(text, "<Directory \"{root}\">\n{ALLOWED}</Directory>\n{refused}");
        }
        Site::Application(application) => text.push_str(&application.lines),
    }
    Ok((text, root.to_owned()))
}

/// The user and group to run as, for a directory or file with this owner.
fn owner(owner: &Metadata) -> (u32, u32) {
    let user = if owner.uid() == 0 { NOBODY } else { owner.uid() };
    let group = if owner.uid() == 0 || owner.gid() == 0 { user } else { owner.gid() };
    (user, group)
}

/// Returns the rules for files that are never sent as they are. A program gets a handler that refuses it, so that an
/// .htaccess file can give it one that runs it; a file that is private by its name is refused whatever such a file
/// says.
fn refused() -> String {
    let dotted = PROGRAMS.split(' ').map(|extension| format!(" .{extension}")).collect::<String>();
    let any = PROGRAMS.replace(' ', "|");
    format!(
        r#"
IndexIgnore .??* *~ *# *.swp RCS CVS *,v *,t
AddHandler program-source{dotted}
Action program-source /.program-source virtual
<LocationMatch "/(\.(?!well-known(/|$))|(CVS|RCS|SCCS|_darcs)(/|$))">
Require all denied
{private}
</LocationMatch>
<FilesMatch "^\.(?!well-known$)|\.env$">
Require all denied
{private}
</FilesMatch>
<FilesMatch "(?i)(^#.*#|~|\.sw[a-p])$|\.({any}|cgi|pl|psgi)[^.a-z0-9]">
Require all denied
{backup}
</FilesMatch>
<Location "/.program-source">
Require all denied
{program}
</Location>
"#,
        private = page("its name says that it is private (.git, .env, .htaccess, .svn and the like)"),
        backup = page("its name says that an editor left it behind"),
        program = page(
            "it is the source of a program, and nothing here runs it: hostler serve runs .cgi, .pl and .psgi.              In a file .htaccess beside it, AddHandler cgi-script makes it run,              AddHandler default-handler has it sent as it is (with its extension behind either)"
        ),
    )
}

/// An ErrorDocument that says why something is refused.
fn page(why: &str) -> String {
    format!(
        "ErrorDocument 403 \"<!DOCTYPE html><html lang=en><meta name=viewport content=width=device-width>\
         <title>403 Forbidden</title><h1>Forbidden</h1><p>This is not sent: {why}.</p></html>\""
    )
}

/// Extensions of programs that are often found in document roots and that need an engine of their own.
const PROGRAMS: &str = "php php3 php4 php5 php6 php7 php8 phtml pht phps phar inc py pyc pyo pyw pm rb erb jsp jspx jspf war \
                        wsgi fcgi asp aspx ascx ashx asmx cfm cfc lua tcl sh bash csh ksh zsh";

const REST: &str = r#"
ServerName localhost
ErrorLog /dev/stderr
LogFormat "%h %l %u %t \"%r\" %>s %b" common
CustomLog /dev/stderr common
DirectoryIndex index.html index.shtml index.cgi index.pl
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
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
