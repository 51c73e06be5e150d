//! The measure itself: a neighbour that does nothing out of the ordinary costs nothing.

use super::{Attack, Owned, tenants};
use hostler_tests::needs_root;

#[test]
fn a_neighbour_who_is_visited_hurts_nobody() {
    needs_root!();
    let program = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nA runs'\n";
    let server = tenants("").a_file("htdocs/a.html", "A's page").a_script("cgi-bin/a", program).start();
    Attack::new("visitors of A's files and programs", 16).run(&server, || {
        for _ in 0..50 {
            assert_eq!(server.get_with("/cgi-bin/a", "Host: a.test\r\n").text(), "A runs");
            assert_eq!(server.get_with("/a.html", "Host: a.test\r\n").text(), "A's page");
        }
    });
}
