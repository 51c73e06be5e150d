//! A request that waits for the server itself is ended, and the log names what it waited for (`HostlerWaitTimeout`).

use hostler_tests::{Site, needs_program};

/// A listing looks up its entries, and a folder without an index file has the same directory read for its variants.
#[test]
fn a_listing_with_negotiated_folders_ends() {
    let server = Site::new()
        .file("htdocs/d/sub/x", "x")
        .file("htdocs/d/page.html.en", "page")
        .config("<Directory \"@ROOT@/htdocs\">\nOptions Indexes MultiViews\nCheckSpelling On\n</Directory>")
        .start();
    for _ in 0..3 {
        let answer = server.get("/d/");
        assert_eq!(answer.status, 200);
        assert!(answer.text().contains("href=\"sub/\""), "{}", answer.text());
    }
}

#[test]
fn a_request_that_nothing_wakes_is_ended_and_the_log_says_where() {
    needs_program!("/bin/sleep");
    let server = Site::new()
        .file("htdocs/a.html", "a")
        .script("silent", "#!/bin/sh\nexec /bin/sleep 600\n")
        .config(
            "HostlerWaitTimeout 1\nRewriteEngine On\nRewriteMap silent \"prg:@ROOT@/silent\"\n\
             RewriteRule ^/mapped/(.*)$ /${silent:$1}",
        )
        .start();
    assert_eq!(server.get("/mapped/a.html").status, 500);
    let line = server.await_error("HostlerWaitTimeout");
    assert!(line.contains("in translate_name of rewrite, at /mapped/a.html"), "{line}");
    assert_eq!(server.get("/a.html").status, 200);
}

/// A wait for a client or a program has a time limit of its own.
#[test]
fn slow_programs_are_not_ended() {
    let slow = "#!/bin/sh\nsleep 3\nprintf 'Content-Type: text/plain\\n\\nslow'\n";
    let config = "HostlerWaitTimeout 1\nScriptAlias /cgi-bin/ \"@ROOT@/cgi-bin/\"\n\
                  <Directory \"@ROOT@/cgi-bin\">\nRequire all granted\n</Directory>";
    let server = Site::new().script("cgi-bin/slow", slow).config(config).start();
    assert_eq!(server.get("/cgi-bin/slow").text(), "slow");
}
