//! Registry scripts of both generations: what mod_perl does with them, step by step, its oddities included.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod front;
mod site;

use front::code;
use hostler_perl_frames::Phase;
use site::{Site, file, module, scripts, write_script};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const TYPE: &str = "print \"Content-type: text/plain\\n\\n\";\n";

/// Both generations' Registry.
const BOTH: [(u8, &str); 2] = [(1, "Apache::Registry"), (2, "ModPerl::Registry")];

#[test]
fn the_published_script_runs() {
    for (generation, class) in [
        (1, "Apache::Registry"),
        (1, "Apache::RegistryNG"),
        (1, "Apache::RegistryBB"),
        (1, "Apache::PerlRun"),
        (1, "Apache::PerlRunXS"),
        (1, "Apache::RegistryXS"),
        (2, "ModPerl::Registry"),
        (2, "ModPerl::RegistryBB"),
        (2, "ModPerl::PerlRun"),
        (2, "ModPerl::RegistryPrefork"),
        (2, "ModPerl::PerlRunPrefork"),
        (2, "ModPerl::RegistryCooker"),
    ] {
        let mut site = Site::new(generation, &format!("+{class}"));
        site.script("registry.pl", &format!("{TYPE}print \"Hello\";\n"));
        for _ in 0..3 {
            let answer = site.get("registry.pl");
            assert_eq!((answer.status, answer.body.as_str()), (Some(200), "Hello"), "{class}: {answer:?}");
            assert_eq!(answer.content_type.as_deref(), Some("text/plain"), "{class}");
            assert_eq!(answer.logs, [""; 0], "{class}");
        }
    }
}

#[test]
fn scripts_keep_what_their_functions_have_captured() {
    let counter =
        format!("{TYPE}my $n = 0; our $g; $g++; sub more {{ ++$n }} more(); print more(), ' ', $g;");
    for (generation, class, bodies) in [
        (1, "Apache::Registry", ["2 1", "4 2", "6 3"]),
        (1, "Apache::PerlRun", ["2 1", "2 1", "2 1"]),
        (2, "ModPerl::Registry", ["2 1", "4 2", "6 3"]),
        (2, "ModPerl::RegistryBB", ["2 1", "4 2", "6 3"]),
        (2, "ModPerl::PerlRun", ["2 1", "2 1", "2 1"]),
    ] {
        let mut site = Site::new(generation, class);
        site.script("counter.pl", &counter);
        for body in bodies {
            assert_eq!(site.body("counter.pl"), body, "{class}");
        }
    }
}

#[test]
fn a_changed_script_is_compiled_at_the_next_request() {
    for (generation, class) in BOTH {
        let mut site = Site::new(generation, class);
        for round in 0..5 {
            site.script("changing.pl", &format!("{TYPE}print {round};"));
            assert_eq!(site.body("changing.pl"), round.to_string(), "{class}");
            assert_eq!(site.body("changing.pl"), round.to_string(), "{class}");
        }
    }
    let mut once = Site::new(2, "ModPerl::RegistryBB");
    once.script("changing.pl", &format!("{TYPE}print 1;"));
    once.body("changing.pl");
    once.script("changing.pl", &format!("{TYPE}print 2;"));
    assert_eq!(once.body("changing.pl"), "1");
}

#[test]
fn a_syntax_error_is_a_500_that_heals() {
    for (generation, class) in BOTH {
        let mut site = Site::new(generation, class);
        site.script("broken.pl", &format!("{TYPE}print 1;"));
        assert_eq!(site.body("broken.pl"), "1");
        site.script("broken.pl", "print 'a';\nmy $x = ;\n");
        for _ in 0..2 {
            let answer = site.get("broken.pl");
            assert_eq!((answer.outcome.as_str(), answer.body.as_str()), ("500", ""), "{class}");
            let told = format!("syntax error at {} line 2", site.path("broken.pl").display());
            assert!(answer.logs.iter().any(|line| line.contains(&told)), "{class}: {answer:?}");
        }
        site.script("broken.pl", &format!("{TYPE}print 'healed';"));
        assert_eq!(site.body("broken.pl"), "healed", "{class}");
    }
}

