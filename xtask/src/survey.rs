//! `cargo xtask survey PACKAGE...`: what Hostler says of the configuration that Debian's packages of web applications
//! bring. Each package is downloaded and unpacked below `target/survey`, never installed; each Apache configuration in
//! it is checked, and each folder of `.htaccess` files. The result goes to `docs/survey.md`.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of checking a file.
enum Outcome {
    Accepted,
    /// Accepted but for what its installation makes: directories, certificates.
    Uninstalled(String),
    Refused(String),
}

/// A file of a package.
struct PackageFile {
    package: String,
    file: String,
    outcome: Outcome,
}

/// Surveys packages; without any, those that `docs/survey.md` lists.
pub(crate) fn run(packages: &[String]) -> Result<()> {
    let folder = std::env::current_dir()?.join("target/survey");
    fs::create_dir_all(&folder)?;
    let listed = listed()?;
    let packages = if packages.is_empty() { &listed } else { packages };
    if packages.is_empty() {
        bail!("name packages: cargo xtask survey PACKAGE...");
    }
    let mut all = Vec::new();
    for package in packages {
        match unpacked(&folder, package) {
            Ok(root) => check(package, &root, &mut all)?,
            Err(why) => eprintln!("{package}: {why:#}"),
        }
    }
    let text = report(&all);
    fs::write("docs/survey.md", &text)?;
    println!("{}", text.lines().nth(4).unwrap_or_default());
    Ok(())
}

/// The packages of the last survey.
fn listed() -> Result<Vec<String>> {
    let text = fs::read_to_string("docs/survey.md").unwrap_or_default();
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(name, _)| name.to_owned()));
    let mut names: Vec<String> = rows.collect();
    names.dedup();
    Ok(names)
}

/// Downloads and unpacks a package, if that was not done before.
fn unpacked(folder: &Path, package: &str) -> Result<PathBuf> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    if package.is_empty() || !package.chars().all(is_name) {
        bail!("this is not the name of a package");
    }
    let root = folder.join(package);
    if root.is_dir() {
        return Ok(root);
    }
    let status = Command::new("apt-get").args(["-q", "-q", "download", package]).current_dir(folder).status();
    if !status.context("apt-get does not start")?.success() {
        bail!("it can't be downloaded");
    }
    let start = format!("{package}_");
    let archive = files_of(folder).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(&start) && name.ends_with(".deb")
    });
    let archive = archive.context("the archive is not there")?;
    let status = Command::new("dpkg-deb").arg("-x").args([&archive, &root]).status()?;
    fs::remove_file(&archive)?;
    if status.success() { Ok(root) } else { bail!("it can't be unpacked") }
}

fn files_of(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// All files below a folder, links left alone.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = files_of(folder).collect();
    entries.sort();
    for path in entries {
        match fs::symlink_metadata(&path) {
            Ok(data) if data.is_dir() => below(&path, found),
            Ok(data) if data.is_file() => found.push(path),
            _ => {}
        }
    }
}

/// Checks the files of a package that are Apache's.
fn check(package: &str, root: &Path, all: &mut Vec<PackageFile>) -> Result<()> {
    let mut files = Vec::new();
    below(root, &mut files);
    for path in files {
        let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
        let said = if is_access_file(&name) {
            of_access_file(&path)?
        } else if is_configuration(&name, &path) {
            of_configuration(root, &path)?
        } else {
            continue;
        };
        all.push(PackageFile { package: package.to_owned(), file: format!("/{name}"), outcome: said });
    }
    Ok(())
}

fn is_access_file(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    matches!(
        name,
        ".htaccess" | "htaccess" | "htaccess.txt" | ".htaccess.dist" | "_.htaccess" | "sample.htaccess"
    )
}

/// By where it stands, or by its name and what is in it.
fn is_configuration(name: &str, path: &Path) -> bool {
    let file = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let stands = name.contains("/apache2/") || name.starts_with("etc/apache2/");
    let named = file.contains("apache") || file.contains("httpd") || stands;
    let is_text = [".conf", ".include", ".inc", ".example", ".sample", ".template"]
        .iter()
        .any(|end| file.ends_with(end))
        || file == "apache"
        || file == "apache2";
    named && is_text && !name.contains("/man/") && says_apache(path)
}

/// Returns whether a text has a line that only Apache's configurations have.
fn says_apache(path: &Path) -> bool {
    const STARTS: [&str; 8] = [
        "<Directory",
        "<Location",
        "<VirtualHost",
        "Alias ",
        "<IfModule",
        "ScriptAlias ",
        "<Files",
        "ProxyPass ",
    ];
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().any(|line| STARTS.iter().any(|start| line.trim_start().starts_with(start)))
}

