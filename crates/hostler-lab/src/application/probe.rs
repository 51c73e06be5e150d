//! Finding out what there is here: Perl's modules, and techniques that Hostler has or does not have yet.

use super::Technique;
use super::files;
use anyhow::Result;
use std::process::{Command, Stdio};

/// Why perl cannot load these modules, with the package that has them.
pub(super) fn perl(modules: &[&str], package: &str) -> Option<String> {
    let loads = modules.iter().map(|module| format!("-M{module}"));
    let mut command = Command::new("perl");
    command.args(loads).args(["-e", "1"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => None,
        Ok(_) => Some(format!("perl has no {}; apt-get install {package}", modules.join(", "))),
        Err(_) => Some("there is no perl; apt-get install perl".to_owned()),
    }
}

/// A technique that every server has.
pub(super) fn technique(name: &'static str, unavailable: Option<String>) -> Technique {
    Technique { name, unavailable, lacking: Vec::new() }
}

/// Techniques that Hostler did not have when this was written, each with a directive of Apache's that tells whether
/// it has it by now.
const TO_COME: [(&str, &str, &str); 4] = [
    ("fastcgi", "FastCGI", "FcgidMaxProcesses 5"),
    ("php", "PHP", "php_admin_value memory_limit 64M"),
    ("python", "Python (WSGI)", "WSGIScriptAlias /python /nonexistent"),
    ("servlet", "servlets (AJP)", "JkMount /servlet worker"),
];

/// A technique to come that the lab has no program for.
pub(super) fn to_come(name: &'static str) -> Technique {
    let why = hostler_lacks(name).unwrap_or_else(|| "the lab has no program for it yet".to_owned());
    technique(name, Some(why))
}

/// FastCGI: Apache has it where mod_fcgid is installed.
pub(super) fn fastcgi(unavailable: Option<String>) -> Technique {
    let apache = crate::contestant::apache_module("fcgid")
        .is_none()
        .then(|| ("apache", "Apache has no mod_fcgid; apt-get install libapache2-mod-fcgid".to_owned()));
    let hostler = hostler_lacks("fastcgi").map(|why| ("hostler", why));
    Technique { name: "fastcgi", unavailable, lacking: apache.into_iter().chain(hostler).collect() }
}

/// PHP: Apache has it where mod_php is installed.
pub(super) fn php(unavailable: Option<String>) -> Technique {
    let apache = crate::contestant::apache_module("php")
        .is_none()
        .then(|| ("apache", "Apache has no mod_php; apt-get install libapache2-mod-php8.2".to_owned()));
    let hostler = hostler_lacks("php").map(|why| ("hostler", why));
    Technique { name: "php", unavailable, lacking: apache.into_iter().chain(hostler).collect() }
}

/// Why PHP has no such extension, with the package that has it. Asked of the folder that Debian's PHP takes them from: there
/// may be no php on the command line.
pub(super) fn php_extension((name, package): (&str, &str)) -> Option<String> {
    let folders = std::fs::read_dir("/usr/lib/php").into_iter().flatten().flatten();
    let file = format!("{name}.so");
    let is_there = folders.map(|folder| folder.path().join(&file)).any(|path| path.is_file());
    (!is_there).then(|| format!("PHP has no {name}; apt-get install {package}"))
}

/// Why Hostler does not offer a technique to come: as `hostler check` says.
fn hostler_lacks(technique: &str) -> Option<String> {
    let (_, title, directive) = TO_COME.into_iter().find(|(name, ..)| *name == technique)?;
    match check(directive) {
        Ok(said) if said.contains("not implemented") || said.contains("no such directive") => {
            Some(format!("Hostler has no {title} yet"))
        }
        Ok(_) => None,
        Err(error) => Some(format!("{error:#}")),
    }
}

/// What `hostler check` says about a directive.
fn check(directive: &str) -> Result<String> {
    let Some(hostler) = crate::contestant::hostler() else {
        anyhow::bail!("there is no hostler program beside this one");
    };
    let folder = tempfile::Builder::new().prefix("hostler-lab-").tempdir()?;
    files::write(folder.path(), "probe.conf", format!("Listen 127.0.0.1:65535\n{directive}\n").as_bytes())?;
    let file = folder.path().join("probe.conf");
    let output = Command::new(hostler).arg("check").arg("-f").arg(file).stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}
