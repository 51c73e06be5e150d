//! The known servers: names, programs, versions, and how to install a missing one.

use super::companion;
use crate::contestant::apache::Apache;
use crate::run::Server;
use rustix::process::geteuid;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A server and its way of working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hostler,
    /// Before a Tomcat.
    HostlerAjp,
    ApachePrefork,
    ApacheEvent,
    ApacheItk,
    /// Event, before a Tomcat.
    ApacheAjp,
    /// Event, before php-fpm.
    ApacheFpm,
    Nginx,
    /// Before php-fpm.
    NginxFpm,
    Starman,
    Gunicorn,
    Uvicorn,
    /// For WSGI.
    Granian,
    /// For ASGI.
    GranianAsgi,
    Tomcat,
}

impl Kind {
    pub(super) const ALL: [Self; 15] = [
        Self::Hostler,
        Self::HostlerAjp,
        Self::ApachePrefork,
        Self::ApacheEvent,
        Self::ApacheItk,
        Self::ApacheAjp,
        Self::ApacheFpm,
        Self::Nginx,
        Self::NginxFpm,
        Self::Starman,
        Self::Gunicorn,
        Self::Uvicorn,
        Self::Granian,
        Self::GranianAsgi,
        Self::Tomcat,
    ];

    /// As scenarios call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hostler => "hostler",
            Self::HostlerAjp => "hostler-ajp",
            Self::ApachePrefork => "apache-prefork",
            Self::ApacheEvent => "apache-event",
            Self::ApacheItk => "apache-itk",
            Self::ApacheAjp => "apache-ajp",
            Self::ApacheFpm => "apache-fpm",
            Self::Nginx => "nginx",
            Self::NginxFpm => "nginx-fpm",
            Self::Starman => "starman",
            Self::Gunicorn => "gunicorn",
            Self::Uvicorn => "uvicorn",
            Self::Granian => "granian",
            Self::GranianAsgi => "granian-asgi",
            Self::Tomcat => "tomcat",
        }
    }

    /// The one of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns whether it reads Apache's language by Apache's own program.
    pub(super) fn is_apache(self) -> bool {
        matches!(
            self,
            Self::ApachePrefork | Self::ApacheEvent | Self::ApacheItk | Self::ApacheAjp | Self::ApacheFpm
        )
    }

    fn title(self) -> &'static str {
        match self {
            Self::Hostler => "Hostler",
            Self::HostlerAjp => "Hostler and Tomcat",
            Self::ApachePrefork => "Apache prefork",
            Self::ApacheEvent => "Apache event",
            Self::ApacheItk => "Apache itk",
            Self::ApacheAjp => "Apache and Tomcat",
            Self::ApacheFpm => "Apache and php-fpm",
            Self::Nginx => "nginx",
            Self::NginxFpm => "nginx and php-fpm",
            Self::Starman => "Starman",
            Self::Gunicorn => "gunicorn",
            Self::Uvicorn => "uvicorn",
            Self::Granian => "Granian",
            Self::GranianAsgi => "Granian (ASGI)",
            Self::Tomcat => "Tomcat",
        }
    }

    /// The program, if it is there.
    pub(super) fn program(self) -> Option<PathBuf> {
        match self {
            Self::Hostler | Self::HostlerAjp => hostler(),
            Self::Nginx | Self::NginxFpm => installed("nginx").or_else(unpacked_nginx),
            Self::Gunicorn => installed("gunicorn"),
            Self::Uvicorn => of_environment("uvicorn"),
            Self::Granian | Self::GranianAsgi => of_environment("granian"),
            Self::Tomcat => companion::tomcat()?.into_iter().next(),
            Self::Starman => installed("starman"),
            Self::ApachePrefork | Self::ApacheEvent | Self::ApacheItk | Self::ApacheAjp | Self::ApacheFpm => {
                Some(Apache::find()?.program)
            }
        }
    }

    /// Returns the facts about this server on this machine.
    pub(super) fn server(self) -> Server {
        let unavailable = self.unavailable();
        let version = if self.program().is_some() { self.version() } else { None };
        Server { name: self.name().to_owned(), title: self.title().to_owned(), version, unavailable }
    }

    /// Why it cannot take part, and what would help.
    pub(super) fn unavailable(self) -> Option<String> {
        if self.program().is_none() {
            return Some(format!("is not installed; {}", self.remedy()));
        }
        let apache = if self.is_apache() { Apache::find() } else { None };
        let lacks = |module| apache.as_ref().is_some_and(|apache| apache.module(module).is_none());
        if let Some(why) = companion::missing(self) {
            return Some(why.to_owned());
        }
        match self {
            Self::ApacheAjp if lacks("proxy_ajp") => Some("this httpd has no mod_proxy_ajp".to_owned()),
            Self::ApacheFpm if lacks("proxy_fcgi") => Some("this httpd has no mod_proxy_fcgi".to_owned()),
            Self::ApacheItk if lacks("mpm_itk") => {
                Some("the module mpm_itk is not installed; apt-get install libapache2-mpm-itk".to_owned())
            }
            Self::ApacheItk if !geteuid().is_root() => {
                Some("needs root to change users; run the lab as root".to_owned())
            }
            Self::ApachePrefork if lacks("mpm_prefork") && !apache.as_ref()?.has_built_in("prefork") => {
                Some("this httpd has no prefork module".to_owned())
            }
            Self::ApacheEvent if lacks("mpm_event") && !apache.as_ref()?.has_built_in("event") => {
                Some("this httpd has no event module".to_owned())
            }
            _ => None,
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Hostler | Self::HostlerAjp => "`make build` makes it",
            Self::ApachePrefork | Self::ApacheEvent | Self::ApacheAjp | Self::ApacheFpm => {
                "apt-get install apache2-bin (and libapache2-mod-perl2 for mod_perl)"
            }
            Self::ApacheItk => "apt-get install apache2-bin libapache2-mpm-itk",
            Self::Nginx | Self::NginxFpm => "apt-get install nginx-light",
            Self::Gunicorn => "apt-get install gunicorn",
            Self::Uvicorn | Self::Granian | Self::GranianAsgi => {
                "./setup.sh bench installs it below target/oracle"
            }
            Self::Tomcat => {
                "apt-get install libtomcat10-embed-java libtomcat10-java libeclipse-jdt-core-java"
            }
            Self::Starman => "apt-get install starman",
        }
    }

    /// The first line of what it says of its version.
    fn version(self) -> Option<String> {
        if self == Self::Tomcat {
            return tomcat_version(&self.program()?);
        }
        let has_short = self.is_apache() || matches!(self, Self::Nginx | Self::NginxFpm);
        let flag = if has_short { "-v" } else { "--version" };
        let output = Command::new(self.program()?).arg(flag).output().ok()?;
        let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().next()?.trim();
        let line = line.split_once("version: ").map_or(line, |(_, version)| version);
        let perl = if self.is_apache() { Apache::find()?.mod_perl_version() } else { None };
        Some(perl.map_or_else(|| line.to_owned(), |perl| format!("{line}, {perl}")))
    }
}

