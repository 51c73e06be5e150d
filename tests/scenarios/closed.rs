//! Missing modules and handlers close access and never open it: blocks of configuration that would have to be left out,
//! sources of programs that nothing runs.
//!
//! Apache's answers to the same are in `conformance/cases/types.toml`; blocks alone are tried in `hostler-config`.

use hostler_tests::{Site, hostler, needs_program};
use std::process::Command;

/// The text that no response may contain.
const SOURCE: &str = "<?php $password = 'secret'; ?>\n";

/// Names of programs' sources.
const NAMES: &str = "a.php a.PHP a.phtml a.php7 a.phps a.inc a.py a.pyc a.pl a.pm a.cgi a.rb a.jsp a.jspx a.war a.wsgi a.psgi \
                     a.asp a.aspx a.cfm a.lua a.tcl a.sh a.php.bak a.php.en a.php~";

/// As packages of PHP's process manager bring it along, for a module that is not there.
const FPM: &str = r#"
<IfModule !mod_php8.c>
<IfModule dumpio_module>
    <IfModule setenvif_module>
        SetEnvIfNoCase ^Authorization$ "(.+)" HTTP_AUTHORIZATION=$1
    </IfModule>
    <FilesMatch ".+\.ph(?:ar|p|tml)$">
        SetHandler "proxy:unix:/run/fpm.sock|fcgi://localhost"
    </FilesMatch>
    <FilesMatch ".+\.phps$">
        Require all denied
    </FilesMatch>
    <FilesMatch "^\.ph(?:ar|p|ps|tml)$">
        Require all denied
    </FilesMatch>
</IfModule>
</IfModule>
"#;

const LOAD: &str = "LoadModule dumpio_module modules/mod_dumpio.so\n";

