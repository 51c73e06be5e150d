//! `<Perl>` sections and files that build configuration: who runs them, and what they can't do. (What they build is compared with
//! Apache in `conformance/cases/perl-sections.toml`.)

use hostler_tests::{SITE_UID, Site, await_that, hostler, is_root};
use std::process::Command;
use std::time::{Duration, Instant};

fn site(config: &str) -> Site {
    Site::new().file("htdocs/index.html", "static\n").config(config)
}

/// Returns the server's message when it refuses to start.
fn refusal(config: &str) -> String {
    match site(config).try_start() {
        Ok(_) => panic!("it starts:\n{config}"),
        Err(printed) => printed,
    }
}

#[test]
fn a_section_is_run_as_the_site_s_user_with_nothing_of_root_s() {
    let config = r#"<Perl>
my (undef, @groups) = split ' ', $);
my ($privileges) = do { open my $status, '<', '/proc/self/status'; grep { /^NoNewPrivs/ } <$status> };
my @open = grep { defined readlink "/proc/self/fd/$_" } 4 .. 99;
my $shadow = open(my $file, '<', '/etc/shadow') ? 'read' : 'closed';
my $env = join ',', sort grep { !/^(?:PATH|MOD_PERL.*)$/ } keys %ENV;
my $leader = getpgrp() == $$ ? 'leader' : 'member';
$privileges =~ s/\D//g;
$Header = qq(set X-Run "$< $> groups=@groups new=$privileges open=@open $shadow env=$env $leader");
</Perl>
"#;
    let server = site(config).start();
    let field =
        server.get("/index.html").field("X-Run").expect("the field that the section has built").to_owned();
    let uid = if is_root() { SITE_UID } else { rustix::process::geteuid().as_raw() };
    assert!(field.starts_with(&format!("{uid} {uid} groups=")), "{field}");
    assert!(field.ends_with("new=1 open= closed env= leader"), "{field}");
    if is_root() {
        // Perl names the own group here where there are no others.
        assert!(
            field.contains(&format!("groups={SITE_UID} new")) || field.contains("groups= new"),
            "{field}"
        );
    }
}

#[test]
fn a_reload_runs_sections_again_and_a_bad_one_leaves_the_old_configuration() {
    let config =
        "PerlSwitches -I@ROOT@/lib\n<Perl>\nuse Made;\n$Header = 'set X-Made ' . Made::word();\n</Perl>\n";
    let module = |word: &str| format!("package Made; sub word {{ {word} }} 1;\n");
    let server = site(config).file("lib/Made.pm", module("'first'")).start();
    let made = || server.get("/index.html").field("X-Made").map(str::to_owned);
    assert_eq!(made().as_deref(), Some("first"));
    std::fs::write(server.site().path("lib/Made.pm"), module("'second'")).expect("the module");
    server.signal(rustix::process::Signal::HUP);
    await_that("the new configuration", || made().as_deref() == Some("second"));
    std::fs::write(server.site().path("lib/Made.pm"), module("die 'broken'")).expect("the module");
    server.signal(rustix::process::Signal::HUP);
    await_that("that it is broken", || server.console().contains("broken at"));
    assert_eq!(made().as_deref(), Some("second"));
}

#[test]
fn what_root_would_act_on_is_refused_by_name() {
    for line in ["Listen 4", "User root", "CustomLog /etc/cron.d/x x", "LoadModule x y"] {
        let printed = refusal(&format!("<Perl>\n$PerlConfig = '{line}';\n</Perl>\n"));
        let name = line.split(' ').next().unwrap_or_default();
        assert!(printed.contains(&format!("<Perl>:1: {name}: cannot come from Perl code")), "{printed}");
    }
    // What the code includes is read by its own user.
    let printed = refusal("<Perl>\n$PerlConfig = 'Include /etc/shadow';\n</Perl>\n");
    assert!(printed.contains("Include /etc/shadow: Permission denied"), "{printed}");
}

