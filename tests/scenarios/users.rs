//! `/~user/`, black box: whose processes open the files and run the programs. Which URLs lead where is conformance's.

use hostler_tests::{SITE_UID, Server, Site, needs_root};

/// `nobody`, which every system has.
const NOBODY: u32 = 65_534;

const ID: &str = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'; id -u\n";

fn start() -> Server {
    let site = Site::new().config(
        "UserDir disabled\nUserDir enabled nobody\nUserDir \"@ROOT@/homes/*/www\"\n\
         <Directory \"@ROOT@/homes\">\nRequire all granted\nOptions +ExecCGI +Includes\nAllowOverride All\n\
         AddHandler cgi-script .cgi\nAddHandler server-parsed .shtml\n</Directory>\n\
         ScriptAlias /cgi/ \"@ROOT@/cgi/\"\n<Directory \"@ROOT@/cgi\">\nRequire all granted\n</Directory>\n",
    );
    site.file("homes/nobody/www/own.txt", "own")
        .owner("homes/nobody/www/own.txt", NOBODY)
        .mode("homes/nobody/www/own.txt", 0o600)
        .script("homes/nobody/www/id.cgi", ID)
        .owner("homes/nobody/www/id.cgi", NOBODY)
        .owner("homes/nobody/www", NOBODY)
        .file("homes/nobody/www/page.shtml", "<!--#include virtual=\"/cgi/id.cgi\" -->")
        .file(
            "homes/nobody/www/sub/.htaccess",
            "ErrorDocument 404 /cgi/id.cgi\nRewriteEngine On\nRewriteRule ^back$ /private.txt\n",
        )
        .script("cgi/id.cgi", ID)
        .owner("cgi/id.cgi", SITE_UID)
        .owner("cgi", SITE_UID)
        .file("htdocs/private.txt", "private")
        .owner("htdocs/private.txt", SITE_UID)
        .mode("htdocs/private.txt", 0o600)
        .start()
}

#[test]
fn each_user_s_files_and_programs_are_that_user_s() {
    needs_root!();
    let server = start();
    assert_eq!(server.get("/~nobody/own.txt").text(), "own");
    assert_eq!(server.get("/~nobody/id.cgi").text(), format!("{NOBODY}\n"));
    assert_eq!(server.get("/cgi/id.cgi").text(), format!("{SITE_UID}\n"));
    assert_eq!(server.get("/private.txt").text(), "private");
    // Asked for again, the same: nothing is remembered for the other.
    assert_eq!(server.get("/~nobody/own.txt").text(), "own");
}

#[test]
fn what_a_user_s_page_leads_to_is_whose_its_url_is() {
    needs_root!();
    let server = start();
    assert_eq!(server.get("/~nobody/page.shtml").text(), format!("{SITE_UID}\n"));
    let lost = server.get("/~nobody/sub/none");
    assert_eq!((lost.status, lost.text()), (404, format!("{SITE_UID}\n")));
    assert_eq!(server.get("/~nobody/sub/back").text(), "private");
}

#[test]
fn the_system_s_own_users_have_no_directory() {
    needs_root!();
    let site = Site::new().config("UserDir disabled\nUserDir enabled root daemon\nUserDir www\n");
    let server = site.start();
    for user in ["root", "daemon"] {
        assert_eq!(server.get(&format!("/~{user}/")).status, 404, "{user}");
    }
}

const BY_PERL: &str = "print \"Content-Type: text/plain\\n\\n$>\";\n";

#[test]
fn perl_and_its_workers_are_the_user_s_too() {
    needs_root!();
    let config = "UserDir disabled\nUserDir enabled nobody\nUserDir \"@ROOT@/homes/*/www\"\n\
         <Directory \"@ROOT@\">\nRequire all granted\nOptions +ExecCGI\nAddHandler perl-script .pl\n\
         PerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n</Directory>\n";
    let site = Site::new().config(config);
    let server = site
        .script("homes/nobody/www/id.pl", BY_PERL)
        .owner("homes/nobody/www/id.pl", NOBODY)
        .mode("homes/nobody/www/id.pl", 0o700)
        .file("htdocs/id.pl", BY_PERL)
        .owner("htdocs/id.pl", SITE_UID)
        .mode("htdocs/id.pl", 0o700)
        .start();
    let who = |target: &str| {
        let answer = server.get(target);
        assert_eq!(answer.status, 200, "{target}: {}", server.error_log());
        answer.text()
    };
    for _ in 0..2 {
        assert_eq!(who("/~nobody/id.pl"), NOBODY.to_string());
        assert_eq!(who("/id.pl"), SITE_UID.to_string());
    }
}

const BY_PHP: &str = "<?php\nheader('Content-Type: text/plain');\n\
    echo trim(shell_exec('id -u')), ' ', get_current_user(), ' ', is_readable($_GET['file'] ?? '-') ? 'reads' : 'reads not';\n";

#[test]
fn php_and_its_workers_are_the_user_s_too() {
    needs_root!();
    hostler_tests::needs_php!();
    let config = "UserDir disabled\nUserDir enabled nobody\nUserDir \"@ROOT@/homes/*/www\"\n\
         <Directory \"@ROOT@\">\nRequire all granted\n</Directory>\nPHPINIDir \"@ROOT@/php.ini\"\n\
         <FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n";
    let site = Site::new().config(config).file("php.ini", "log_errors=1\ndisplay_errors=0\n");
    let server = site
        .file("homes/nobody/www/id.php", BY_PHP)
        .owner("homes/nobody/www/id.php", NOBODY)
        .mode("homes/nobody/www/id.php", 0o600)
        .file("htdocs/id.php", BY_PHP)
        .owner("htdocs/id.php", SITE_UID)
        .mode("htdocs/id.php", 0o600)
        .start();
    let own = server.site().path("homes/nobody/www/id.php");
    let target = |url: &str| format!("{url}?file={}", own.display());
    for _ in 0..2 {
        let answer = server.get(&target("/~nobody/id.php"));
        assert_eq!(answer.text(), format!("{NOBODY} nobody reads"), "{}", server.error_log());
        // The site's own user can't open the other's files.
        let answer = server.get(&target("/id.php"));
        let text = answer.text();
        assert!(text.starts_with(&SITE_UID.to_string()) && text.ends_with("reads not"), "{text}");
    }
}
