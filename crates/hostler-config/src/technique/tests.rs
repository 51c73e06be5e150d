use super::*;
use crate::directives::perl;

static ENGINE: Engine = Engine {
    name: "perl",
    program: |_| "perl",
    language: "Perl",
    title: |_| String::new(),
    log: "perl",
    generation: perl::generation,
    stands_alone: |main, own| {
        let (main, own) = (&main.conf.perl, &own.conf.perl);
        !own.is_same(main) && own.differs_in_interpreter(main)
    },
    has_say: |dir| !dir.perl.handlers.is_empty(),
    has_say_in_server: |server| !server.perl.handlers.is_empty(),
    setup: |_, _, _, _| Setup::default(),
    groups: None,
    versions: None,
};

static SECOND: Engine = Engine {
    name: "echo",
    program: |_| "echo",
    language: "C",
    log: "echo",
    generation: |_| 0,
    stands_alone: |_, _| false,
    has_say: |_| false,
    has_say_in_server: |_| false,
    ..ENGINE
};

const NOBODY: fn(&DirConfig, &str) -> String = |_, _| String::new();
const WARM: &[Way] = &[(Isolation::Persistent, Via::Ring(&ENGINE)), (Isolation::Fork, Via::Ring(&ENGINE))];

const PERL: Technique = Technique {
    name: "perl",
    is_there: || true,
    handlers: &["perl-script", "modperl"],
    ways: WARM,
    refused: &[(Isolation::Exec, "are not started for each request")],
    phases: Phases::All,
    modules: &[&perl::MODULE, &perl::LOADING, &perl::TELLING, &perl::CALLING],
    is_other_version: |_| false,
    plain: None,
    is_whole: |_| false,
    applications: None,
    serve: Serve::NOTHING,
    answers: NOBODY,
};

const PSGI: Technique =
    Technique { name: "psgi", handlers: &["psgi"], phases: Phases::Response, modules: &[], ..PERL };

const CGI: Technique = Technique {
    name: "cgi",
    is_there: || true,
    handlers: &["cgi-script", "application/x-httpd-cgi"],
    ways: &[(Isolation::Exec, Via::Program), (Isolation::Fork, Via::Ring(&ENGINE))],
    refused: &[(Isolation::Persistent, "end after one request")],
    phases: Phases::Response,
    modules: &[],
    is_other_version: |_| false,
    plain: None,
    is_whole: |_| false,
    applications: None,
    serve: Serve::NOTHING,
    answers: NOBODY,
};

const ECHO: Technique = Technique {
    name: "echo",
    handlers: &["echo"],
    ways: &[(Isolation::Persistent, Via::Ring(&SECOND))],
    refused: &[(Isolation::Fork, "is never forked"), (Isolation::Exec, "is never started anew")],
    ..PSGI
};

/// The table that this crate's own tests read with.
pub(crate) static ROWS: Rows = &[&PERL, &PSGI, &CGI, &ECHO];

#[test]
fn handlers_are_found_by_their_names() {
    assert_eq!(of_handler(b"psgi").map(|row| row.name), Some("psgi"));
    assert_eq!(of_handler(b"application/x-httpd-cgi").map(|row| row.name), Some("cgi"));
    assert!(of_handler(b"").is_none() && of_handler(b"server-parsed").is_none());
    assert_eq!(engines(), [&SECOND, &ENGINE]);
}

#[test]
fn isolations_are_the_row_s() {
    let mut dir = DirConfig::default();
    assert_eq!([&PERL, &CGI].map(|row| row.isolation(&dir)), [Isolation::Persistent, Isolation::Exec]);
    dir.pool.isolation = Some(Isolation::Fork);
    assert_eq!([&PERL, &CGI].map(|row| row.isolation(&dir)), [Isolation::Fork; 2]);
    assert!(CGI.via(Isolation::Persistent).is_none() && CGI.why_not(Isolation::Persistent).is_some());
    assert_eq!(CGI.via(Isolation::Fork).and_then(Via::engine), Some(&ENGINE));
}

#[test]
fn rows_that_contradict_each_other_are_refused() {
    static OTHER: Engine = Engine { log: "other", ..ENGINE };
    let wrong = |row: Technique, why: &str| {
        let rows: Rows = Box::leak(Box::new([&CGI, Box::leak(Box::new(row)) as &Technique]));
        let said = check(rows).expect_err(why);
        assert!(said.contains(why), "{said}");
    };
    wrong(
        Technique { handlers: &["mine", "CGI-script"], ..PSGI },
        "the handler CGI-script is cgi's and psgi's",
    );
    wrong(Technique { name: "cgi", ..PSGI }, "two techniques cgi");
    wrong(Technique { refused: &[], ..PSGI }, "Isolation exec has 0 ways and 0 reasons");
    const OTHERS: &[Way] =
        &[(Isolation::Persistent, Via::Ring(&OTHER)), (Isolation::Fork, Via::Ring(&OTHER))];
    wrong(Technique { ways: OTHERS, ..PSGI }, "two engines perl");
    assert!(check(ROWS).is_ok());
}

#[test]
fn a_second_table_is_not_installed() {
    assert_eq!(all().len(), 4);
    assert!(install(ROWS).is_ok());
    static ONE: &[&Technique] = &[&CGI];
    assert!(install(ONE).unwrap_err().contains("another table"));
}
