//! `hostler-perl configure`, with the planner's end of the socket in this test: what configuration code builds.

use hostler_perl_frames::configure::{FromConfigure, ToConfigure};
use hostler_perl_frames::{Preload, PreloadKind};
use hostler_sys::process::{Pid, Program, Signal, Spawn, kill, spawn, wait};
use hostler_wire::build::Build;
use hostler_wire::engine::ServerFacts;
use hostler_wire::frame::{HEAD, Head};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

struct Sections {
    pid: Pid,
    socket: UnixStream,
}

impl Sections {
    fn start() -> Self {
        let (ours, theirs) = hostler_sys::socket::stream_pair().expect("a pair of sockets");
        let null = File::options().read(true).write(true).open("/dev/null").expect("it works");
        let pid = spawn(&Spawn {
            program: &Program::open(Path::new(env!("CARGO_BIN_EXE_hostler-perl"))).expect("the program"),
            args: &[c"hostler-perl".to_owned(), c"configure".to_owned()],
            env: &[],
            fds: &[(theirs.as_fd(), 0), (null.as_fd(), 1), (null.as_fd(), 2)],
            identity: None,
            group: None,
            limits: &[],
            directory: Some(c"/"),
            no_new_privs: true,
            dies_with_parent: false,
            own_session: true,
        })
        .expect("it works");
        let mut sections = Self { pid, socket: UnixStream::from(ours) };
        let main = ServerFacts { name: "main.test".into(), ..ServerFacts::default() };
        let begin = ToConfigure::Begin {
            generation: 2,
            server_root: "/srv".into(),
            switches: vec![],
            main: Box::new(main),
            vars: vec![("Root".into(), "/app".into())],
        };
        assert_eq!(sections.ask(&begin), FromConfigure::Hello(Build::own()));
        sections
    }

    fn ask(&mut self, question: &ToConfigure) -> FromConfigure {
        let mut bytes = Vec::new();
        question.encode(&mut bytes).expect("a frame");
        self.socket.write_all(&bytes).expect("the process is there");
        let mut head = [0; HEAD];
        self.socket.read_exact(&mut head).expect("the process is there");
        let mut body = vec![0; Head::decode(head).expect("it works").body];
        self.socket.read_exact(&mut body).expect("the process is there");
        FromConfigure::decode(&body).expect("a frame")
    }

    fn run(&mut self, code: &str, in_host: bool) -> FromConfigure {
        let preload = Preload {
            kind: PreloadKind::Code,
            text: format!("{code}\n"),
            origin: "/etc/h.conf:7".into(),
            configured: false,
        };
        self.ask(&ToConfigure::Run { preload, in_host })
    }

    /// Returns the configuration that code builds, lines joined by `;`.
    fn built(&mut self, code: &str) -> String {
        match self.run(code, false) {
            FromConfigure::Done { text, warnings, .. } if warnings.is_empty() => {
                text.trim_end().replace('\n', ";")
            }
            other => panic!("{code}: {other:?}"),
        }
    }

    fn failure(&mut self, code: &str) -> String {
        match self.run(code, false) {
            FromConfigure::Failed { why } => why,
            other => panic!("{code}: {other:?}"),
        }
    }
}

impl Drop for Sections {
    fn drop(&mut self) {
        kill(self.pid, Signal::KILL);
        let _ = wait(self.pid);
    }
}

