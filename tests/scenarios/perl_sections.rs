//! `<Perl>` sections that build configuration: who runs them, and what they can't do. (What they build is compared with
//! Apache in `conformance/cases/perl-sections.toml`.)

use hostler_tests::{SITE_UID, Site, hostler, is_root};
use std::process::Command;
use std::time::{Duration, Instant};

fn site(config: &str) -> Site {
    Site::new().file("htdocs/index.html", "static\n").config(config)
}

/// What the server says when it refuses to start.
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
    let deadline = Instant::now() + Duration::from_secs(20);
    while made().as_deref() != Some("second") {
        assert!(Instant::now() < deadline, "no new configuration:\n{}", server.console());
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::write(server.site().path("lib/Made.pm"), module("die 'broken'")).expect("the module");
    server.signal(rustix::process::Signal::HUP);
    while !server.console().contains("broken at") {
        assert!(Instant::now() < deadline, "nothing is told:\n{}", server.console());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(made().as_deref(), Some("second"));
}

#[test]
fn what_root_would_act_on_is_refused_by_name() {
    for line in
        ["Include /etc/hostname", "Listen 4", "User root", "CustomLog /etc/cron.d/x x", "LoadModule x y"]
    {
        let printed = refusal(&format!("<Perl>\n$PerlConfig = '{line}';\n</Perl>\n"));
        let name = line.split(' ').next().unwrap_or_default();
        assert!(
            printed.contains(&format!("<Perl>:1: {name}: can't come from a <Perl> section")),
            "{printed}"
        );
    }
}

#[test]
fn endless_code_is_ended_with_all_that_it_has_started() {
    let mark = format!("31.{}", std::process::id());
    let began = Instant::now();
    let printed = refusal(&format!("<Perl>\n$Alias = system('sleep {mark} &');\n1 while 1;\n</Perl>\n"));
    assert!(printed.contains("its code was ended: it took longer than 10 seconds"), "{printed}");
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
        ("$NoSuchThing = 1; $Alias = '/a /b';", "NoSuchThing: there is no such directive"),
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