fn of_access_file(path: &Path) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    fs::copy(path, folder.path().join(".htaccess"))?;
    said(Command::new(program()).args(["check", "--htaccess"]).arg(folder.path()))
}

/// A configuration is checked with the lines that Debian's own has before it.
fn of_configuration(package: &Path, path: &Path) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let logs = folder.path().display();
    let own = package.join("etc/apache2");
    let root = if own.is_dir() { own.display().to_string() } else { logs.to_string() };
    let before = format!(
        "ServerRoot \"{root}\"\nListen 127.0.0.1:8080\nUser www-data\nGroup www-data\nServerName survey.test\n\
         ErrorLog \"{logs}/error.log\"\nPidFile \"{logs}/pid\"\nDefine APACHE_LOG_DIR \"{logs}\"\nInclude \"{}\"\n",
        path.display()
    );
    let main = folder.path().join("main.conf");
    fs::write(&main, before)?;
    said(Command::new(program()).arg("check").arg("-f").arg(&main))
}

fn program() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    std::env::var_os("HOSTLER_BIN").map_or_else(|| target.join("debug/hostler"), PathBuf::from)
}

/// Returns the check's output on one line, without paths of this machine.
fn said(command: &mut Command) -> Result<Outcome> {
    let output = command.output().context("hostler does not start: cargo build first")?;
    if output.status.success() {
        return Ok(Outcome::Accepted);
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let (lacks, reasons): (Vec<String>, Vec<String>) =
        text.lines().filter_map(reason).partition(|why| is_lack(why));
    let first = |all: &[String]| all.iter().take(2).cloned().collect::<Vec<_>>().join("; ");
    Ok(if reasons.is_empty() && !lacks.is_empty() {
        Outcome::Uninstalled(first(&lacks))
    } else {
        Outcome::Refused(first(&reasons))
    })
}

/// Returns whether a reason is something that this machine lacks, and that a package's installation makes.
fn is_lack(why: &str) -> bool {
    ["does not exist; create it", "Include: cannot open", "No such file or directory"]
        .iter()
        .any(|part| why.contains(part))
}

/// The reason of an error's line, after its file and line, without what is this machine's.
fn reason(line: &str) -> Option<String> {
    let line = line.strip_prefix("hostler: error: ").unwrap_or(line);
    let (place, said) = line.split_once(": ")?;
    let (file, number) = place.rsplit_once(':')?;
    let is_place = file.starts_with('/') && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let said = said.split("; expected: ").next().unwrap_or_default();
    let words = said.split(' ').map(|word| {
        if word.contains("/tmp/") || word.contains("/target/survey/") { "(a file)" } else { word }
    });
    is_place.then(|| words.collect::<Vec<_>>().join(" ").replace('|', "\\|"))
}

fn report(all: &[PackageFile]) -> String {
    let lacking = all.iter().filter(|checked| matches!(checked.outcome, Outcome::Uninstalled(_))).count();
    let refused = all.iter().filter(|checked| matches!(checked.outcome, Outcome::Refused(_))).count();
    let mut packages: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter().for_each(|checked| *packages.entry(&checked.package).or_default() += 1);
    let mut out = format!(
        "# What Debian's packages configure\n\n`cargo xtask survey` checks the Apache configurations and `.htaccess` files \
         that packages of web applications bring.\n\n{} files of {} packages: {} accepted, {lacking} of them but for what their \
         installation makes, {refused} refused.\n\n\
         | package | file | what Hostler says |\n|---|---|---|\n",
        all.len(),
        packages.len(),
        all.len() - refused
    );
    for PackageFile { package, file, outcome } in all {
        let said = match outcome {
            Outcome::Accepted => "accepted",
            Outcome::Uninstalled(why) => &format!("accepted, where it is installed ({why})"),
            Outcome::Refused(why) => why,
        };
        let _ = writeln!(out, "| `{package}` | `{file}` | {said} |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_no_paths_of_this_machine() {
        let line = "hostler: error: /tmp/x/main.conf:7: DAV: is not supported: WebDAV is not there";
        assert_eq!(reason(line).unwrap(), "DAV: is not supported: WebDAV is not there");
        assert_eq!(reason("hostler: 3 errors"), None);
    }

    #[test]
    fn files_are_apache_s_by_their_names() {
        assert!(is_access_file("usr/share/x/.htaccess") && !is_access_file("usr/share/x/htaccess.php"));
    }
}
