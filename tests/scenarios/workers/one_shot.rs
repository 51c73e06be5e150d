//! `Isolation fork`: a process for each request. CGI scripts in Perl answer there as they do when they are started.

use super::{metric, parents, site, workers};
use crate::faults::{await_that, process};
use hostler_tests::{Response, Server, Site};
use std::collections::BTreeSet;

/// CGI scripts by name.
const SCRIPTS: [(&str, &str); 29] = [
    ("plain", "print \"Content-Type: text/plain\\n\\n\"; print \"hello $0 @ARGV\\n\"; print `pwd`;"),
    (
        "environment",
        "print \"Content-Type: text/plain\\n\\n\"; print \"$_=$ENV{$_}\\n\" for grep { !/^(?:REMOTE_PORT|UNIQUE_ID|PATH|PWD|SHLVL|_)$/ } sort keys %ENV;",
    ),
    (
        "status",
        "print \"Status: 404 Not here\\r\\nContent-Type: text/plain\\r\\nX-A: 1\\r\\n\\r\\nnot here\";",
    ),
    ("redirect", "print \"Location: http://example.org/\\n\\n\";"),
    ("local", "print \"Location: /x\\n\\n\";"),
    (
        "cgi-pm",
        "use CGI; my $q = CGI->new; print $q->header('text/plain'), join ',', map { \"$_=\" . join '+', $q->multi_param($_) } sort $q->param;",
    ),
    (
        "stdin",
        "binmode STDIN; my $n = 0; while (my $got = sysread STDIN, my $piece, 1000) { $n += $got } print \"Content-Type: text/plain\\n\\n$n of $ENV{CONTENT_LENGTH}\\n\";",
    ),
    ("lines", "print \"Content-Type: text/plain\\n\\n\"; while (<STDIN>) { print \"$.: $_\" }"),
    (
        "child",
        "$| = 1; print \"Content-Type: text/plain\\n\\nbefore\\n\"; system 'echo child; cat'; print \"after $?\\n\";",
    ),
    (
        "forks",
        "$| = 1; print \"Content-Type: text/plain\\n\\n\"; if (my $pid = fork) { waitpid $pid, 0; print \"parent $?\\n\" } else { print \"child\\n\"; exit 3 }",
    ),
    (
        "forks-on",
        "$| = 1; print \"Content-Type: text/plain\\n\\nbefore\\n\"; my $pid = fork; waitpid $pid, 0 if $pid; print $pid ? \"parent\\n\" : \"child\\n\"; END { print \"end\\n\" }",
    ),
    (
        "pipe",
        "$| = 1; print \"Content-Type: text/plain\\n\\n\"; open my $out, '|-', 'tr a-z A-Z'; print {$out} \"piped\\n\"; close $out; print \"after\\n\"",
    ),
    (
        "syswrites",
        "syswrite STDOUT, \"Content-Type: text/plain\\n\\nfirst\\n\"; $| = 1; print \"second\\n\"; print syswrite(STDOUT, \"xthirdx\", 5, 1), \"\\n\"; system 'echo fourth'; syswrite STDOUT, \"fifth\\n\";",
    ),
    (
        "opens-anew",
        "$| = 1; print \"Content-Type: text/plain\\n\\nbefore\\n\"; open my $kept, '>&', STDOUT; open STDOUT, '>', '/dev/null'; print \"lost\\n\"; syswrite STDOUT, \"lost, too\\n\"; open STDOUT, '>&', $kept; print \"after\\n\";",
    ),
    (
        "errors-too",
        "$| = 1; print \"Content-Type: text/plain\\n\\n\"; open STDERR, '>&', STDOUT or print \"no: $!\\n\"; warn \"warned\\n\"; system 'echo child >&2'; print \"end\\n\";",
    ),
    (
        "asked-by-number",
        "print \"Content-Type: text/plain\\n\\n\", fileno STDIN, fileno STDOUT, ' ', tell STDOUT, ' ', sysread(STDIN, my $x, 4), \"\\n\";",
    ),
    (
        "dies-in-page",
        "use CGI::Carp 'fatalsToBrowser'; print \"Content-Type: text/html\\n\\nhalf a page\\n\"; die \"carped\\n\";",
    ),
    (
        "two-ways",
        "use IPC::Open2; print \"Content-Type: text/plain\\n\\n\"; my $pid = open2 my $from, my $to, 'tr a-z A-Z'; print {$to} \"both ways\\n\"; close $to; print <$from>; waitpid $pid, 0; print \"$?\\n\";",
    ),
    (
        "elsewhere",
        "$| = 1; print \"Content-Type: text/plain\\n\\n\"; open my $kept, '>&', STDOUT; open STDOUT, '>', '/dev/null'; system 'echo not for clients'; open STDOUT, '>&', $kept; system 'echo back'; print \"end\\n\";",
    ),
    (
        "executes",
        "$| = 1; print \"Content-Type: text/plain\\n\\nbefore\\n\"; END { print \"never\\n\" } exec 'cat; echo executed';",
    ),
    ("executes-all", "exec '/bin/sh', '-c', 'echo Content-Type: text/plain; echo; cat';"),
    ("diamond", "print \"Content-Type: text/plain\\n\\n\"; print \"$.: $_\" while <>;"),
    ("began", "print \"Content-Type: text/plain\\n\\n\", time - $^T < 3 ? 1 : 0, \"\\n\";"),
    (
        "version",
        "print \"Content-Type: text/plain\\n\\n\", defined $mod_perl2::VERSION ? 1 : 0, defined $mod_perl::VERSION ? 1 : 0, \"\\n\";",
    ),
    ("exits", "print \"Content-Type: text/plain\\n\\nsaid\\n\"; exit 3; print 'never';"),
    (
        "data",
        "print \"Content-Type: text/plain\\n\\n\"; while (<DATA>) { print uc }\n__END__\nfirst\nsecond\n",
    ),
    (
        "blocks",
        "BEGIN { print \"Content-Type: text/plain\\n\\nbegin\\n\" } END { print \"end\\n\" } INIT { print \"init\\n\" } print \"middle\\n\"; sub DESTROY { print \"destroyed\\n\" } our $object = bless [];",
    ),
    (
        "libraries",
        "use FindBin; use lib \"$FindBin::Bin/lib\"; use Own; print \"Content-Type: text/plain\\n\\n\", Own::says(), \" $INC[0]\\n\";",
    ),
    ("dies", "print \"Content-Type: text/plain\\n\\nhalf\\n\"; die \"on purpose\\n\";"),
];

