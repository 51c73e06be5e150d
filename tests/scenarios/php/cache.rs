//! The cache of compiled scripts: whose it is, what is in it before the first request, and what is told of it.

use super::{INI, site};
use crate::faults::await_that;
use hostler_tests::needs_root;

#[test]
fn the_cache_of_scripts_is_in_sight() {
    needs_php!();
    let server = site(&[("a.php", "<?php echo 1;")])
        .config("<Location /status>\nSetHandler server-status\n</Location>\n<Location /metrics>\nSetHandler hostler-metrics\n</Location>")
        .start();
    await_that("it is so", || {
        drop(server.get("/a.php"));
        server.get("/metrics").text().contains("hostler_pool_opcache_scripts{pool=")
    });
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains("# TYPE hostler_pool_opcache_hits_total counter"), "{metrics}");
    assert!(
        server.get("/status").text().contains("opcache: bytes: 134217728"),
        "{}",
        server.get("/status").text()
    );
}

#[test]
fn a_cache_that_is_too_small_is_told_of() {
    needs_php!();
    // Texts that differ: the cache keeps one of those that are alike.
    let script =
        |at: u32| format!("<?php function f{at}() {{ return '{}'; }}", format!("{at} ").repeat(15_000));
    let many: Vec<(String, String)> = (0..300).map(|at| (format!("f{at}.php"), script(at))).collect();
    let ini = format!("{INI}opcache.memory_consumption=8\nopcache.interned_strings_buffer=1\n");
    let all = "<?php for ($i = (int) $_GET['from']; $i < $_GET['from'] + 100; $i++) include \"f$i.php\"; echo 'done';";
    let site = many
        .iter()
        .fold(site(&[("all.php", all)]), |site, (name, text)| site.file(&format!("htdocs/{name}"), text));
    let server = site.file("php.ini", &ini).start();
    for from in [0, 100, 200] {
        assert_eq!(server.get(&format!("/all.php?from={from}")).text(), "done");
    }
    await_that("it is so", || {
        drop(server.get("/all.php?from=200"));
        server.error_log().contains("raise opcache.memory_consumption")
    });
}

#[test]
fn what_is_compiled_while_the_cache_is_emptied_is_right() {
    needs_php!();
    // Names of its own in each, called from the other file. What forks goes on compiling when its request is over.
    let part = |at: u32| {
        format!(
            "<?php namespace Space{at}; class Class{at} {{ const NAME{at} = 'const{at}'; }} function f{at}() {{ return 'f{at}'; }}"
        )
    };
    let main = |at: u32| {
        format!(
            "<?php require 'part{at}.php'; usleep(1000); echo Space{at}\\f{at}(), get_class(new Space{at}\\Class{at}), Space{at}\\Class{at}::NAME{at};"
        )
    };
    let fork = "<?php if (function_exists('pcntl_fork') && pcntl_fork() === 0) {
        for ($i = 0; $i < 40; $i++) { usleep(500); include 'part' . $i . '.php'; } exit; } echo 'forked';";
    let many =
        (0..40).flat_map(|at| [(format!("part{at}.php"), part(at)), (format!("main{at}.php"), main(at))]);
    let site = many.fold(
        site(&[("fork.php", fork), ("reset.php", "<?php opcache_reset(); echo 'reset';")]),
        |site, (name, text)| site.file(&format!("htdocs/{name}"), text),
    );
    let ini = format!("{INI}opcache.memory_consumption=8\nopcache.interned_strings_buffer=1\n");
    let server = site.file("php.ini", &ini).config("StartServers 6\nMaxRequestWorkers 6").start();
    std::thread::scope(|scope| {
        for first in 0..4 {
            let server = &server;
            scope.spawn(move || {
                for round in 0..120 {
                    let at = (first * 7 + round * 3) % 40;
                    let right = format!("f{at}Space{at}\\Class{at}const{at}");
                    assert_eq!(server.get(&format!("/main{at}.php")).text(), right);
                    match round % 8 {
                        0 => assert_eq!(server.get("/reset.php").text(), "reset"),
                        4 => assert_eq!(server.get("/fork.php").text(), "forked"),
                        _ => {}
                    }
                }
            });
        }
    });
}

