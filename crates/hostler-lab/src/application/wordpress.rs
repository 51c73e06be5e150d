//! WordPress as Debian packages it, on a MariaDB of the run's own; installed by its own functions.

use super::mariadb::{self, Mariadb};
use super::{LaidOut, Server, Technique, files, probe};
use crate::contestant::{Site, program_file};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CONFIGURATION: &str = include_str!("../../../../lab/applications/isolation/wordpress/wp-config.php");
const INSTALL: &str = include_str!("../../../../lab/applications/isolation/wordpress/install.php");

/// One host with nothing else, for `cargo xtask bench`.
const ALONE: &str = include_str!("../../../../lab/applications/wordpress/site.conf");
const ALONE_OWN: [(&str, &str); 2] = [
    ("apache-fpm", include_str!("../../../../lab/applications/wordpress/apache-fpm.conf")),
    ("nginx-fpm", include_str!("../../../../lab/applications/wordpress/nginx.conf")),
];

/// PHP's settings, for all who run it: an opcode cache as packages have it, and the database's extensions.
const SETTINGS: &str = "log_errors = On\ndisplay_errors = Off\noutput_buffering = 4096\nmemory_limit = 128M\n\
                        opcache.memory_consumption = 64\n";

/// The parts of the package that do not belong to the site: configuration of other servers, and translations.
const LEFT_OUT: [&str; 4] =
    [".htaccess", "wp-config.php", "wp-includes/certificates/ca-bundle.crt", "wp-content/languages"];

/// Why it cannot be had here.
pub(super) fn unavailable() -> Option<String> {
    let missing = [
        (source(), "WordPress", "wordpress"),
        (mariadb::program(), "MariaDB", "mariadb-server"),
        (program_file("php8.2"), "php8.2", "php8.2-cli"),
        (extension("mysqli"), "PHP's mysqli", "php8.2-mysql"),
    ];
    let (_, what, package) = missing.into_iter().find(|(path, ..)| path.is_none())?;
    Some(format!("{what} is missing; ./setup.sh test unpacks it, or apt-get install {package}"))
}

/// php-cgi: installed, or unpacked by `setup.sh`.
fn php_cgi() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let copies = this.ancestors().take(5).map(|folder| folder.join("oracle/php8.2-cgi/usr/bin/php-cgi8.2"));
    program_file("php-cgi8.2").or_else(|| copies.into_iter().find(|path| path.is_file()))
}

/// Why there is none.
pub(super) fn no_php_cgi() -> Option<String> {
    let why = "php-cgi8.2 is missing; ./setup.sh test unpacks it, or apt-get install php8.2-cgi";
    php_cgi().is_none().then(|| why.to_owned())
}

/// Puts it below `root/wordpress`, and starts its database.
///
/// # Errors
/// A full disk, a database that does not start, or what PHP says.
pub(super) fn lay_out(root: &Path) -> Result<Mariadb> {
    let database = Mariadb::start()?;
    let site = root.join("wordpress/site");
    files::make_folder(root, Path::new("wordpress/site"))?;
    copy(&source().context("WordPress is not installed")?, &site, Path::new(""))?;
    let configuration = CONFIGURATION.replace("@SOCKET@", &database.socket().to_string_lossy());
    files::write(root, "wordpress/site/wp-config.php", configuration.as_bytes())?;
    files::write(root, "wordpress/php.ini", settings()?.as_bytes())?;
    files::write(root, "wordpress/install.php", INSTALL.as_bytes())?;
    install(root, &site)?;
    copy_php_cgi(root)?;
    Ok(database)
}

/// Puts php-cgi below `root/cgi-bin`, where there is one.
///
/// # Errors
/// A full disk.
pub(super) fn copy_php_cgi(root: &Path) -> Result<()> {
    let Some(program) = php_cgi() else { return Ok(()) };
    files::make_folder(root, Path::new("cgi-bin"))?;
    // A copy keeps its mode: everybody may run it.
    fs::copy(program, root.join("cgi-bin/php-cgi"))?;
    Ok(())
}

/// Returns the requirements of WordPress as an application of its own.
pub(super) fn techniques() -> Vec<Technique> {
    vec![probe::php(unavailable())]
}

/// The application of its own.
pub(super) fn lay_out_alone(root: &Path) -> Result<LaidOut> {
    let database = lay_out(root)?;
    files::write(root, "htdocs/index.html", b"<!DOCTYPE html><title>WordPress</title>\n")?;
    let site = Site {
        root: root.to_owned(),
        configuration: ALONE.to_owned(),
        own: ALONE_OWN.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
        php_ini: Some("wordpress/php.ini".into()),
        ..Site::default()
    };
    Ok(LaidOut { site, database: Some(Server::Mariadb(database)) })
}

fn source() -> Option<PathBuf> {
    mariadb::unpacked("usr/share/wordpress/wp-load.php")?.parent().map(Path::to_owned)
}

/// PHP's extension of this name, where Debian has it.
fn extension(name: &str) -> Option<PathBuf> {
    mariadb::unpacked(&format!("usr/lib/php/20220829/{name}.so"))
}

fn settings() -> Result<String> {
    let mut text = SETTINGS.to_owned();
    let loaded =
        Command::new("php8.2").arg("-m").stdin(Stdio::null()).output().context("cannot run php8.2")?;
    let loaded = String::from_utf8_lossy(&loaded.stdout).to_lowercase();
    for name in ["mysqlnd", "mysqli"] {
        if !loaded.lines().any(|line| line == name) {
            let path = extension(name).with_context(|| format!("PHP has no {name}"))?;
            text.push_str(&format!("extension = {}\n", path.canonicalize()?.display()));
        }
    }
    Ok(text)
}

/// Copies a folder; what links lead to, too: the site is one folder, as a user would upload it.
fn copy(from: &Path, to: &Path, below: &Path) -> Result<()> {
    for entry in fs::read_dir(from.join(below))? {
        let path = below.join(entry?.file_name());
        if LEFT_OUT.iter().any(|name| path == Path::new(name)) {
            continue;
        }
        let Ok(found) = fs::metadata(from.join(&path)) else {
            // A link to a package that is not here.
            continue;
        };
        if found.is_dir() {
            files::make_folder(to, &path)?;
            copy(from, to, &path)?;
        } else {
            files::write(to, &path.to_string_lossy(), &fs::read(from.join(&path))?)?;
        }
    }
    Ok(())
}

fn install(root: &Path, site: &Path) -> Result<()> {
    let mut command = Command::new("php8.2");
    command.arg("-c").arg(root.join("wordpress/php.ini")).arg(root.join("wordpress/install.php")).arg(site);
    let output = command.stdin(Stdio::null()).output().context("cannot run php8.2")?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("WordPress cannot be installed: {}", String::from_utf8_lossy(&said));
    }
    Ok(())
}