/// The scripts twice: `/exec/NAME` and `/fork/NAME` are the same files.
fn scripts() -> Site {
    let location = |name: &str| {
        format!(
            "ScriptAlias /{name}/ \"@ROOT@/cgi/\"\n<Location /{name}>\nIsolation {name}\nRequire all granted\n</Location>\n"
        )
    };
    let site = site(&format!("{}{}", location("exec"), location("fork")));
    let site = site.file("cgi/lib/Own.pm", "package Own;\nsub says { 'own library' }\n1;\n");
    SCRIPTS.iter().fold(site, |site, (name, text)| {
        site.script(&format!("cgi/{name}"), format!("#!/usr/bin/perl\n{text}\n"))
    })
}

fn post(server: &Server, target: &str, body: &str) -> Response {
    server.request(
        format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Own: mine\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    )
}

/// Returns the parts that must be equal: all but the date, and the location's own name.
fn essence(answer: &Response, location: &str) -> (u16, String, Vec<String>, String) {
    let plain = |text: &str| text.replace(location, "WHERE");
    let mut fields: Vec<String> = answer
        .fields
        .iter()
        .filter(|(name, _)| {
            !matches!(name.to_ascii_lowercase().as_str(), "date" | "content-length" | "transfer-encoding")
        })
        .map(|(name, value)| plain(&format!("{name}: {value}")))
        .collect();
    fields.sort();
    // The error page's number differs.
    let text = if answer.status >= 500 { String::new() } else { plain(&answer.text()) };
    (answer.status, plain(&answer.reason), fields, text)
}

