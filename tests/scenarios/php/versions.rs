//! Several versions of PHP at once. The other version is a copy of the program that says that it is another one.

use super::site;
use crate::faults::await_that;
use hostler_tests::{Php, Site, hostler};
use memchr::memmem;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// All programs in a folder of the site's.
fn with_programs(site: Site) -> Site {
    let site = site.dir("bin");
    for name in ["hostler", "hostler-master", "hostler-front", "hostler-site", "hostler-php"] {
        let (from, to) = (hostler().with_file_name(name), site.path("bin").join(name));
        fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop)).expect("a copy of the program");
    }
    let command = site.path("bin/hostler");
    site.command(command)
}

/// A copy of a file in which these bytes stand in the place of others, as many.
fn copy_with(from: &Path, to: &Path, old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let mut bytes = fs::read(from).expect("it can be read");
    let places: Vec<usize> = memmem::find_iter(&bytes, old).collect();
    assert!(!places.is_empty(), "{} has no {old:?}", from.display());
    places.iter().for_each(|at| bytes[*at..*at + new.len()].copy_from_slice(new));
    // What a program has mapped is another file.
    let beside = to.with_extension("new");
    fs::write(&beside, bytes).expect("ours");
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o755)).expect("ours");
    fs::rename(&beside, to).expect("ours");
}

/// The same, and beside them one for PHP 8.9.
fn with_two_versions(site: Site, php: &Php) -> Site {
    let site = with_programs(site);
    let program = hostler().with_file_name("hostler-php");
    let usual = format!("for PHP {}", php.number);
    copy_with(&program, &site.path("bin/hostler-php8.9"), usual.as_bytes(), b"for PHP 8.9");
    site
}

/// The library that a program of the test's own opens, at a path as long as the system's.
struct Library {
    link: PathBuf,
    file: PathBuf,
    system: PathBuf,
}

/// The system's, as programs name it.
fn system(php: &Php) -> PathBuf {
    fs::canonicalize(format!("/usr/lib/libphp{}.so", php.number)).expect("the library")
}

impl Library {
    /// Makes it, and the program.
    fn new(site: &Site, php: &Php) -> Self {
        let system = system(php);
        // As long as the other.
        let name = format!("/tmp/{:0width$}.so", std::process::id(), width = system.as_os_str().len() - 8);
        let (link, file) = (PathBuf::from(&name), site.path("libphp.so"));
        let program = site.path("bin/hostler-php");
        let old = system.as_os_str().as_encoded_bytes();
        copy_with(&hostler().with_file_name("hostler-php"), &program, old, name.as_bytes());
        symlink(&file, &link).expect("a link");
        let library = Self { link, file, system };
        library.is(&php.number, &php.number);
        library
    }

    /// Replaces it, as a package does: one of this version by one of another.
    fn is(&self, old: &str, new: &str) {
        copy_with(&self.system, &self.file, format!("{old}.").as_bytes(), format!("{new}.").as_bytes());
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.link);
    }
}

pub(super) fn host(name: &str, lines: &str) -> String {
    format!(
        "<VirtualHost *:@PORT@>\nServerName {name}.test\nDocumentRoot \"@ROOT@/htdocs\"\n{lines}\n</VirtualHost>\n"
    )
}

#[test]
fn each_virtual_host_has_the_version_that_it_asks_for() {
    let php = needs_php!();
    let text = "<?php echo basename(readlink('/proc/self/exe')), ' ', count(array_filter(array_keys(opcache_get_status()['scripts']), fn($s) => basename($s) != 'a.php'));";
    let site = site(&[("a.php", text), ("b.php", "<?php")])
        .config(&host("usual", ""))
        .config(&host("other", "PHPVersion 8.9"));
    let server = with_two_versions(site, php).start();
    let get = |name: &str, target: &str| server.get_with(target, &format!("Host: {name}.test\r\n")).text();
    for _ in 0..2 {
        assert_eq!(get("usual", "/a.php"), "hostler-php 0");
        assert_eq!(get("other", "/a.php"), "hostler-php8.9 0");
    }
    // What one has compiled is not there for the other.
    drop(get("usual", "/b.php"));
    assert_eq!(
        (get("usual", "/a.php"), get("other", "/a.php")),
        ("hostler-php 1".into(), "hostler-php8.9 0".into())
    );
}

/// Takes away the library that a program is linked with.
fn without_library(program: &Path, php: &Php) {
    let system = system(php).into_os_string().into_encoded_bytes();
    let gone = [&system[..system.len() - 2], b"no"].concat();
    copy_with(program, program, &system, &gone);
}

