//! Finding out what there is here: Perl's modules, and techniques that Hostler has or does not have yet.

use super::Technique;
use super::files;
use crate::contestant;
use anyhow::Result;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why perl cannot load these modules, with the package that has them.
pub(super) fn perl(modules: &[&str], package: &str) -> Option<String> {
    let loads = modules.iter().map(|module| format!("-M{module}"));
    let mut command = Command::new("perl");
    command.args(loads).args(["-e", "1"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => None,
        Ok(_) => Some(format!("perl has no {}; apt-get install {package}", modules.join(", "))),
        Err(_) => Some("perl is not installed; apt-get install perl".to_owned()),
    }
}

/// A technique that every server has.
pub(super) fn technique(name: &'static str, unavailable: Option<String>) -> Technique {
    Technique { name, unavailable, lacking: Vec::new() }
}

/// Techniques that not every Hostler has, each with a directive that tells whether it does.
const ASKED: [(&str, &str, &str); 5] = [
    ("fastcgi", "FastCGI", "FcgidMaxProcesses 5"),
    ("php", "PHP", "php_admin_value memory_limit 64M"),
    ("wsgi", "Python (WSGI)", "WSGIScriptAlias /python /nonexistent"),
    ("asgi", "Python (ASGI)", "ASGIApp nothing:app"),
    ("servlet", "servlets", "ServletApp /servlet /nonexistent"),
];

/// A technique that Apache has where this module is installed.
fn with_module(
    name: &'static str,
    unavailable: Option<String>,
    (module, package): (&str, &str),
    asked: &str,
) -> Technique {
    let apache = crate::contestant::apache_module(module)
        .is_none()
        .then(|| ("apache", format!("Apache has no mod_{module}; apt-get install {package}")));
    let hostler = hostler_lacks(asked).map(|why| ("hostler", why));
    Technique { name, unavailable, lacking: apache.into_iter().chain(hostler).collect() }
}

/// FastCGI: Apache has it where mod_fcgid is installed.
pub(super) fn fastcgi(name: &'static str, unavailable: Option<String>) -> Technique {
    with_module(name, unavailable, ("fcgid", "libapache2-mod-fcgid"), "fastcgi")
}

/// PHP: Apache has it where mod_php is installed.
pub(super) fn php(unavailable: Option<String>) -> Technique {
    with_module("php", unavailable, ("php", "libapache2-mod-php8.2"), "php")
}

/// PHP in a process for each request: Apache starts php-cgi, Hostler forks its own.
pub(super) fn php_cgi(unavailable: Option<String>) -> Technique {
    of_hostler("php-cgi", "php", unavailable)
}

/// WSGI: Apache has it where mod_wsgi is installed.
pub(super) fn wsgi(unavailable: Option<String>) -> Technique {
    with_module("wsgi", unavailable, ("wsgi", "libapache2-mod-wsgi-py3"), "wsgi")
}

/// ASGI.
pub(super) fn asgi(unavailable: Option<String>) -> Technique {
    of_hostler("asgi", "asgi", unavailable)
}

/// An ASGI application's configuration, whose `@PYTHON@` is the interpreter.
pub(super) fn with_python(configuration: &str) -> String {
    let home = contestant::python_environment();
    let option = home.map(|home| format!(" \"python-home={}\"", home.display())).unwrap_or_default();
    configuration.replace(" @PYTHON@", &option)
}

/// Servlets, or JSP.
pub(super) fn servlet(name: &'static str, unavailable: Option<String>) -> Technique {
    of_hostler(name, "servlet", unavailable)
}

/// One that only peers made for it have beside Hostler.
fn of_hostler(name: &'static str, asked: &str, unavailable: Option<String>) -> Technique {
    let hostler = hostler_lacks(asked).map(|why| ("hostler", why));
    Technique { name, unavailable, lacking: hostler.into_iter().collect() }
}

/// Why Python has no such module, with the package that has it.
pub(super) fn python((module, package): (&str, &str)) -> Option<String> {
    // The system's, which mod_wsgi and gunicorn have: another one may come first on the way.
    let of_system = Path::new("/usr/bin/python3");
    let mut command = Command::new(if of_system.exists() { of_system } else { Path::new("python3") });
    command.args(["-c", &format!("import {module}")]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => None,
        Ok(_) => Some(format!("Python has no {module}; apt-get install {package}")),
        Err(_) => Some("python3 is not installed; apt-get install python3".to_owned()),
    }
}

/// Why PHP has no such extension, with the package that has it. Asked of the folder that Debian's PHP takes them from: there
/// may be no php on the command line.
pub(super) fn php_extension((name, package): (&str, &str)) -> Option<String> {
    let folders = std::fs::read_dir("/usr/lib/php").into_iter().flatten().flatten();
    let file = format!("{name}.so");
    let is_there = folders.map(|folder| folder.path().join(&file)).any(|path| path.is_file());
    (!is_there).then(|| format!("PHP has no {name}; apt-get install {package}"))
}

/// Why Hostler does not offer a technique: as `hostler check` says.
fn hostler_lacks(technique: &str) -> Option<String> {
    let (_, title, directive) = ASKED.into_iter().find(|(name, ..)| *name == technique)?;
    match check(directive) {
        Ok(said) if said.contains("not supported") || said.contains("unknown directive") => {
            Some(format!("this Hostler was built without {title}; ./setup.sh build and make build again"))
        }
        Ok(_) => None,
        Err(error) => Some(format!("{error:#}")),
    }
}

/// Returns the output of `hostler check` for a directive.
fn check(directive: &str) -> Result<String> {
    let Some(hostler) = crate::contestant::hostler() else {
        anyhow::bail!("the program hostler is not in the folder of this one");
    };
    let folder = tempfile::Builder::new().prefix("hostler-lab-").tempdir()?;
    files::write(folder.path(), "probe.conf", format!("Listen 127.0.0.1:65535\n{directive}\n").as_bytes())?;
    let file = folder.path().join("probe.conf");
    let output = Command::new(hostler).arg("check").arg("-f").arg(file).stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}