#[test]
fn scripts_answer_as_they_do_when_they_are_started() {
    let server = scripts().start();
    // A young file's entity tag is weak for a moment: that would change in between.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = std::fs::File::open(server.site().path("htdocs/x")).expect("the file");
    file.set_modified(old).expect("an older time");
    for (name, _) in SCRIPTS {
        for query in ["", "?a=1&b=two%20words&a=3", "?one+t%77o"] {
            let [exec, fork] = ["exec", "fork"]
                .map(|how| essence(&server.get(&format!("/{how}/{name}{query}")), &format!("/{how}/")));
            assert_eq!(fork, exec, "GET {name}{query}");
        }
        let body = "a=posted&c=line\nsecond=line\n";
        let [exec, fork] = ["exec", "fork"]
            .map(|how| essence(&post(&server, &format!("/{how}/{name}?q=1"), body), &format!("/{how}/")));
        assert_eq!(fork, exec, "POST {name}");
    }
    assert_eq!(
        server.get("/fork/plain").text().lines().next(),
        Some(&*format!("hello {} ", server.site().path("cgi/plain").display()))
    );
    assert_eq!(metric(&server, "hostler_pool_errors_total", ""), 0);
}

#[test]
fn an_answer_is_as_long_as_it_is_whatever_the_script_says() {
    let said = |length: u32, pause: &str| {
        format!(
            "$| = 1; print \"Content-Type: text/plain\\nContent-Length: {length}\\n\\n01234\"; {pause} print '56789';"
        )
    };
    let pause = "select undef, undef, undef, .2;";
    let mut site = scripts();
    for (name, code) in [
        ("short", said(5, "")),
        ("late", said(5, pause)),
        ("none", said(0, pause)),
        ("long", said(20, pause)),
    ] {
        site = site.script(&format!("cgi/{name}"), format!("#!/usr/bin/perl\n{code}\n"));
    }
    let server = site.start();
    for name in ["short", "late", "none", "long"] {
        for way in ["exec", "fork"] {
            assert_eq!(server.get(&format!("/{way}/{name}")).text(), "0123456789", "{way} {name}");
        }
    }
}

#[test]
fn the_switches_of_a_first_line_hold_in_both_ways() {
    let code = "our $say; print \"Content-Type: text/plain\\n\"; print \"$^W \", grep { $_ eq '/nowhere' } @INC; \
        print $say // 'none'; print readlink('/proc/self/exe') =~ /hostler-perl/ ? 'forked' : 'started'";
    let mut site = scripts();
    let cases = [
        ("-l", true),
        ("-wl", true),
        ("-w -l", true),
        ("-l -- -n", true),
        ("-l -I/nowhere", false),
        ("-l -W", false),
        ("-l012", false),
        ("-sl", false),
        ("-l -p", false),
    ];
    for (n, (switches, _)) in cases.iter().enumerate() {
        site = site.script(&format!("cgi/switched{n}"), format!("#!/usr/bin/perl {switches}\n{code}\n"));
    }
    let server = site.start();
    for (n, (switches, forked)) in cases.into_iter().enumerate() {
        let ask = |way: &str| post(&server, &format!("/{way}/switched{n}"), "line");
        let (started, other) = (ask("exec"), ask("fork"));
        let way = if forked { "forked" } else { "started" };
        let expected = (started.status, started.text().replace("started", way));
        assert_eq!((other.status, other.text()), expected, "{switches}");
    }
}

#[test]
fn a_script_without_the_taint_checks_that_it_asks_for_is_not_run() {
    let script = "#!/usr/bin/perl -wT\nprint \"Content-Type: text/plain\\n\\n${^TAINT}\";\n";
    let configured = |taint: &str| {
        let server = scripts().config(taint).script("cgi/checked", script).start();
        (server.get("/fork/checked").status, server.get("/fork/checked").text(), server)
    };
    let (status, _, server) = configured("");
    assert_eq!(status, 500);
    let _ = server.await_error("the pool has no taint checks");
    let (status, text, _server) = configured("PerlTaintCheck On");
    assert_eq!((status, text.as_str()), (200, "1"));
}