/// Returns whether `hostler check` accepts the configuration, and what it says.
fn check(site: &Site) -> (bool, String) {
    let file = site.write_config(8080);
    let output = Command::new(hostler()).arg("check").arg("-f").arg(file).output().expect("hostler check");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_module_that_is_loaded_and_missing_does_not_start_where_its_block_guards() {
    let site = Site::new().file("fpm.conf", FPM).file("htdocs/x.php", SOURCE);
    let site = site.config(&format!("{LOAD}Include fpm.conf"));
    let (accepted, said) = check(&site);
    assert!(!accepted, "{said}");
    for word in ["fpm.conf:3: IfModule", "dumpio_module", "SetEnvIfNoCase", "LoadModule"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let printed = site.try_start().expect_err("a refusal");
    assert!(printed.contains("fpm.conf:3"), "{printed}");
}

#[test]
fn without_the_loadmodule_the_source_stays_where_it_is() {
    let server = Site::new()
        .file("fpm.conf", FPM)
        .file("htdocs/x.php", SOURCE)
        .file("htdocs/x.phps", SOURCE)
        .config("Include fpm.conf")
        .start();
    for target in ["/x.php", "/x.phps", "/x.php/more", "/X.PHP"] {
        let answer = server.get(target);
        assert!(answer.status >= 403 && !answer.text().contains("secret"), "{target}: {}", answer.status);
    }
    assert_eq!(server.get("/x.php").status, 403);
    let line = server.await_error("x.php is the source of a program");
    assert!(line.contains("AddType text/plain"), "{line}");
}

#[test]
fn a_program_s_source_comes_by_no_way() {
    let names = || NAMES.split_whitespace();
    let site = names().fold(Site::new(), |site, name| site.file(&format!("htdocs/{name}"), SOURCE));
    let site = site
        .file("htdocs/page.shtml", "[<!--#include virtual=\"a.php\" -->][<!--#include file=\"a.inc\" -->]")
        .file("htdocs/all/a.php", SOURCE)
        .file("htdocs/info/a.php", SOURCE)
        .file("htdocs/list/HEADER.php", SOURCE)
        .file("htdocs/index/index.php", SOURCE)
        .config(
            "Options +Includes +Indexes\nAddLanguage en .en\nAddType text/html .shtml\n\
             AddOutputFilter INCLUDES .shtml\nErrorDocument 404 /a.php\nProtocols h2c http/1.1\n\
             AddOutputFilterByType DEFLATE text/html text/plain\nHeaderName HEADER.php\n\
             <Directory \"@ROOT@/htdocs/all\">\nSetOutputFilter INCLUDES\n</Directory>\n\
             <Directory \"@ROOT@/htdocs/info\">\nAcceptPathInfo On\nModMimeUsePathInfo On\n</Directory>\n\
             <Directory \"@ROOT@/htdocs/index\">\nDirectoryIndex index.php index.html\n</Directory>",
        );
    let server = site.start();
    for name in names() {
        // Twice: what the fast path remembers must not be this.
        for _ in 0..2 {
            let answer = server.get(&format!("/{name}"));
            assert_eq!((answer.status, answer.text().contains("secret")), (403, false), "{name}");
        }
    }
    for fields in ["Range: bytes=0-20", "Accept-Encoding: gzip", "If-None-Match: \"x\""] {
        let answer = server.get_with("/a.php", &format!("Host: localhost\r\n{fields}\r\n"));
        assert_eq!((answer.status, answer.text().contains("secret")), (403, false), "{fields}");
    }
    let mut client = server.connect();
    client.send("HEAD /a.php HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let head = client.head_response();
    assert_eq!((head.status, head.field("ETag"), head.field("Accept-Ranges")), (403, None, None));
    for target in
        ["/missing", "/all/a.php", "/index/", "/list/", "/page.shtml", "/a.php?x", "/info/a.php/b.html"]
    {
        let answer = server.get(target);
        assert!(!answer.text().contains("secret"), "{target}: {}", answer.text());
    }
    assert_eq!(server.get("/index/").status, 403);
    // A listing names it.
    assert!(server.get("/list/").text().contains("HEADER.php"));
}

#[test]
fn a_page_includes_its_pieces_though_they_are_called_as_php_s() {
    let piece = "<p>a piece, <!--#echo var=\"DOCUMENT_NAME\" --></p>";
    let include = |name: &str| format!("[<!--#include virtual=\"{name}\" -->]");
    let page = ["menu.inc", "php.inc", "short.inc", "asp.inc", "x.php.inc", "long.inc"].map(include).concat();
    let server = Site::new()
        .file("htdocs/page.shtml", page)
        .file("htdocs/menu.inc", piece)
        .file("htdocs/php.inc", format!("{piece}{SOURCE}"))
        .file("htdocs/short.inc", "<?='secret'?>")
        .file("htdocs/asp.inc", "<%= \"secret\" %>")
        .file("htdocs/x.php.inc", "secret")
        .file("htdocs/long.inc", "secret".repeat(20_000))
        .config("Options +Includes\nAddType text/html .shtml\nAddOutputFilter INCLUDES .shtml")
        .start();
    let error = "[an error occurred while processing this directive]";
    for _ in 0..2 {
        let text = server.get("/page.shtml").text();
        assert_eq!(text, format!("[{piece}]{}", format!("[{error}]").repeat(5)));
    }
    assert_eq!(server.get("/menu.inc").status, 403);
}

#[test]
fn a_program_s_source_does_not_come_over_http_2_either() {
    needs_program!("/usr/bin/curl");
    let server = Site::new().file("htdocs/a.php", SOURCE).config("Protocols h2c http/1.1").start();
    let url = format!("http://127.0.0.1:{}/a.php", server.port());
    let arguments = ["-sS", "--http2-prior-knowledge", "-w", " %{http_code} %{http_version}", &url];
    let output = Command::new("curl").args(arguments).output().expect("curl");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.ends_with(" 403 2") && !said.contains("secret"), "{said}");
}

#[test]
fn what_the_configuration_calls_a_text_is_sent_as_one() {
    let server = Site::new()
        .file("htdocs/type/a.py", SOURCE)
        .file("htdocs/force/a.php", SOURCE)
        .file("htdocs/handler/a.pl", SOURCE)
        .file("htdocs/name/a.php.txt", SOURCE)
        .file("htdocs/own/.htaccess", "AddType text/x-python .py\n")
        .file("htdocs/own/a.py", SOURCE)
        .file("htdocs/page/a.inc", "<!--#echo var=\"DOCUMENT_NAME\" -->")
        .config(
            "<Directory \"@ROOT@/htdocs\">\nAllowOverride FileInfo\nOptions +Includes\n</Directory>\n\
             <Directory \"@ROOT@/htdocs/type\">\nAddType text/plain .py\n</Directory>\n\
             <Directory \"@ROOT@/htdocs/force\">\nForceType text/plain\n</Directory>\n\
             <Directory \"@ROOT@/htdocs/handler\">\nAddHandler default-handler .pl\n</Directory>\n\
             <Directory \"@ROOT@/htdocs/page\">\nAddHandler server-parsed .inc\n</Directory>",
        )
        .start();
    for target in ["/type/a.py", "/force/a.php", "/handler/a.pl", "/name/a.php.txt", "/own/a.py"] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text().as_str()), (200, SOURCE), "{target}");
    }
    assert_eq!(server.get("/page/a.inc").text(), "a.inc");
}