/// The jar's name leads to one that has it: `tomcat10-embed-core-10.1.60.jar`.
fn tomcat_version(jar: &Path) -> Option<String> {
    let file = jar.canonicalize().ok()?;
    let version = file.file_stem()?.to_str()?.rsplit('-').next()?;
    Some(format!("Tomcat {version}"))
}

/// Hostler as `HOSTLER_BIN` names it, or the running program itself, or what was built beside it.
pub(crate) fn hostler() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("HOSTLER_BIN") {
        return Some(PathBuf::from(named)).filter(|path| path.is_file());
    }
    let this = std::env::current_exe().ok()?;
    let folders = this.ancestors().skip(1).take(2);
    folders.map(|folder| folder.join("hostler")).find(|path| path.is_file())
}

/// A program in the usual places, also those that are not in every user's `PATH`.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/sbin", "/bin"];
    let folders = std::env::split_paths(&path).chain(usual.into_iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A program of the virtual environment that `setup.sh` makes of packages that the system does not have.
pub(super) fn of_environment(name: &str) -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let places = this.ancestors().map(|folder| folder.join("oracle/python/bin").join(name));
    places.take(5).find(|path| path.is_file())
}

/// Returns the program in a developer's checkout that has it without installing it.
fn unpacked_nginx() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let places = this.ancestors().map(|folder| folder.join("oracle/nginx/usr/sbin/nginx"));
    places.take(5).find(|path| path.is_file())
}
