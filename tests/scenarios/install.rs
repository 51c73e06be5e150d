//! `make install`: what lies where afterwards, and that the configuration which it brings serves at once.

use hostler_tests::{Site, hostler, is_root};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Installs the built programs below the site's folder `to`, as a packager would.
fn install(site: &Site) -> String {
    let released = site.path("built/release");
    if !released.exists() {
        std::fs::create_dir(site.path("built")).expect("a folder");
        symlink(hostler().parent().expect("its folder"), released).expect("a link");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/install.sh");
    let mut install = Command::new(script);
    install.env("DESTDIR", site.path("to")).env("PREFIX", "/usr").env("CARGO_TARGET_DIR", site.path("built"));
    let output = install.output().expect("install.sh runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    said.into_owned()
}

#[test]
fn the_sample_configuration_serves_and_is_not_written_over() {
    let site = Site::new().plain();
    install(&site);
    let file = site.path("to/etc/hostler/httpd.conf");
    let mut config = std::fs::read_to_string(&file).expect("the sample configuration");
    for (words, here) in [
        ("\"/usr/share/", "\"@ROOT@/to/usr/share/"),
        ("\"/etc/hostler\"", "\"@ROOT@/to/etc/hostler\""),
        ("/run/hostler.pid", "@ROOT@/hostler.pid"),
        ("/var/log/hostler/", "@ROOT@/logs/"),
        ("Listen 8080", "Listen 127.0.0.1:@PORT@"),
    ] {
        assert!(config.contains(words), "no {words} in\n{config}");
        config = config.replace(words, here);
    }
    assert!(site.path("to/var/log/hostler").is_dir());
    assert!(site.path("to/etc/logrotate.d/hostler").is_file());
    std::fs::write(&file, "# the administrator's\n").expect("the file");
    assert!(install(&site).contains("is left as it is"));
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "# the administrator's\n");

    let site = site.config(&config);
    let server = if is_root() { site.start() } else { site.argument("--single-user").start() };
    let answer = server.get("/");
    assert_eq!(answer.status, 200, "{}", server.error_log());
    assert!(answer.text().contains("It works"));
}
