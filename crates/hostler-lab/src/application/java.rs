//! Programs in Java: compiled where there is a compiler and a Tomcat, and otherwise said to be not available.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Debian's folder of Java archives.
const JARS: &str = "/usr/share/java";
/// The archives that programs are compiled against.
const API: [&str; 2] = ["tomcat10-embed-core.jar", "tomcat10-annotations-api.jar"];

/// Why no servlet can be had here; its database's driver, if it has a database, is an archive, a class and a package.
pub(super) fn unavailable(driver: Option<(&str, &str, &str)>) -> Option<String> {
    let mut command = Command::new("javac");
    command.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        return Some("no Java compiler found; apt-get install openjdk-17-jdk-headless".to_owned());
    }
    if API.iter().any(|jar| !Path::new(JARS).join(jar).exists()) {
        return Some(
            "Tomcat is not installed; apt-get install libtomcat10-embed-java libtomcat10-java".to_owned(),
        );
    }
    let (driver, _, package) = driver?;
    let is_there = Path::new(JARS).join(driver).exists();
    (!is_there).then(|| format!("the database's driver for Java is missing; apt-get install {package}"))
}

/// Compiles `source` into the folder `classes`; both below `root`.
pub(super) fn compile(root: &Path, source: &str, classes: &str) -> Result<()> {
    let path = API.map(|jar| format!("{JARS}/{jar}")).join(":");
    let mut command = Command::new("javac");
    command.args(["-cp", &path, "-d"]).arg(root.join(classes)).arg(root.join(source));
    let output = command.stdin(Stdio::null()).output().context("cannot run javac")?;
    if !output.status.success() {
        bail!("javac cannot compile {source}:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Copies an archive of Debian's into a folder.
pub(super) fn copy(jar: &str, folder: &Path) -> Result<()> {
    let from = Path::new(JARS).join(jar);
    fs::copy(&from, folder.join(jar)).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}