/// CGI::Carp's fatalsToBrowser sends an error page from there.
#[test]
fn exit_is_no_death_for_a_program_s_own_handler_of_those() {
    for (generation, class) in
        [(1, "Apache::Registry"), (1, "Apache::PerlRun"), (2, "ModPerl::Registry"), (2, "ModPerl::PerlRun")]
    {
        let mut site = Site::new(generation, class);
        let handler = "local $SIG{__DIE__} = sub { print 'died' }; ";
        site.script("exit.pl", &format!("{TYPE}{handler}print 'before'; exit; print 'after';"));
        site.script(
            "dies.pl",
            &format!("{TYPE}{handler}eval {{ exit }}; eval {{ die 'x' }}; print ' after';"),
        );
        for _ in 0..2 {
            assert_eq!(site.body("exit.pl"), "before", "{class}");
            assert_eq!(site.body("dies.pl"), "died after", "{class}: it is there again afterwards");
        }
    }
}

#[test]
fn programs_end_in_each_way() {
    for (generation, class) in BOTH {
        let mut site = Site::new(generation, class);
        site.script("exit.pl", &format!("{TYPE}print 'before'; exit 3; print 'after';"));
        site.script("caught.pl", &format!("{TYPE}eval {{ exit }}; print ref $@;"));
        site.script("die.pl", "die \"oh no\\n\";");
        site.script("warn.pl", &format!("{TYPE}warn \"careful\\n\"; print 'warned';"));
        site.script("returns.pl", &format!("{TYPE}print 'kept'; return 404;"));
        site.script("end.pl", &format!("{TYPE}BEGIN {{ our $n++ }} print our $n; END {{ print ' ended' }}"));
        for _ in 0..2 {
            assert_eq!(site.body("exit.pl"), "before", "{class}");
            assert_eq!(site.body("caught.pl"), "APR::Error", "{class}");
            assert_eq!(site.body("returns.pl"), "kept", "{class}");
            assert_eq!(site.body("end.pl"), "1 ended", "{class}");
            assert_eq!(site.body("warn.pl"), "warned", "{class}");
            assert!(site.worker.stderr().ends_with("careful\n"), "{class}");
            let died = site.get("die.pl");
            assert_eq!((died.outcome.as_str(), died.logs.len()), ("500", 1), "{class}: {died:?}");
            assert!(died.logs[0].contains("oh no"), "{class}: {died:?}");
            assert!(died.notes.contains(&("error-notes".into(), "oh no\n".into())), "{class}: {died:?}");
        }
    }
}

#[test]
fn an_error_in_an_end_block_becomes_the_status() {
    let mut site = Site::new(2, "ModPerl::Registry");
    site.script("end.pl", &format!("{TYPE}print 'main'; END {{ die 'in end' }}"));
    let answer = site.get("end.pl");
    assert_eq!(answer.outcome, "500");
    assert!(answer.logs[0].contains("in end"), "{answer:?}");
}

#[test]
fn the_data_segment_is_cut_off_in_generation_2_only() {
    let text = format!("{TYPE}print 'code';\n__END__\nno code (\n");
    let mut new = Site::new(2, "ModPerl::Registry");
    new.script("data.pl", &text);
    assert_eq!(new.body("data.pl"), "code");
    let mut old = Site::new(1, "Apache::Registry");
    old.script("data.pl", &text);
    assert_eq!(old.get("data.pl").outcome, "500");
}

#[test]
fn who_may_run() {
    for (generation, class) in BOTH {
        let mut site = Site::new(generation, class);
        site.script("a.pl", &format!("{TYPE}print 'a';"));
        let mut closed = scripts(class);
        closed.allow_options = 0;
        closed.location = Some("/closed".into());
        assert_eq!(site.get_in(&closed, "a.pl", "").outcome, "403", "{class}");
        assert_eq!(site.body("a.pl"), "a");
        assert_eq!(site.get_in(&closed, "a.pl", "").outcome, "403", "{class}: compiled or not");
        fs::create_dir(site.path("folder.pl")).unwrap();
        assert_eq!(site.get("folder.pl").outcome, "declined", "{class}");
        fs::set_permissions(site.path("a.pl"), fs::Permissions::from_mode(0o644)).unwrap();
        let without_x = site.get("a.pl").outcome;
        assert_eq!(without_x, if generation == 1 { "403" } else { "done" }, "{class}");
        site.script("empty.pl", "");
        assert_eq!(site.get("empty.pl").outcome, if generation == 1 { "404" } else { "done" }, "{class}");
        assert_eq!(
            site.get("missing.pl").outcome,
            if generation == 1 { "404" } else { "declined" },
            "{class}"
        );
    }
}

