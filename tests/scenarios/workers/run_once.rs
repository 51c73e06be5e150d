//! `PerlSetVar PerlRunOnce On` (mod_perl 1): the process that has run a script under Apache::PerlRun runs no other.

use hostler_tests::{Server, Site};
use std::collections::BTreeSet;

const SCRIPT: &str = "print \"Content-type: text/plain\\n\\n\", join ' ', $$, ++$main::count;\n";

fn serving() -> Server {
    let config = r#"StartServers 1
MaxRequestWorkers 1
Alias /once @ROOT@/perl
Alias /often @ROOT@/perl
<LocationMatch "^/(once|often)">
    Require all granted
    SetHandler perl-script
    PerlHandler Apache::PerlRun
    PerlSendHeader On
    Options +ExecCGI
</LocationMatch>
<Location /once>
    PerlSetVar PerlRunOnce On
</Location>
"#;
    Site::new().file("perl/count.pl", SCRIPT).mode("perl/count.pl", 0o755).config(config).start()
}

/// Process and count of some requests for this URL.
fn answers(server: &Server, url: &str) -> Vec<(String, String)> {
    let answer = || {
        let text = server.get(url).text();
        let (process, count) = text.split_once(' ').unwrap_or_else(|| panic!("{text}"));
        (process.to_owned(), count.to_owned())
    };
    (0..4).map(|_| answer()).collect()
}

#[test]
fn a_process_runs_one_script_where_that_is_asked_for() {
    let server = serving();
    let often = answers(&server, "/often/count.pl");
    let counts: Vec<&str> = often.iter().map(|(_, count)| count.as_str()).collect();
    assert_eq!(counts, ["1", "2", "3", "4"], "one process keeps its globals");
    assert_eq!(often.iter().map(|(process, _)| process).collect::<BTreeSet<_>>().len(), 1);

    let once = answers(&server, "/once/count.pl");
    let counts: Vec<&str> = once.iter().map(|(_, count)| count.as_str()).collect();
    assert_eq!(counts, ["5", "1", "1", "1"], "the first ends the process that was there");
    assert_eq!(once.iter().map(|(process, _)| process).collect::<BTreeSet<_>>().len(), 4);
    assert_eq!(once[0].0, often[0].0);
}
