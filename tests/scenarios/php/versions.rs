//! Several versions of PHP at once. The other version is a copy of the program that says that it is another one.

use super::site;
use hostler_tests::{Site, hostler};
use memchr::memmem;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// All programs in a folder of the site's, and beside them one for PHP 8.9.
fn with_two_versions(site: Site) -> Site {
    let site = site.dir("bin");
    for name in ["hostler", "hostler-master", "hostler-front", "hostler-site", "hostler-php"] {
        let (from, to) = (hostler().with_file_name(name), site.path("bin").join(name));
        fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop)).expect("a copy of the program");
    }
    let mut bytes = fs::read(hostler().with_file_name("hostler-php")).expect("the program");
    for at in memmem::find_iter(&bytes.clone(), b"for PHP 8.").collect::<Vec<_>>() {
        bytes[at + b"for PHP 8.".len()] = b'9';
    }
    let other = site.path("bin/hostler-php8.9");
    fs::write(&other, bytes).expect("the other version");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("its mode");
    let command = site.path("bin/hostler");
    site.command(command)
}

fn host(name: &str, lines: &str) -> String {
    format!(
        "<VirtualHost *:@PORT@>\nServerName {name}.test\nDocumentRoot \"@ROOT@/htdocs\"\n{lines}\n</VirtualHost>\n"
    )
}

#[test]
fn each_virtual_host_has_the_version_that_it_asks_for() {
    needs_php!();
    let text = "<?php echo basename(readlink('/proc/self/exe')), ' ', count(array_filter(array_keys(opcache_get_status()['scripts']), fn($s) => basename($s) != 'a.php'));";
    let site = site(&[("a.php", text), ("b.php", "<?php")])
        .config(&host("usual", ""))
        .config(&host("other", "PHPVersion 8.9"));
    let server = with_two_versions(site).start();
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

#[test]
fn a_version_that_is_not_there_stops_the_start_and_is_named() {
    needs_php!();
    let said = site(&[]).config("PHPVersion 5.6").try_start().expect_err("there is no such version");
    assert!(said.contains("PHPVersion") && said.contains("hostler-php5.6"), "{said}");
}