#[test]
fn names_of_packages_files_and_directories() {
    let text = format!(
        "use Cwd; {TYPE}print join '|', __PACKAGE__, __FILE__, __LINE__, scalar(@ARGV), $0, getcwd(); chdir '/';"
    );
    for (generation, class) in BOTH {
        let mut site = Site::new(generation, class);
        site.script("na-me.pl", &text);
        let (path, root) =
            (site.path("na-me.pl").display().to_string(), site.root.path().display().to_string());
        let escaped: String =
            path[1..].chars().map(|c| if c == '/' { "_".into() } else { escape(c) }).collect();
        for _ in 0..3 {
            let body = site.body("na-me.pl");
            let parts: Vec<_> = body.split('|').collect();
            assert_eq!(&parts[1..4], [path.as_str(), "2", "0"], "{body}");
            if generation == 1 {
                assert_eq!(parts[0], "Apache::ROOT::perl::na_2dme_2epl");
                assert_eq!(parts[5], format!("{root}/perl"));
            } else {
                assert_eq!(parts[0], format!("ModPerl::ROOT::ModPerl::Registry::{escaped}"));
                assert_eq!(parts[4], path);
            }
        }
        let home =
            front::directory(&[(Phase::Response, &["sub { require Cwd; $_[0]->print(Cwd::getcwd()); 0 }"])]);
        let elsewhere = site.get_in(&home, "x", "").body;
        assert_eq!(
            elsewhere,
            if generation == 1 { root } else { "/".into() },
            "{class}: a script's directory is not left"
        );
    }
}

fn escape(c: char) -> String {
    if c.is_ascii_alphanumeric() || c == '_' { c.to_string() } else { format!("_{:2x}", c as u32) }
}

#[test]
fn prefork_classes_change_the_directory() {
    let mut site = Site::new(2, "ModPerl::RegistryPrefork");
    site.script("cwd.pl", &format!("use Cwd; {TYPE}print getcwd();"));
    let expected = site.path("").display().to_string();
    for _ in 0..3 {
        assert_eq!(format!("{}/", site.body("cwd.pl")), expected);
    }
}

#[test]
fn switches_of_the_first_line() {
    let mut site = Site::new(2, "ModPerl::Registry");
    site.script("w.pl", &format!("#!/usr/bin/perl -w\n{TYPE}my $x; my $y = \"a$x\"; print \"W=$^W\";"));
    site.script("t.pl", &format!("#!/usr/bin/perl -T\n{TYPE}my $x; my $y = \"a$x\"; print 't';"));
    assert_eq!(site.body("w.pl"), "W=0");
    assert!(site.worker.stderr().contains("uninitialized value $x"), "-w is `use warnings`");
    let answer = site.get("t.pl");
    assert_eq!(answer.body, "t");
    assert!(answer.logs[0].starts_with("-T switch is ignored"), "{answer:?}");
    assert_eq!(site.worker.stderr(), "");
}

#[test]
fn scripts_run_under_taint_checks() {
    for (generation, class) in BOTH.into_iter().chain([(1, "Apache::PerlRun"), (2, "ModPerl::PerlRun")]) {
        let mut site = Site::tainted(generation, class);
        site.script("t.pl", &format!("{TYPE}print ${{^TAINT}};"));
        for _ in 0..2 {
            assert_eq!(site.body("t.pl"), "1", "{class}");
        }
    }
}

