//! Filters that misbehave: what they were to take out is not sent, and nobody else waits for them. (What well-behaved ones
//! do is compared with Apache in `conformance/`.)

use hostler_tests::{Server, Site, needs_root};
use std::time::{Duration, Instant};

const MODULE: &str = r#"package F;
use strict;
use base 'Apache2::Filter';
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::SubRequest ();
sub shout { my $f = shift; while ($f->read(my $b, 4096)) { $f->print(uc $b) } 0 }
sub dies { die "deliberately\n" }
sub late { my $f = shift; while ($f->read(my $b, 4096)) { $f->print($b) } $f->fflush; die "in the middle\n" }
sub hangs { sleep 60 }
sub killed { kill 9, $$; sleep 9 }
sub forever { my $f = shift; $f->print('x' x 65536) while 1 }
sub page { my $r = shift; $r->content_type('text/plain'); $r->print('a page'); 0 }
sub part { my $r = shift; $r->content_type('text/plain'); $r->print('a page '); my $f = $r->args ? $r->output_filters : undef;
    $r->lookup_uri('/plain.txt', $f)->run; $r->print(' and more'); 0 }
sub about { my $f = shift; while ($f->read(my $b, 4096)) { $f->print(uc $b); $f->r->lookup_uri('/plain.txt')->run } 0 }
1;
"#;

/// Locations with a filter each, for the same file, for an answer of Perl and for a program.
fn site(more: &str) -> Site {
    let mut text = String::from(
        "Timeout 2\nHostlerWorkerTimeout 2\nPerlSwitches -I@ROOT@/lib\nPerlModule F\nScriptAlias /cgi-bin/ \"@ROOT@/cgi-bin/\"\n",
    );
    for name in ["shout", "about", "dies", "late", "hangs", "killed", "forever"] {
        text.push_str(&format!(
            "Alias /file/{name} \"@ROOT@/htdocs\"\n<Location /file/{name}>\nPerlOutputFilterHandler F::{name}\n</Location>\n\
             <Location /page/{name}>\nSetHandler modperl\nPerlResponseHandler F::page\nPerlOutputFilterHandler F::{name}\n\
             </Location>\n<Location /cgi-bin/echo/{name}>\nPerlInputFilterHandler F::{name}\n</Location>\n"
        ));
    }
    text.push_str(
        "<Location /part>\nSetHandler modperl\nPerlResponseHandler F::part\nPerlOutputFilterHandler F::shout\n</Location>\n\
         ExtFilterDefine hangs mode=output cmd=\"/bin/sleep 60\"\nExtFilterDefine fails mode=output cmd=\"/bin/false\"\n\
         ExtFilterDefine who mode=output cmd=\"/bin/sh -c 'cat; id -u'\"\n\
         ExtFilterDefine inhangs mode=input cmd=\"/bin/sleep 60\"\n",
    );
    for name in ["hangs", "fails", "who"] {
        text.push_str(&format!("Alias /ext/{name} \"@ROOT@/htdocs\"\n<Location /ext/{name}>\nSetOutputFilter {name}\n</Location>\n"));
    }
    text.push_str("<Location /cgi-bin/echo/inhangs>\nSetInputFilter inhangs\n</Location>\n");
    Site::new()
        .file("lib/F.pm", MODULE)
        .file("htdocs/plain.txt", "plain text")
        .script("cgi-bin/echo", "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec cat\n")
        .config(&text)
        .config(more)
}

fn post(server: &Server, target: &str) -> (u16, String) {
    let mut connection = server.connect();
    connection.send(format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 9\r\n\r\nsome body"
    ));
    let answer = connection.response();
    (answer.status, answer.text())
}

#[test]
fn what_a_filter_has_not_let_through_is_not_sent() {
    let server = site("").start();
    assert_eq!(server.get("/file/shout/plain.txt").text(), "PLAIN TEXT");
    assert_eq!(server.get("/page/shout").text(), "A PAGE");
    assert_eq!(post(&server, "/cgi-bin/echo/shout"), (200, "SOME BODY".to_owned()));
    for target in ["/file/dies/plain.txt", "/file/killed/plain.txt", "/page/dies", "/ext/fails/plain.txt"] {
        let answer = server.get(target);
        assert_eq!(answer.status, 500, "{target}: {}", server.error_log());
        assert!(!answer.text().contains("plain text") && !answer.text().contains("a page"), "{target}");
    }
    assert!(server.error_log().contains("deliberately"), "{}", server.error_log());
    assert_eq!(post(&server, "/cgi-bin/echo/dies").0, 500);
    // The site goes on.
    assert_eq!(server.get("/file/shout/plain.txt").text(), "PLAIN TEXT");
}