#[test]
fn variables_are_directives() {
    let mut sections = Sections::start();
    for (code, text) in [
        ("1;", ""),
        ("$ServerAdmin = 'a@b';", "ServerAdmin a@b"),
        ("$Timeout = \\5; @ISA = ('X'); our $VERSION = 2;", "Timeout 5"),
        ("@Alias = ('/a /b', ['/c', '/d']);", "Alias /a /b;Alias /c /d"),
        ("push @PerlModule, qw(A B); $PerlModule = 'C';", "PerlModule C;PerlModule A;PerlModule B"),
        (
            "%Location = ('/b' => { B => 1, A => [1, 2] }, '/a' => {});",
            "<Location /a>;</Location>;<Location /b>;A 1 2;B 1;</Location>",
        ),
        (
            "$Files{x} = [{ A => 1 }, { A => [[1, 2], 3] }];",
            "<Files x>;A 1;</Files>;<Files x>;A 1 2;A 3;</Files>",
        ),
        (
            "$Directory{'/'} = { Files => { x => { A => undef, B => 0 } } };",
            "<Directory />;<Files x>;B 0;</Files>;</Directory>",
        ),
        ("$Location{x} = 'not a section';", ""),
        ("$PerlConfig = \"A 1\\nB 2\\n\"; @PerlConfig = ('C', \"D\\nE\"); $Z = 1;", "Z 1;C;D;E;A 1;B 2"),
        ("$Apache::ReadConfig::A = 1; $Apache2::ReadConfig::B = 2; $Other::C = 3;", "B 2;A 1"),
        (
            "$A = 1; Apache2::ServerUtil->server->add_config(['B 2', \"C 3\\n\"]); Apache->httpd_conf(\"D 4\\nE 5\");",
            "B 2;C 3;D 4;E 5;A 1",
        ),
        ("my $Alias = 1; our ($x, @y, %z);", ""),
        (
            "my $s = Apache2::ServerUtil->server; $A = join ' ', $s->server_hostname, $s->dir_config('root');",
            "A main.test /app",
        ),
        ("$A = \"\\x{e9}\\x{263a}\";", "A \u{e9}\u{263a}"),
    ] {
        assert_eq!(sections.built(code), text, "{code}");
    }
}

#[test]
fn each_section_begins_anew_but_for_what_it_has_defined() {
    let mut sections = Sections::start();
    assert_eq!(
        sections.built("sub make { return { A => shift } } $kept::here = 5; $A = 1; @B = 2; %C = (x => {});"),
        "A 1;B 2;<C x>;</C>"
    );
    assert_eq!(
        sections.built("$Location{x} = make($kept::here); die if defined $A or @B or %C;"),
        "<Location x>;A 5;</Location>"
    );
    assert!(sections.failure("$A = 7; die 'no';").starts_with("no at /etc/h.conf line 8"));
    assert_eq!(sections.built("$B = 1;"), "B 1");
}

#[test]
fn what_is_no_configuration_is_told() {
    let mut sections = Sections::start();
    for (code, why) in [
        ("die 'deliberately'", "deliberately at /etc/h.conf line 8."),
        ("\n1 +) 2;", "syntax error at /etc/h.conf line 9"),
        ("exit 0", "it called exit"),
        ("$A = \"x\\nUser root\"", "the value of A contains the end of a line"),
        ("%A = (\"x>\\nUser root\\n<A\" => {})", "the argument of <A> contains the end of a line"),
        ("$A = sub { 1 }", "a value of type CODE cannot be a directive (A)"),
        ("$Location{x} = [1]", "<Location x> needs a hash"),
        ("$PerlConfig = 'x' x 2_000_000", "more than 1000000 bytes"),
    ] {
        let found = sections.failure(code);
        assert!(found.contains(why), "{code}: {found}");
    }
    let refused = sections.run("Apache2::ServerUtil->server->add_config(['A'])", true);
    assert!(
        matches!(&refused, FromConfigure::Failed { why } if why.contains("<VirtualHost>")),
        "{refused:?}"
    );
    let warned = sections.run("warn 'careful'", false);
    assert!(
        matches!(&warned, FromConfigure::Done { warnings, .. } if warnings.contains("careful at /etc/h.conf line 8"))
    );
}