#[test]
fn a_version_that_is_removed_is_named_with_the_reason_and_goes_on_until_then() {
    let php = needs_php!();
    let site =
        site(&[("a.php", "<?php echo basename(readlink('/proc/self/exe'));"), ("b.php", "<?php echo 'b';")])
            .config(&host("usual", ""))
            .config(&host("other", "PHPVersion 8.9"));
    let server = with_two_versions(site, php).start();
    let get = |name: &str, target: &str| server.get_with(target, &format!("Host: {name}.test\r\n")).text();
    assert_eq!(
        (get("usual", "/a.php"), get("other", "/a.php")),
        ("hostler-php".into(), "hostler-php8.9".into())
    );
    let program = server.site().path("bin/hostler-php8.9");
    without_library(&program, php);
    server.signal(rustix::process::Signal::HUP);
    let reason = "hostler-php8.9 does not run";
    await_that("its library is missed", || server.console().contains(reason));
    let console = server.console();
    let line = console.lines().find(|line| line.contains(reason)).expect("it was there");
    assert!(
        line.contains(&format!("libphp{}.no", php.number))
            && line.contains("PHPVersion")
            && line.contains(&format!("(available: {})", php.number)),
        "{line}"
    );
    fs::remove_file(&program).expect("ours");
    server.signal(rustix::process::Signal::HUP);
    await_that("the program is missed", || {
        server.console().contains("no program hostler-php8.9 has been built")
    });
    assert_eq!((get("usual", "/b.php"), get("other", "/b.php")), ("b".into(), "b".into()));
}

#[test]
fn a_version_that_is_not_there_stops_the_start_and_is_named() {
    needs_php!();
    let said = site(&[]).config("PHPVersion 5.6").try_start().expect_err("there is no such version");
    assert!(said.contains("PHPVersion") && said.contains("hostler-php5.6"), "{said}");
}

#[test]
fn a_library_that_is_replaced_is_loaded_by_the_next_parent() {
    let php = needs_php!("posix");
    let number = &*php.number;
    let text = "<?php echo posix_getppid(), ' ', PHP_VERSION;";
    let site = with_programs(site(&[("a.php", text)]));
    let library = Library::new(&site, php);
    let server = site.config("StartServers 1\nMaxRequestWorkers 2").start();
    let first = server.get("/a.php").text();
    // Who runs goes on with what is loaded, also in new workers.
    library.is(number, number);
    assert_eq!(server.get("/a.php").text(), first);
    // A new generation looks.
    server.signal(rustix::process::Signal::HUP);
    await_that("the new library is loaded", || {
        let now = server.get("/a.php");
        now.status == 200 && now.text() != first
    });
    // One of another minor version, under the old one's name, can't be what the program was built for.
    library.is(number, "8.9");
    let second = server.get("/a.php").text();
    assert!(second.contains(&format!(" {number}.")), "{second}");
    server.signal(rustix::process::Signal::HUP);
    await_that("nothing is run by it", || server.get("/a.php").status >= 500);
    drop(server.await_error(&format!("and this program was built for {number}.")));
    // Once the package is whole again, so is the site.
    library.is(number, number);
    await_that("it is whole again", || server.get("/a.php").status == 200);
}

#[test]
fn php_ini_is_where_administrators_of_apache_have_it() {
    let php = needs_php!();
    let text = "<?php echo php_ini_loaded_file(), ' ', trim(explode(',', php_ini_scanned_files() ?: '')[0]);";
    let handler = "AddHandler application/x-httpd-php .php\n<Location /status>\nSetHandler server-status\n</Location>\n";
    let plain = || {
        Site::new()
            .file("htdocs/a.php", text)
            .file("conf/php.ini", "")
            .file("other/php.ini", "")
            .config(handler)
    };
    let of_apache = format!("/etc/php/{}/apache2", php.number);
    let (of_apache, scanned) = (Path::new(&of_apache).join("php.ini"), Path::new(&of_apache).join("conf.d"));
    for (line, wanted) in [
        ("", of_apache.is_file().then(|| of_apache.clone())),
        ("PHPINIDir \"@ROOT@/conf\"", Some("conf/php.ini".into())),
        ("PHPINIDir \"@ROOT@/other/php.ini\"\nPHPINIDir \"@ROOT@/conf\"", Some("other/php.ini".into())),
    ] {
        let server = plain().config(line).start();
        let wanted = wanted.map(|path| server.site().path("").join(path));
        let said = server.get("/a.php").text();
        let (ini, further) = said.split_once(' ').expect("both");
        if let Some(wanted) = wanted {
            assert_eq!(Path::new(ini), wanted, "{line}");
        }
        assert_eq!(Path::new(further).starts_with(&scanned), scanned.is_dir(), "{line}: {further}");
        let status = server.get("/status").text();
        assert!(status.contains(&format!("({ini})")), "{line}: {status}");
    }
}