#[test]
fn edits_show_when_they_do_under_apache() {
    needs_php!();
    let ask = "<?php echo (int) in_array('part.php', array_map('basename', array_keys(opcache_get_status()['scripts'])));";
    let site = site(&[
        ("a.php", ask),
        ("all.php", "<?php include 'part.php';"),
        ("part.php", "<?php echo 1;"),
        ("freq.php", "<?php echo ini_get('opcache.revalidate_freq');"),
    ]);
    let write = |server: &hostler_tests::Server, text: &str, age: u64| {
        let path = server.site().path("htdocs/part.php");
        std::fs::write(&path, text).expect("ours");
        let file = std::fs::File::options().write(true).open(&path).expect("ours");
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(age)).expect("ours");
    };
    // As long as a file is younger than this, somebody may still be writing it: it is run, and not kept.
    let ini =
        "log_errors=1\ndisplay_errors=0\nopcache.file_update_protection=100000\nopcache.revalidate_freq=0\n";
    let server = site.file("php.ini", ini).config("MaxRequestWorkers 1").start();
    let answers =
        |server: &hostler_tests::Server| ["/all.php", "/a.php"].map(|target| server.get(target).text());
    assert_eq!(answers(&server), ["1", "0"]);
    write(&server, "<?php echo 2;", 200_000);
    assert_eq!(answers(&server), ["2", "1"]);
    write(&server, "<?php echo 3;", 300_000);
    assert_eq!(answers(&server)[0], "3");
    // What is kept is looked at again after so long.
    std::fs::write(server.site().path("php.ini"), ini.replace("freq=0", "freq=100000")).expect("ours");
    server.signal(rustix::process::Signal::HUP);
    await_that("the new php.ini counts", || server.get("/freq.php").text() == "100000");
    write(&server, "<?php echo 4;", 400_000);
    assert_eq!(answers(&server)[0], "4");
    write(&server, "<?php echo 5;", 500_000);
    assert_eq!(answers(&server)[0], "4");
}

#[test]
fn scripts_that_warm_a_pool_are_compiled_before_its_first_request() {
    needs_php!();
    let text = "<?php $s = opcache_get_status(); echo count(array_filter($s['scripts'], fn($s) => str_ends_with($s['full_path'], 'part.php')));";
    let server = site(&[
        ("index.php", "<?php error_log('warm'); include 'part.php'; echo 'goes nowhere';"),
        ("part.php", "<?php function part() {}"),
        ("a.php", text),
    ])
    .config("PHPWarm /index.php /missing.php")
    .start();
    assert_eq!(server.get("/a.php").text(), "1");
    drop(server.await_error("warm"));
    drop(server.await_error("PHPWarm /missing.php: the script did not run"));
}

#[test]
fn a_new_release_behind_a_link_is_new_to_php_at_once() {
    needs_php!();
    let text = |release: u32| {
        format!(
            "<?php require 'part.php'; echo basename(dirname(__FILE__)), part(), ' ', basename($_SERVER['DOCUMENT_ROOT']), {release};"
        )
    };
    let part = |release: u32| format!("<?php function part() {{ return {release}; }}");
    let site = site(&[])
        .file("r1/a.php", text(1))
        .file("r2/a.php", text(2))
        .file("r1/part.php", part(1))
        .file("r2/part.php", part(2));
    let current = site.path("current");
    std::os::unix::fs::symlink("r1", &current).expect("ours");
    let server = site
        .config("DocumentRoot \"@ROOT@/current\"\n<Directory \"@ROOT@\">\nRequire all granted\nHostlerPHPRealpath On\n</Directory>")
        .start();
    assert_eq!(server.get("/a.php").text(), "r11 r11");
    let next = server.site().path("next");
    std::os::unix::fs::symlink("r2", &next).expect("ours");
    std::fs::rename(&next, &current).expect("ours");
    await_that("it is so", || server.get("/a.php").text() == "r22 r22");
}