#[test]
fn files_add_lines_and_leave_their_variables_to_the_next_section() {
    let mut sections = Sections::start();
    let file = std::env::temp_dir().join(format!("hostler-configure-{}.pl", std::process::id()));
    let code = "Apache2::ServerUtil->server->add_config(['A 1']); $Apache2::ReadConfig::B = 2; warn 'w'; 1;";
    std::fs::write(&file, code).expect("it works");
    let text = file.to_string_lossy().into_owned();
    let preload =
        Preload { kind: PreloadKind::File, text, origin: "/etc/h.conf:3".into(), configured: false };
    let look = ToConfigure::Look { preload: preload.clone(), server_root: "/".into(), places: vec![] };
    let shown = sections.ask(&look);
    assert!(matches!(&shown, FromConfigure::Saw(shown) if shown.adds && shown.fills), "{shown:?}");
    let refused = Sections::start().ask(&ToConfigure::Run { preload: preload.clone(), in_host: true });
    assert!(
        matches!(&refused, FromConfigure::Failed { why } if why.contains("<VirtualHost>")),
        "{refused:?}"
    );
    let added = sections.ask(&ToConfigure::Run { preload, in_host: false });
    std::fs::remove_file(&file).expect("it works");
    assert!(
        matches!(&added, FromConfigure::Done { text, warnings, .. } if text == "A 1\n" && warnings.starts_with("w at ")),
        "{added:?}"
    );
    assert_eq!(sections.built("$C = 3;"), "B 2;C 3");
}

#[test]
fn directives_that_modules_add_are_told() {
    let mut sections = Sections::start();
    let code = "require Apache2::Module; use Apache2::Const -compile => qw(FLAG RSRC_CONF); \
                Apache2::Module::add('My::Words', [{ name => 'MyOne', errmsg => \"a\\tb\\n\" }, \
                { name => 'MyFlag', args_how => Apache2::Const::FLAG(), req_override => Apache2::Const::RSRC_CONF() }]);";
    let told = sections.run(code, false);
    let expected = "My::Words\tMyOne\t1\t31\ta b \nMy::Words\tMyFlag\t5\t128\tMyFlag command\n";
    assert!(matches!(&told, FromConfigure::Done { declared, .. } if declared == expected), "{told:?}");
    // What was added stays, whoever asks.
    let again = sections.run("1;", false);
    assert!(matches!(&again, FromConfigure::Done { declared, .. } if declared == expected), "{again:?}");
}

#[test]
fn what_the_code_includes_is_read_by_its_own_process() {
    let mut sections = Sections::start();
    let root = std::env::temp_dir().join(format!("hostler-configure-include-{}", std::process::id()));
    std::fs::create_dir_all(root.join("all/below")).expect("it works");
    let place = root.to_string_lossy().into_owned();
    for (file, text) in [
        ("all/b.conf", "B 1\n<C d>\n  E \\\n  f\n</C>\n".to_owned()),
        ("all/below/a.conf", format!("include {place}/one.conf\n")),
        ("one.conf", "A 1".to_owned()),
        ("round.conf", format!("Include {place}/round.conf\n")),
    ] {
        std::fs::write(root.join(file), text).expect("it works");
    }
    let add = |line: &str| format!("Apache2::ServerUtil->server->add_config(['X', '{line}', 'Y']);");
    let all = sections.built(&add(&format!("Include {place}/all")));
    assert_eq!(all, "X;B 1;<C d>;  E   f;</C>;A 1;Y");
    assert_eq!(sections.built(&add(&format!("Include \"{place}/o*.conf\""))), "X;A 1;Y");
    assert_eq!(sections.built(&add("IncludeOptional /nowhere/x.conf")), "X;Y");
    assert_eq!(sections.built(&add("Include /nowhere/*.conf")), "X;Y");
    assert_eq!(sections.built(&format!("$PerlConfig = 'Include {place}/one.conf';")), "A 1");
    for (line, why) in [
        ("Include /nowhere/x.conf".to_owned(), "there is no such file"),
        (format!("Include {place}/round.conf"), "include each other"),
    ] {
        let found = sections.failure(&add(&line));
        assert!(found.contains(why), "{line}: {found}");
    }
    std::fs::remove_dir_all(&root).expect("it works");
}
