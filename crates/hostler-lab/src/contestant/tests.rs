//! Every installed contestant, started for real on a small site.

use super::kind::Kind;
use super::processes::{Id, Stat};
use super::*;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PAGE: &str = "A page of the lab's own tests\n";
const CONFIGURATION: &str = "<Directory />\nRequire all denied\n</Directory>\nDocumentRoot \"@ROOT@/htdocs\"\nScriptAlias /cgi/ \"@ROOT@/cgi/\"\n\
                             <Directory \"@ROOT@\">\nRequire all granted\n</Directory>\n";
const APPLICATION: &str =
    "open my $f, '<', '@ROOT@/htdocs/page.txt' or die $!; my $p = join '', <$f>; sub { [200, [], [$p]] }\n";

const PYTHON: &str = "def application(environ, start):\n    start('200 OK', [('Content-Type', 'text/plain')])\n    \
                      return [open('@ROOT@/htdocs/page.txt', 'rb').read()]\n";
const ASGI: &str = "async def application(scope, receive, send):\n    \
                    page = open('@ROOT@/htdocs/page.txt', 'rb').read()\n    \
                    length = [(b'content-length', b'%d' % len(page))]\n    \
                    await send({'type': 'http.response.start', 'status': 200, 'headers': length})\n    \
                    await send({'type': 'http.response.body', 'body': page})\n";
const FPM: &str =
    "DocumentRoot @ROOT@/htdocs\n<Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n";
const TOMCAT: &str = "ProxyPass /servlet ajp://127.0.0.1:@SECOND_PORT@/servlet\n";

/// The path of a contestant's page: Tomcat has everything below the application's path.
fn page(kind: Kind) -> &'static str {
    if matches!(kind, Kind::Tomcat | Kind::ApacheAjp | Kind::HostlerAjp) {
        "/servlet/page.txt"
    } else {
        "/page.txt"
    }
}

/// Returns whether it reads the site's configuration.
fn is_configured(kind: Kind) -> bool {
    kind == Kind::Hostler || kind.is_apache() && !matches!(kind, Kind::ApacheAjp | Kind::ApacheFpm)
}

/// A site with a page and a program that writes to a folder, in a folder that `tempfile` keeps from others.
fn site() -> (TempDir, Site) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    for name in ["htdocs", "cgi", "store", "servlet", "wsgi", "asgi"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("htdocs/page.txt"), PAGE).unwrap();
    fs::write(root.join("app.psgi"), APPLICATION.replace("@ROOT@", &root.to_string_lossy())).unwrap();
    fs::write(root.join("servlet/page.txt"), PAGE).unwrap();
    fs::write(root.join("wsgi/comments.py"), PYTHON.replace("@ROOT@", &root.to_string_lossy())).unwrap();
    fs::write(root.join("asgi/comments.py"), ASGI.replace("@ROOT@", &root.to_string_lossy())).unwrap();
    let script = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\ni=0\n\
                  while [ $i -lt 3000 ]; do i=$((i+1)); done\n\
                  echo it >\"$STORE/file\" && echo \"wrote as $(id -u)\"\n";
    fs::write(root.join("cgi/write"), script).unwrap();
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(root.join("cgi/write"), fs::Permissions::from_mode(0o700)).unwrap();
    let environment = vec![("STORE".to_owned(), root.join("store").to_string_lossy().into_owned())];
    let site = Site {
        root,
        configuration: CONFIGURATION.to_owned(),
        environment,
        writable: vec!["store".into()],
        python: Some("comments"),
        own: [("apache-ajp", TOMCAT), ("hostler-ajp", TOMCAT), ("apache-fpm", FPM)]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into(),
        ..Site::default()
    };
    (folder, site)
}

