//! Static files.

use hostler_tests::{SITE_UID, Site, needs_root};

#[test]
fn a_file_is_sent_with_its_length() {
    let server = Site::new().file("htdocs/hello.txt", "Hello").start();
    let answer = server.get("/hello.txt");
    assert_eq!((answer.status, answer.text()), (200, "Hello".into()));
    assert_eq!(answer.field("Content-Length"), Some("5"));
    assert_eq!(server.get("/missing.txt").status, 404);
}

#[test]
fn a_document_root_that_only_its_user_can_read_is_served() {
    needs_root!();
    let site = Site::new().file("htdocs/private.txt", "mine").mode("htdocs/private.txt", 0o600);
    let site = site.mode("htdocs", 0o700).owner("htdocs", SITE_UID).owner("htdocs/private.txt", SITE_UID);
    let server = site.start();
    assert_eq!(server.get("/private.txt").text(), "mine");
}