#[test]
fn endless_code_is_ended_with_all_that_it_has_started() {
    let mark = format!("31.{}", std::process::id());
    let began = Instant::now();
    let printed = refusal(&format!("<Perl>\n$Alias = system('sleep {mark} &');\n1 while 1;\n</Perl>\n"));
    assert!(printed.contains("its code was ended: it took longer than 10 seconds"), "{printed}");
    // Time: its ten seconds are what is tested.
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    let left = Command::new("pgrep").args(["-f", &format!("^sleep {mark}$")]).output().expect("pgrep");
    assert!(left.stdout.is_empty(), "it still runs");
}

#[test]
fn a_mistake_in_the_code_is_one_of_the_configuration() {
    for (code, says) in [
        ("\n$Alias = die 'deliberately';", "<Perl> its code failed: deliberately at "),
        ("$Alias = {;", "<Perl> its code failed: syntax error at "),
        ("$Alias = exec '/bin/true';", "its code ended the process that runs it"),
        ("$NoSuchThing = 1; $Alias = '/a /b';", "NoSuchThing: unknown directive"),
    ] {
        let site = site(&format!("# A line before it.\n<Perl>\n{code}\n</Perl>\n"));
        let file = site.write_config(1);
        let checked =
            Command::new(hostler()).arg("check").arg("-f").arg(&file).output().expect("hostler check");
        let printed = String::from_utf8_lossy(&checked.stderr).into_owned();
        let text = std::fs::read_to_string(&file).expect("the configuration");
        let line = text.lines().position(|line| line == "<Perl>").expect("the section") + 1;
        assert!(!checked.status.success() && printed.contains(says), "{code}: {printed}");
        assert!(printed.contains(&format!("{}:{line}", file.display())), "{code}: {printed}");
        if code.contains("die") {
            assert!(printed.contains(&format!("line {}", line + 2)), "{printed}");
        }
    }
}

/// A site whose file adds what the text shows.
fn with_file(directive: &str, code: &str) -> Site {
    let config = format!("PerlSwitches -I@ROOT@/lib\n{directive}\n");
    site(&config).file("lib/startup.pl", code).file("lib/Deep.pm", "package Deep;\nuse Deeper;\n1;\n").file(
        "lib/Deeper.pm",
        "package Deeper;\nuse Apache2::ServerUtil;\nApache2::ServerUtil->server->add_config(['Header set X-Added yes']);\n1;\n",
    )
}

#[test]
fn a_file_that_adds_configuration_is_run_while_it_is_read() {
    for (directive, code) in [
        (
            "PerlConfigRequire @ROOT@/lib/startup.pl",
            "my $s = Apache2::ServerUtil->server;\n$s->add_config(['Header set X-Added yes']);\n1;\n",
        ),
        ("PerlPostConfigRequire @ROOT@/lib/startup.pl", "use Deep;\n1;\n"),
        ("PerlModule Deep", ""),
        ("<Perl>\nuse Deep;\n</Perl>", ""),
    ] {
        let server = with_file(directive, code).start();
        assert_eq!(server.get("/index.html").field("X-Added"), Some("yes"), "{directive}");
    }
}

#[test]
fn a_file_that_fails_to_add_stops_the_start() {
    let code = "die 'no database';\nApache2::ServerUtil->server->add_config(['A']);\n";
    let printed = match with_file("PerlConfigRequire @ROOT@/lib/startup.pl", code).try_start() {
        Ok(_) => panic!("it starts"),
        Err(printed) => printed,
    };
    assert!(
        printed.contains("PerlConfigRequire: its code failed: no database at ")
            && printed.contains("startup.pl line 1"),
        "{printed}"
    );
}