#[test]
fn headers_are_looked_for_once() {
    let mut site = Site::new(2, "ModPerl::Registry");
    site.script("none.pl", "print 'no header';");
    site.script("status.pl", "print \"Status: 404 Nope\\r\\nContent-type: text/plain\\r\\n\\r\\ngone\";");
    site.script("there.pl", "print \"Location: http://example.com/\\n\\n\";");
    site.script("here.pl", "print \"Location: /perl/hello.pl\\n\\n\";");
    site.script("nph-raw.pl", "print \"HTTP/1.0 200 OK\\r\\nX: y\\r\\n\\r\\nraw\";");
    site.script("api.pl", "my $r = shift; $r->content_type('text/plain'); print 'by the interface';");
    let none = site.get("none.pl");
    assert_eq!(none.status, Some(500));
    assert!(none.logs[0].contains("did not send an HTTP header"), "{none:?}");
    let status = site.get("status.pl");
    assert_eq!((status.status, status.body.as_str()), (Some(404), "gone"));
    let there = site.get("there.pl");
    assert_eq!(there.outcome, "302", "{there:?}");
    assert!(there.headers.contains(&("Location".into(), "http://example.com/".into())), "{there:?}");
    assert_eq!(site.get("here.pl").outcome, "redirect /perl/hello.pl");
    assert!(site.get("nph-raw.pl").body.ends_with("raw"));
    assert_eq!(site.body("api.pl"), "by the interface");
}

#[test]
fn cgi_pm_reads_forms_and_writes_headers() {
    for (generation, class) in BOTH {
        let mut site = Site::new(generation, class);
        let program = "use CGI; my $q = CGI->new; print $q->header('text/plain'), scalar $q->param('a');";
        site.script("cgi.pl", program);
        let directory = site.directory.clone();
        for value in ["1", "two"] {
            let answer = site.get_in(&directory, "cgi.pl", &format!("a={value}"));
            assert_eq!((answer.status, answer.body.as_str()), (Some(200), value), "{class}: {answer:?}");
            let kind = "application/x-www-form-urlencoded";
            let posted = site.post_in(&directory, "cgi.pl", "", kind, format!("a=p{value}").as_bytes());
            assert_eq!(posted.body, format!("p{value}"), "{class}: {posted:?}");
        }
    }
}

#[test]
fn scripts_compiled_at_start_are_not_compiled_again() {
    for (generation, class, loader, switches) in [
        (1, "Apache::Registry", "Apache::RegistryLoader", &[][..]),
        (2, "ModPerl::Registry", "ModPerl::RegistryLoader", &[]),
        // PerlTaintCheck
        (1, "Apache::Registry", "Apache::RegistryLoader", &["-T"]),
        (2, "ModPerl::Registry", "ModPerl::RegistryLoader", &["-T"]),
    ] {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("perl")).unwrap();
        let script = root.path().join("perl/registry.pl");
        write_script(
            &script,
            &format!(
                "BEGIN {{ $main::compiled .= $$ == $main::parent ? 'p' : 'w' }}{TYPE}print $main::compiled;"
            ),
        );
        let startup = root.path().join("startup.pl");
        let text = format!(
            "$main::parent = $$;\nuse {loader} ();\n{loader}->new->handler(\"/perl/registry.pl\", \"{}\");\n1;\n",
            script.display()
        );
        fs::write(&startup, text).unwrap();
        let switches = switches.iter().map(|switch| (*switch).to_owned()).collect();
        let mut site = Site::start(generation, class, root, vec![file(&startup)], switches);
        assert_eq!([site.body("registry.pl"), site.body("registry.pl")], ["p", "p"], "{class}");
        site.script("registry.pl", &format!("{TYPE}print 'new';"));
        assert_eq!(site.body("registry.pl"), "new", "{class}");
    }
}

#[test]
fn an_unchanged_script_runs_without_perls_part_of_registry() {
    for (generation, class) in BOTH {
        let count = format!(
            "require {class}; my $cook = {class}->can('cook'); no warnings; *{class}::cook = sub {{ $main::long++; goto &$cook }};"
        );
        let mut site = Site::with(generation, class, tempfile::tempdir().unwrap(), vec![code(&count)]);
        site.script("a.pl", &format!("{TYPE}print $main::long;"));
        // In generation 2 a class that has replaced a step is asked at each request.
        let bodies = if generation == 1 { ["1", "1"] } else { ["1", "2"] };
        for body in bodies {
            assert_eq!(site.body("a.pl"), body, "{class}");
        }
    }
}

