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