#[test]
fn what_scripts_say_of_their_errors_reaches_the_log_in_both_ways() {
    for how in ["exec", "fork"] {
        let server = scripts().start();
        let _ = server.get(&format!("/{how}/dies"));
        let _ = server.await_error("on purpose");
    }
}

#[test]
fn nothing_survives_from_one_request_to_the_next() {
    let config = "<Location /w>\nIsolation fork\n</Location>\nPerlChildInitHandler W::init\nStartServers 3";
    let server = site(config).start();
    let (mut pids, mut randoms) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..40 {
        let text = server.get("/w/state").text();
        let words: Vec<&str> = text.split(' ').collect();
        let [pid, count, child, random] = words[..] else { panic!("{text}") };
        assert_eq!((count, child), ("1", &*format!("born{pid}")));
        assert!(pids.insert(pid.to_owned()), "{pid} has served before");
        assert!(randoms.insert(random.to_owned()), "{random} comes twice");
    }
}

#[test]
fn many_requests_leave_no_process_behind() {
    let config = "<Location /w>\nIsolation fork\n</Location>\nStartServers 4\nMinSpareServers 2\nMaxSpareServers 6\nMaxRequestWorkers 8\nMaxKeepAliveRequests 0";
    let server = site(config).start();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut connection = server.connect();
                for _ in 0..125 {
                    connection.send("GET /w/hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
                    let answer = connection.response();
                    assert_eq!((answer.status, answer.text()), (200, "hello".into()));
                }
            });
        }
    });
    let all = || parents(&server).into_iter().flat_map(process::children).collect::<Vec<_>>();
    // Zombies are children, too.
    await_that("those that have served are gone", || all().len() <= 8 && all() == workers(&server));
    assert_eq!(metric(&server, "hostler_pool_errors_total", ""), 0);
    assert_eq!(metric(&server, "hostler_pool_crashes_total", ""), 0);
    assert!(metric(&server, "hostler_pool_forks_total", "") >= 500);
}

#[test]
fn a_script_that_others_could_have_changed_is_refused_in_both_ways() {
    hostler_tests::needs_root!();
    const ANNA: u32 = 64_151;
    const BERT: u32 = 64_152;
    let host = format!(
        "<VirtualHost *:@PORT@>\nServerName localhost\nAssignUserID #{ANNA} #{ANNA}\n\
         Alias /exec/ \"@ROOT@/cgi/\"\nAlias /fork/ \"@ROOT@/cgi/\"\n\
         <Location /exec>\nSetHandler cgi-script\nOptions +ExecCGI\nIsolation exec\nRequire all granted\n</Location>\n\
         <Location /fork>\nSetHandler cgi-script\nOptions +ExecCGI\nIsolation fork\nRequire all granted\n</Location>\n</VirtualHost>"
    );
    let text = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n$>\";\n";
    let names = ["good", "writable", "foreign", "set-id", "not-executable", "open/inside", "own-id"];
    let site = site(&host).dir("cgi/open");
    let site = names.iter().fold(site, |site, name| {
        let path = format!("cgi/{name}");
        site.script(&path, text).owner(&path, ANNA)
    });
    let site = site.owner("cgi", ANNA).owner("cgi/open", ANNA).mode("cgi/open", 0o777);
    let site = site.mode("cgi/writable", 0o775).owner("cgi/foreign", BERT);
    let site = site.owner("cgi/set-id", 0).mode("cgi/set-id", 0o4755).mode("cgi/own-id", 0o4755);
    let server = site.mode("cgi/not-executable", 0o644).start();
    for how in ["exec", "fork"] {
        // A bit that names whom it runs as anyway changes nothing.
        for name in ["good", "own-id"] {
            assert_eq!(server.get(&format!("/{how}/{name}")).text(), ANNA.to_string(), "{how}/{name}");
        }
        for name in &names[1..names.len() - 1] {
            let answer = server.get(&format!("/{how}/{name}"));
            assert!(matches!(answer.status, 403 | 500), "{how}/{name}: {} {}", answer.status, answer.text());
        }
    }
}