/// Adds the files that `host` of [`two_tenants`] needs.
fn tenant(site: hostler_tests::Site, name: &str, uid: u32) -> hostler_tests::Site {
    let look = "<?php if (isset($_GET['f'])) { echo @file_get_contents($_GET['f']) === false ? 'closed' : 'open'; exit; }\
                echo json_encode([fileowner(sys_get_temp_dir()), array_map('basename', array_map('dirname', array_keys(opcache_get_status()['scripts'])))]);";
    let site = site.file(&format!("{name}/a.php"), look).file(&format!("{name}/sess/s"), "secret");
    let own = ["", "/a.php", "/sess", "/sess/s"];
    let site = own.iter().fold(site, |site, part| site.owner(&format!("{name}{part}"), uid));
    site.mode(name, 0o700).mode(&format!("{name}/sess"), 0o700)
}

fn host(name: &str, uid: u32) -> String {
    format!(
        "<VirtualHost *:@PORT@>\nServerName {name}.test\nDocumentRoot \"@ROOT@/{name}\"\nAssignUserID #{uid} #{uid}\n\
         <Directory \"@ROOT@/{name}\">\nRequire all granted\n</Directory>\n</VirtualHost>\n"
    )
}

#[test]
fn two_tenants_share_no_cache_no_uploads_and_no_sessions() {
    needs_php!();
    needs_root!();
    let site = tenant(tenant(site(&[]), "anna", 64_111), "bert", 64_112);
    let server = site.config(&host("anna", 64_111)).config(&host("bert", 64_112)).start();
    let get = |name: &str, target: &str| server.get_with(target, &format!("Host: {name}.test\r\n")).text();
    for _ in 0..2 {
        assert_eq!(get("anna", "/a.php"), r#"[64111,["anna"]]"#);
        assert_eq!(get("bert", "/a.php"), r#"[64112,["bert"]]"#);
    }
    let file = server.site().path("anna/sess/s");
    let target = format!("/a.php?f={}", file.display());
    assert_eq!((get("anna", &target), get("bert", &target)), ("open".to_owned(), "closed".to_owned()));
}

#[test]
fn what_is_preloaded_is_there_for_every_script() {
    needs_php!();
    let site = site(&[("a.php", "<?php echo preloaded();")])
        .file("preload.php", "<?php function preloaded() { return 'there'; }");
    let ini = format!("{}opcache.preload={}\n", INI, site.path("preload.php").display());
    let server = site.file("php.ini", &ini).start();
    assert_eq!(server.get("/a.php").text(), "there");
    assert_eq!(server.get("/a.php").text(), "there");
}

#[test]
fn what_is_compiled_under_a_setting_of_the_administrator_s_is_not_used_under_another() {
    needs_php!();
    // opcache writes such a setting's value into the code that it keeps.
    let text = "<?php echo ini_get('memory_limit'), ' ', getmypid() > 0;";
    let section = "<Location \"/small\">\nphp_admin_value memory_limit 64M\n</Location>\nAlias /small \"@ROOT@/htdocs\"\n\
                   Alias /large \"@ROOT@/htdocs\"\n<Location \"/large\">\nphp_admin_value memory_limit 256M\n</Location>";
    let server = site(&[("a.php", text)]).config(section).start();
    for _ in 0..3 {
        let all = ["/small/a.php", "/large/a.php", "/a.php"].map(|target| server.get(target).text());
        assert_eq!(all, ["64M 1", "256M 1", "128M 1"]);
    }
}

#[test]
fn sections_with_more_than_a_hundred_different_settings_of_the_administrator_s_are_all_served() {
    needs_php!();
    let section = |n: u32| {
        format!(
            "Alias /s{n} \"@ROOT@/htdocs\"\n<Location \"/s{n}\">\nphp_admin_value memory_limit {n}M\n</Location>\n"
        )
    };
    let sections: String = (64..=168).map(section).collect();
    let server = site(&[("a.php", "<?php echo ini_get('memory_limit');")]).config(&sections).start();
    for n in 64..=168 {
        assert_eq!(server.get(&format!("/s{n}/a.php")).text(), format!("{n}M"));
    }
}
