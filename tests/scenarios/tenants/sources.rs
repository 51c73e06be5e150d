//! The source of a tenant's programs: no way of asking for it sends it to a client.

use super::{Attack, Owned, is_long, tenants};
use hostler_tests::{needs_php, needs_root};
use std::process::Command;

/// The source of an application in a phar is asked for in every way, and its front controller answers.
#[test]
fn the_source_of_a_phar_is_not_sent() {
    needs_root!();
    needs_php!();
    let make = "$p = new Phar($argv[1]); $p->addFromString('index.php', '<?php $secret = 1; echo \"ran\";');
        $p->setStub('<?php Phar::webPhar(\"app.phar\", \"index.php\"); __HALT_COMPILER(); ?>');";
    let php = "<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n";
    let site = tenants(php);
    let made = site.path("made.phar");
    let mut command = Command::new("php");
    let done = command.args(["-d", "phar.readonly=0", "-r", make, "--"]).arg(&made).status();
    assert!(done.expect("php runs").success());
    let phar = std::fs::read(&made).expect("the phar");
    let server = site.a_file("htdocs/app.php", phar).start();
    Attack::new("the source of a phar, asked for with queries", 64).run(&server, || {
        for _ in 0..if is_long() { 20 } else { 1 } {
            for query in ["", "?x=1", "?/index.php", "?x=/../index.php", "?x=%3f", "?a.txt"] {
                let answer = server.get_with(&format!("/app.php/index.php{query}"), "Host: a.test\r\n");
                assert_eq!(answer.text(), "ran", "{query}\n{}", server.error_log());
            }
        }
    });
}