#[test]
fn what_builds_unseen_says_so_when_the_pool_starts() {
    let handler = "\n<Location /h>\nSetHandler modperl\nPerlResponseHandler X\n</Location>";
    for (directive, code, says) in [
        (
            "PerlRequire @ROOT@/lib/startup.pl",
            "my $call = 'add_' . 'config';\nApache2::ServerUtil->server->$call(['A']);\n1;\n",
            "Write a comment with the word add_config into the file",
        ),
        (
            "<Perl>\neval q($) . 'Lo' . q(cation{'/x'} = {}; 1) or die;\n</Perl>",
            "",
            "it builds configuration, which its text does not show",
        ),
    ] {
        let server = with_file(&format!("{directive}{handler}"), code).start();
        assert_eq!(server.get("/h").status, 500);
        let _ = server.await_error(says);
    }
}

/// A module with a directive `Word`; `/words` answers with what it says of the server, the directory and the main server.
const WORDS: &str = "package Words;
use strict; use warnings;
use Apache2::Module (); use Apache2::CmdParms (); use Apache2::Const -compile => qw(OR_ALL RSRC_CONF TAKE1);
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::ServerUtil ();
Apache2::Module::add(__PACKAGE__, [{ name => 'Word', func => 'Words::word', args_how => Apache2::Const::TAKE1,
    req_override => Apache2::Const::OR_ALL | Apache2::Const::RSRC_CONF }]);
sub word {
    my ($self, $parms, $value) = @_;
    die 'a wrong word' if $value eq 'wrong';
    $parms->add_config(['Require all denied']) if $value eq 'adds';
    $parms->server->context if $value eq 'lacking';
    $self->{word} = $value;
    Apache2::Module::get_config($self, $parms->server)->{word} = $value unless defined $parms->path;
    return;
}
sub handler {
    my $r = shift;
    my @own = map { Apache2::Module::get_config(__PACKAGE__, @$_) }
        [$r->server], [$r->server, $r->per_dir_config], [Apache2::ServerUtil->server];
    $r->print(join ' ', map { $_->{word} // 'none' } @own);
    return 0;
}
sub other { $_[0]->print('served'); return 0 }
1;
";

const ANSWERS: &str = "<Location /words>\nSetHandler modperl\nPerlResponseHandler Words\n</Location>\n\
                       <Location /other>\nSetHandler modperl\nPerlResponseHandler Words::other\n</Location>\n";

#[test]
fn a_module_s_directives_are_their_virtual_host_s_in_whichever_pool_that_is() {
    let host = |name: &str, lines: &str| {
        format!(
            "<VirtualHost *>\nServerName {name}\nDocumentRoot \"@ROOT@/htdocs\"\n{lines}{ANSWERS}</VirtualHost>\n"
        )
    };
    let config = "PerlSwitches -I@ROOT@/lib\nPerlLoadModule Words\n".to_owned()
        + &host("first.test", "Word first\n")
        + &host("own.test", "PerlOptions +Clone\nWord own\n<Location /words/deep>\nWord deep\n</Location>\n");
    let server = site(&config).file("lib/Words.pm", WORDS).start();
    let told = |host: &str, path: &str| server.get_with(path, &format!("Host: {host}\r\n")).text();
    assert_eq!(told("first.test", "/words"), "first first none");
    assert_eq!(told("own.test", "/words"), "own own none");
    assert_eq!(told("own.test", "/words/deep"), "own deep none");
}

#[test]
fn a_directive_that_needs_what_hostler_lacks_leaves_others_served() {
    let config = |word: &str| {
        format!(
            "PerlSwitches -I@ROOT@/lib\nPerlLoadModule Words\n{ANSWERS}<Location /there>\nWord {word}\n</Location>\n"
        )
    };
    let answers = |word: &str| {
        let server = site(&config(word)).file("lib/Words.pm", WORDS).start();
        ["/other", "/words"].map(|path| server.get(path).status)
    };
    assert_eq!(answers("plain"), [200, 200]);
    // What the module knows of its settings is not to be relied upon.
    assert_eq!(answers("lacking"), [200, 500]);
    // What it would have closed, and what it calls wrong, are not passed over.
    assert_eq!(answers("adds"), [500, 500]);
    assert_eq!(answers("wrong"), [500, 500]);
}