fn get(running: &Running, path: &str) -> String {
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Contestants that can be tested here; says which cannot.
fn installed() -> Vec<Kind> {
    let (here, absent): (Vec<_>, Vec<_>) =
        Kind::ALL.into_iter().partition(|kind| kind.unavailable().is_none());
    for kind in absent {
        hostler_untested::untested(format!("{} {}", kind.name(), kind.unavailable().unwrap_or_default()));
    }
    here
}

fn installed_one(name: &str) -> bool {
    installed().into_iter().any(|kind| kind.name() == name)
}

/// Programs that a server does not start by itself.
#[test]
fn a_script_before_a_server_runs_as_the_site_s_user_and_ends_with_it() {
    if !installed_one("nginx") {
        return;
    }
    let (folder, mut site) = site();
    let script =
        "id -u >@ROOT@/store/who\nsleep 1000 &\necho $! >@ROOT@/store/pid\n: >@RUN@/state/ready\nwait\n";
    site.first.insert("nginx".to_owned(), script.to_owned());
    let running = Running::start("nginx", &site, &folder.path().join("nginx")).unwrap();
    let wrote = |name: &str| fs::read_to_string(site.root.join("store").join(name)).unwrap();
    assert_eq!(wrote("who").trim(), site_user().to_string());
    let beside: u32 = wrote("pid").trim().parse().unwrap();
    let processes: Vec<Id> = running.processes().into_iter().map(|stat| stat.id).collect();
    assert!(processes.iter().any(|id| id.pid == beside), "{beside} is none of the contestant's");
    drop(running);
    assert!(processes.iter().all(|id| !id.lives()), "something is left");
}

#[test]
fn every_contestant_serves_counts_and_leaves_nothing_behind() {
    let (folder, site) = site();
    for kind in installed() {
        let mut running = Running::start(kind.name(), &site, &folder.path().join(kind.name())).unwrap();
        assert!(get(&running, page(kind)).ends_with(PAGE), "{}: {}", kind.name(), get(&running, page(kind)));
        let counting = running.counting();
        let before = running.cost();
        for _ in 0..200 {
            get(&running, page(kind));
        }
        let after = running.cost();
        match counting.map(Counting::end).and_then(|counts| counts.system_calls) {
            Some(calls) => assert!(calls > 800, "{}: {calls}", kind.name()),
            // It takes cgroup version 2 and tracefs, or strace.
            None => hostler_untested::untested("system calls cannot be counted here"),
        }
        let (first, last) = (before.processor.unwrap(), after.processor.unwrap());
        assert!(last > first, "{}: {first} s, then {last} s", kind.name());
        assert!(after.memory.unwrap() > 500 << 10, "{}: {after:?}", kind.name());
        // Tomcat is one.
        assert!(after.processes.unwrap() > u32::from(kind != Kind::Tomcat), "{}: {after:?}", kind.name());
        eprintln!("{}: {:.0} ms to start, {before:?} {after:?}", kind.name(), running.start_up * 1e3);
        assert_eq!(running.died(), None);
        let processes: Vec<Id> = running.processes().into_iter().map(|stat| stat.id).collect();
        let groups = running.groups.entrances();
        drop(running);
        let left: Vec<_> = processes.into_iter().filter(|id| id.lives()).collect();
        assert!(left.is_empty(), "{} leaves {left:?}", kind.name());
        assert!(groups.iter().all(|path| !path.exists()), "{} leaves {groups:?}", kind.name());
    }
}

/// The fallback where the kernel's counters are not available.
#[test]
fn calls_are_counted_with_strace_too() {
    let (folder, site) = site();
    for kind in installed() {
        let running = Running::start(kind.name(), &site, &folder.path().join(kind.name())).unwrap();
        get(&running, page(kind));
        let Some(tracer) = running.trace() else {
            return hostler_untested::untested("there is no strace, or it may not trace");
        };
        for _ in 0..50 {
            assert!(get(&running, page(kind)).ends_with(PAGE), "{}", kind.name());
        }
        let calls = tracer.end();
        assert!(calls.is_some_and(|calls| calls > 200), "{}: {calls:?}", kind.name());
        assert!(get(&running, page(kind)).ends_with(PAGE), "{}: it goes on", kind.name());
    }
}

#[test]
fn programs_write_where_the_site_lets_them() {
    let (folder, site) = site();
    for kind in installed() {
        if !is_configured(kind) {
            continue;
        }
        let running = Running::start(kind.name(), &site, &folder.path().join(kind.name())).unwrap();
        let answer = get(&running, "/cgi/write");
        assert!(answer.contains("wrote as"), "{}: {answer}\n{}", kind.name(), running.last_lines());
        if rustix::process::geteuid().is_root() {
            assert!(answer.contains(&format!("wrote as {}\n", site_user())), "{}: {answer}", kind.name());
        }
    }
}

#[test]
fn a_configuration_error_shows_what_the_server_said() {
    let (folder, mut site) = site();
    site.configuration.push_str("NoSuchDirective at all\n");
    for kind in installed() {
        if !is_configured(kind) {
            continue;
        }
        let error = Running::start(kind.name(), &site, &folder.path().join(kind.name())).unwrap_err();
        let error = format!("{error:#}");
        assert!(
            error.contains("NoSuchDirective") && error.contains("server.conf"),
            "{}: {error}",
            kind.name()
        );
    }
}

#[test]
fn an_unknown_contestant_is_told_who_there_is() {
    let (folder, site) = site();
    let error = Running::start("apache", &site, folder.path()).unwrap_err().to_string();
    assert!(error.contains("apache-prefork") && error.contains("hostler"), "{error}");
}

#[test]
fn each_server_s_words_for_a_taken_port_are_understood() {
    for said in [
        "bind() to 127.0.0.1:80 failed (98: Address already in use)",
        "[ERROR] Connection in use: ('127.0.0.1', 34713)",
        "error while attempting to bind on address ('127.0.0.1', 80): address already in use",
    ] {
        assert!(start::port_taken(said), "{said}");
    }
    assert!(!start::port_taken("it ended by itself (exit status: 1)"));
}

#[test]
fn a_taken_port_is_survived() {
    let (folder, site) = site();
    for kind in installed() {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        // Answers, so that it could be taken for the contestant.
        let address = other.local_addr().unwrap();
        let serves = std::thread::spawn(move || {
            while let Ok((mut stream, _)) = other.accept() {
                let mut start = [0; 4];
                let _ = stream.read(&mut start);
                if &start == b"QUIT" {
                    return;
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nit is me\n");
            }
        });
        let mut ports = std::iter::once(address.port()).chain(start::free_ports());
        let running = start::start(kind, &site, &folder.path().join(kind.name()), &mut ports);
        TcpStream::connect(address).unwrap().write_all(b"QUIT").unwrap();
        serves.join().unwrap();
        let running = running.unwrap();
        assert_ne!(running.address, address);
        assert!(get(&running, page(kind)).ends_with(PAGE), "{}", kind.name());
    }
}

/// A Tomcat behind a server has a port of its own, which may be gone by the time that it has started.
#[test]
fn a_taken_port_of_what_is_behind_a_server_is_survived() {
    let (folder, site) = site();
    for kind in installed().into_iter().filter(|kind| matches!(kind.name(), "apache-ajp" | "hostler-ajp")) {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken = other.local_addr().unwrap().port();
        let mut free = start::free_ports();
        let mut ports = [free.next().unwrap(), taken].into_iter().chain(free);
        let running = start::start(kind, &site, &folder.path().join(kind.name()), &mut ports).unwrap();
        assert!(get(&running, page(kind)).ends_with(PAGE), "{}", kind.name());
    }
}

#[test]
fn a_contestant_that_ends_by_itself_is_noticed() {
    let (folder, site) = site();
    if !installed_one("nginx") {
        return;
    }
    let mut running = Running::start("nginx", &site, folder.path()).unwrap();
    let main = Stat::of(running.pid()).unwrap().id;
    main.signal(rustix::process::Signal::KILL);
    let begin = Instant::now();
    let died = loop {
        if let Some(died) = running.died() {
            break died;
        }
        // Time: patience.
        assert!(begin.elapsed() < Duration::from_secs(5), "nobody noticed");
        // Time: looks again.
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(died.contains("signal: 9") && died.contains("server.conf"), "{died}");
    let workers: Vec<Id> = running.processes().into_iter().map(|stat| stat.id).collect();
    drop(running);
    assert!(workers.iter().all(|id| !id.lives()), "its workers outlive it");
}

/// Orders of magnitude only: the machine may be busy.
#[test]
fn a_cap_slows_down_all_processes_of_a_contestant() {
    let (folder, mut site) = site();
    site.cpu = Some(0.1);
    if !installed_one("hostler") {
        return;
    }
    let running = match Running::start("hostler", &site, folder.path()) {
        Ok(running) => running,
        Err(e) => {
            let why = format!("{e:#}");
            assert!(why.contains("cannot be capped"), "{why}");
            return hostler_untested::untested(why);
        }
    };
    let before = running.cost().processor.unwrap();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while begin.elapsed() < Duration::from_secs(2) {
                    get(&running, "/cgi/write");
                }
            });
        }
    });
    let share = (running.cost().processor.unwrap() - before) / begin.elapsed().as_secs_f64();
    assert!(share > 0.02 && share < 0.2, "it used {share} of a processor");
}