#[test]
fn filters_that_hang_are_ended_and_nobody_waits_for_them() {
    let server = site("").start();
    assert_eq!(server.get("/page/shout").text(), "A PAGE");
    let begin = Instant::now();
    let mut waiting: Vec<_> = ["/file/hangs/plain.txt", "/page/hangs", "/ext/hangs/plain.txt"]
        .into_iter()
        .map(|target| {
            let mut connection = server.connect();
            connection.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
            connection
        })
        .collect();
    assert_eq!(server.get("/plain.txt").text(), "plain text");
    // Time: the filters hang for longer.
    assert!(begin.elapsed() < Duration::from_secs(2), "a file has waited for filters");
    for connection in &mut waiting {
        let answer = connection.response();
        assert!(answer.status >= 500, "{} {}", answer.status, server.error_log());
    }
    // Time: they would hang for ever.
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert!(post(&server, "/cgi-bin/echo/hangs").0 >= 500);
}

#[test]
fn a_filter_that_prints_for_ever_is_ended_with_its_client() {
    let server = site("").start();
    for target in ["/file/forever/plain.txt", "/page/forever"] {
        let mut connection = server.connect();
        connection.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        assert!(connection.byte().is_some() || target.starts_with("/page"), "{}", server.error_log());
        drop(connection);
        assert_eq!(server.get("/page/shout").text(), "A PAGE", "{}", server.error_log());
    }
}

#[test]
fn what_another_request_answers_passes_by_filters_unless_it_is_to_go_through_them() {
    let server = site("").start();
    assert_eq!(server.get("/part").text(), "A PAGE plain text AND MORE", "{}", server.error_log());
    for of_whom in ["/page", "/file"] {
        let answer = server.get(&format!("{of_whom}/about/plain.txt")).text();
        let own = if of_whom == "/page" { "A PAGE" } else { "PLAIN TEXT" };
        assert_eq!(answer, format!("plain text{own}"), "{}", server.error_log());
    }
    let answer = server.get("/part?through");
    assert!(!answer.text().contains("plain text"), "{}", answer.text());
    let _ = server.await_error("cannot go through this one's filters in Perl");
}

#[test]
fn programs_that_are_filters_run_as_the_site_s_user() {
    needs_root!();
    let server = site("User nobody\n").start();
    let answer = server.get("/ext/who/plain.txt");
    assert_eq!(answer.status, 200, "{}", server.error_log());
    let uid: u32 = answer.text().trim_start_matches("plain text").trim().parse().expect("a number");
    assert_ne!(uid, 0);
}

#[test]
fn a_filter_in_an_access_file_that_is_nobody_s_is_500() {
    let server = Site::new()
        .config("<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>")
        .file("htdocs/plain.txt", "plain text")
        .file("htdocs/.htaccess", "SetOutputFilter nobody-s\n")
        .file("htdocs/chain/plain.txt", "plain text")
        .file("htdocs/chain/.htaccess", "SetOutputFilter none\nFilterChain not-declared\n")
        .start();
    for target in ["/plain.txt", "/chain/plain.txt"] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text().contains("plain text")), (500, false), "{target}");
    }
}

#[test]
fn a_filter_that_asks_for_what_it_filters_itself_ends_at_once() {
    let module = "package F::Again; use strict; use base 'Apache2::Filter';\n\
                  use Apache2::RequestRec (); use Apache2::SubRequest (); use Apache2::Const -compile => 'OK';\n\
                  sub handler {\n\
                      my $f = shift;\n\
                      while ($f->read(my $text)) { $f->print($text) }\n\
                      $f->print('[', $f->r->lookup_uri('/again/a.txt')->run, ']') if $f->seen_eos;\n\
                      Apache2::Const::OK;\n\
                  }\n1;\n";
    let config = "PerlSwitches -I@ROOT@/lib\nAlias /again \"@ROOT@/htdocs\"\n\
                  <Location /again>\nPerlOutputFilterHandler F::Again\n</Location>";
    let config = format!("{config}\nMaxRequestWorkers 4");
    let server = Site::new().file("lib/F/Again.pm", module).file("htdocs/a.txt", "A").config(&config).start();
    let began = Instant::now();
    assert_eq!(server.get("/again/a.txt").status, 500, "{}", server.error_log());
    assert!(server.await_error("wait for this part of their own response").contains("MaxRequestWorkers"));
    // Time: workers that waited for each other would do so for HostlerQueueTimeout, which is 30 s.
    assert!(began.elapsed() < Duration::from_secs(20), "{}", server.error_log());
    assert_eq!(server.get("/a.txt").text(), "A");
}