#[test]
fn an_access_file_whose_guard_would_be_left_out_closes_its_directory() {
    let rules =
        "# no code\n<IfModule mod_dav.c>\nRewriteEngine On\nRewriteRule ^(config|logs)/ - [F]\n</IfModule>\n";
    let php = "<IfModule mod_php.c>\nphp_flag engine off\n</IfModule>\n";
    let server = Site::new()
        .file("htdocs/app/.htaccess", rules)
        .file("htdocs/app/config/settings.txt", SOURCE)
        .file("htdocs/uploads/.htaccess", php)
        .file("htdocs/uploads/a.txt", "a")
        .file("htdocs/other/a.txt", "a")
        .config("<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>")
        .start();
    for target in ["/app/config/settings.txt", "/app/", "/app/missing"] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text().contains("secret")), (500, false), "{target}");
    }
    let line = server.await_error(".htaccess:2: IfModule: Hostler does not have mod_dav.c");
    assert!(line.contains("RewriteEngine (") && line.contains(".htaccess:3)"), "{line}");
    assert_eq!((server.get("/other/a.txt").status, server.get("/uploads/a.txt").status), (200, 200));
}

#[test]
fn check_judges_access_files_as_the_server_does() {
    let files = [
        ("settings", "<IfModule mod_php7.c>\nphp_value memory_limit 300M\n</IfModule>\n", 200),
        ("guarded", "<IfModule mod_php7.c>\nphp_value memory_limit 300M\nDeny from all\n</IfModule>\n", 500),
        ("admin", "<IfModule mod_php.c>\nphp_admin_value memory_limit 300M\n</IfModule>\n", 500),
        ("python", "<IfModule mod_python.c>\nPythonHandler a\n</IfModule>\n", 200),
        ("handler", "PythonHandler a\n", 500),
    ];
    let site = Site::new().config("<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>");
    let site = files.iter().fold(site, |site, (name, text, _)| {
        site.file(&format!("htdocs/{name}/.htaccess"), text).file(&format!("htdocs/{name}/a.txt"), "a text")
    });
    let server = site.start();
    let folder = server.site().path("htdocs");
    let output =
        Command::new(hostler()).arg("check").arg("--htaccess").arg(&folder).output().expect("hostler check");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success(), "{said}");
    for (name, _, status) in files {
        assert_eq!(server.get(&format!("/{name}/a.txt")).status, status, "{name}");
        let refused = format!("{}/.htaccess:", folder.join(name).display());
        let is_refused = said.lines().any(|line| line.starts_with(&refused));
        assert_eq!(is_refused, status == 500, "{name}: {said}");
    }
}

#[test]
fn check_tells_what_will_always_fail() {
    let site = Site::new().config(
        "<Directory \"@ROOT@/htdocs\">\nAddHandler no-such-handler .fcgi\n\
         SetHandler \"proxy:unix:/run/x.sock|gopher://localhost\"\n</Directory>\n\
         <Location /mine>\nSetHandler mine\nAction mine /cgi-bin/mine\n</Location>",
    );
    let (accepted, said) = check(&site);
    assert!(accepted, "{said}");
    for word in ["no-such-handler", "expected proxy:"] {
        let lines: Vec<_> = said.lines().filter(|line| line.contains(word)).collect();
        assert!(lines.len() == 1 && lines[0].contains("httpd.conf:"), "{word}: {said}");
    }
    assert!(!said.contains("mine"), "{said}");
    let server = site.file("htdocs/x.txt", SOURCE).start();
    assert_eq!(server.get("/x.txt").status, 500);
}