#[test]
fn classes_can_replace_steps() {
    let class = "package My::Registry; use ModPerl::Registry; our @ISA = 'ModPerl::Registry'; \
        sub namespace_from { $_[0]->namespace_from_uri } \
        sub read_script { my $s = shift; my $rc = $s->SUPER::read_script; ${$s->{CODE}} =~ s/cat/dog/; $rc } 1;";
    let mut site = Site::with(2, "My::Registry", tempfile::tempdir().unwrap(), vec![code(class)]);
    site.script("a.pl", &format!("{TYPE}print 'cat ', __PACKAGE__;"));
    for _ in 0..2 {
        assert_eq!(site.body("a.pl"), "dog ModPerl::ROOT::My::Registry::_2fperl_2fa_2epl");
    }
}

#[test]
fn files_without_a_package_are_loaded_again_under_perlrun() {
    for (class, bodies) in [("ModPerl::Registry", ["1", "1"]), ("ModPerl::PerlRun", ["1", "2"])] {
        let mut site = Site::new(2, class);
        site.script("part.pl", "$main::loads++; 1;");
        site.script(
            "a.pl",
            &format!("{TYPE}require '{}'; print $main::loads;", site.path("part.pl").display()),
        );
        for body in bodies {
            assert_eq!(site.body("a.pl"), body, "{class}");
        }
    }
}

/// Debian's pure-Perl modules on our interface: the same answers as ours give.
#[test]
fn debians_registry_runs_on_our_interface() {
    let Some(folder) = ["/usr/lib/x86_64-linux-gnu/perl5/5.36", "/usr/lib/aarch64-linux-gnu/perl5/5.36"]
        .into_iter()
        .find(|folder| Path::new(folder).join("ModPerl/RegistryCooker.pm").exists())
    else {
        return hostler_untested::untested(
            "Debian's ModPerl::RegistryCooker is not installed (./setup.sh test)",
        );
    };
    let load = format!(
        "for my $m (map {{ \"ModPerl/$_.pm\" }} qw(RegistryCooker Registry RegistryBB PerlRun RegistryLoader)) {{ \
         $INC{{$m}} = \"{folder}/$m\"; do $INC{{$m}} or die \"$m: $@$!\" }}"
    );
    for class in ["ModPerl::Registry", "ModPerl::RegistryBB", "ModPerl::PerlRun"] {
        let mut site = Site::with(2, class, tempfile::tempdir().unwrap(), vec![code(&load)]);
        site.script("a.pl", &format!("{TYPE}print 'a'; exit if @_ > 5; END {{ print 'e' }}\n__END__\nx(\n"));
        site.script("die.pl", "die \"oh no\\n\";");
        assert_eq!(site.body("a.pl"), "ae", "{class}");
        assert_eq!(site.body("a.pl"), "ae", "{class}");
        assert_eq!(site.get("die.pl").outcome, "500", "{class}");
        site.script("a.pl", &format!("{TYPE}print 'b';"));
        let again = site.get("a.pl").body;
        // It compares seconds.
        assert!(again == "b" || class != "ModPerl::PerlRun", "{class}: {again}");
    }
}

#[test]
fn debians_other_modules_run_on_our_interface() {
    if !Path::new("/usr/share/perl5/Apache2/Reload.pm").exists() {
        return hostler_untested::untested("Debian's Apache2::Reload is not installed (./setup.sh test)");
    }
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("Changing.pm");
    fs::write(&path, "package Changing; sub word { 'old' } 1;").unwrap();
    let text = format!(
        "use lib '{}'; use Changing; BEGIN {{ eval {{ require Apache }} and die }} use Apache2::compat; \
         package Test; use Apache::Constants qw(:common); sub handler {{ my $r = shift; \
         $r->send_http_header('text/plain'); $r->print(Changing::word(), Apache->request->header_in('Host')); OK }} 1;",
        root.path().display()
    );
    let preload = vec![code(&text), module("Apache2::Reload"), module("Apache2::Status")];
    let mut site = Site::with(2, "Test", root, preload);
    let mut place = scripts("Test");
    place.handlers.push((Phase::HeaderParser, vec!["Apache2::Reload".into()]));
    assert_eq!(site.get_in(&place, "x", "").body, "olda");
    fs::write(&path, "package Changing; sub word { 'new' } 1;").unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
    assert_eq!(site.get_in(&place, "x", "").body, "newa");
    let stderr = site.worker.stderr();
    assert!(!stderr.contains("Can't locate"), "{stderr}");
    let menu = site.get_in(&scripts("Apache2::Status"), "status", "");
    assert!(menu.body.contains("Loaded Modules"), "{menu:?}");
}
