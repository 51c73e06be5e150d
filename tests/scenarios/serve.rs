//! `hostler serve`: a folder, or an application, without a configuration.

use hostler_tests::hostler;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server of `path` on this port, whose words can be read.
fn serve(path: &Path, address: SocketAddr) -> Child {
    let mut command = Command::new(hostler());
    command.args(["serve", path.to_str().expect("plain names"), "--listen", &address.to_string()]);
    command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().expect("hostler starts")
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("it has one")
}

/// A folder that everybody may enter.
fn folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("ours");
    folder
}

#[test]
fn it_says_that_it_serves_when_it_does() {
    let folder = folder();
    let app = "sub { [200, ['Content-Type', 'text/plain'], [\"$_[0]{SCRIPT_NAME}|$_[0]{PATH_INFO}\"]] }";
    std::fs::write(folder.path().join("app.psgi"), app).expect("a file");
    let address = free_address();
    let mut child = serve(&folder.path().join("app.psgi"), address);
    let mut console = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while !said.contains("hostler: serving ") && console.read_line(&mut said).expect("readable") > 0 {}
    // From now on nobody has to try twice.
    let mut answer = String::new();
    let asked = TcpStream::connect(address).and_then(|mut stream| {
        stream.write_all(b"GET /a//b/c HTTP/1.0\r\n\r\n")?;
        stream.read_to_string(&mut answer)
    });
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .expect("it runs");
    child.wait().expect("it ends");
    asked.expect("an answer");
    assert!(said.contains(&format!("app.psgi on http://{address}/")), "{said}");
    assert!(answer.ends_with("\r\n\r\n|/a//b/c"), "{answer}");
}

#[test]
fn it_promises_nothing_where_the_address_is_in_use() {
    let folder = folder();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let child = serve(folder.path(), taken.local_addr().expect("it has one"));
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("in use"), "{said}");
    assert!(!said.contains("serving"), "{said}");
}

/// Serves a folder until dropped.
struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    fn new(folder: &Path) -> Self {
        let address = free_address();
        let mut child = serve(folder, address);
        let mut console = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut said = String::new();
        while !said.contains("errors are logged") && console.read_line(&mut said).expect("readable") > 0 {}
        // The server goes on writing there.
        std::thread::spawn(move || std::io::copy(&mut console, &mut std::io::sink()));
        Self { child, address }
    }

    /// The answer to a GET.
    fn get(&self, path: &str) -> String {
        let mut answer = String::new();
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).expect("a request");
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_private_and_sources_are_never_sent() {
    let folder = folder();
    let put = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
        std::fs::write(path, "SECRET").expect("ours");
    };
    let private = [
        ".env",
        ".git/config",
        ".svn/entries",
        ".hg/hgrc",
        "CVS/Root",
        ".htpasswd",
        "sub/.git/HEAD",
        "sub/.env.local",
        "production.env",
        ".index.php.swp",
    ];
    let backups = ["a.php~", "a.pl~", "#a.py#", "a.cgi-old", "a.swp", "notes~"];
    let programs = [
        "a.php5",
        "A.PHP",
        "a.php.bak",
        "a.phps",
        "a.inc",
        "a.py",
        "a.pm",
        "a.jsp",
        "a.war",
        "a.wsgi",
        "a.rb",
        "a.sh",
        "sub/a.pht",
    ];
    private.iter().chain(&backups).chain(&programs).for_each(|name| put(name));
    put("page.html");
    put(".well-known/security.txt");
    std::fs::write(
        folder.path().join("in.shtml"),
        "<!--#include virtual=\"a.php5\"--><!--#include file=\".env\"-->",
    )
    .expect("ours");
    let server = Served::new(folder.path());
    for (names, why) in [
        (&private[..], "private"),
        (&backups[..], "an editor left it behind"),
        (&programs[..], "the source of a program"),
    ] {
        for name in names {
            let answer = server.get(&format!("/{}", name.replace('#', "%23")));
            assert!(answer.starts_with("HTTP/1.1 403") && answer.contains(why), "{name}: {answer}");
            assert!(!answer.contains("SECRET"), "{name}: {answer}");
        }
    }
    assert!(!server.get("/in.shtml").contains("SECRET"));
    for name in ["page.html", ".well-known/security.txt"] {
        assert!(server.get(&format!("/{name}")).ends_with("SECRET"), "{name}");
    }
}

#[test]
fn a_listing_leaves_out_what_is_private() {
    let folder = folder();
    for name in [".env", "x.php~", "page.html"] {
        std::fs::write(folder.path().join(name), "").expect("ours");
    }
    let listing = Served::new(folder.path()).get("/");
    assert!(listing.starts_with("HTTP/1.1 200") && listing.contains("page.html"), "{listing}");
    assert!(!listing.contains(".env") && !listing.contains("x.php"), "{listing}");
}

#[test]
fn an_htaccess_file_may_give_a_program_a_handler() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let program = folder.path().join("a.py");
    std::fs::write(&program, "#!/bin/sh\necho\necho it ran\n").expect("ours");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("ours");
    std::fs::write(folder.path().join("b.rb"), "puts 1").expect("ours");
    std::fs::write(
        folder.path().join(".htaccess"),
        "AddHandler cgi-script .py\nAddHandler default-handler .rb\n",
    )
    .expect("ours");
    let server = Served::new(folder.path());
    assert!(server.get("/a.py").ends_with("it ran\n"));
    assert!(server.get("/b.rb").ends_with("puts 1"));
}

#[test]
fn a_folder_that_its_user_can_not_read_is_told_before_anything_is_promised() {
    use std::os::unix::fs::PermissionsExt;
    hostler_tests::needs_root!();
    let outer = folder();
    let inner = outer.path().join("site");
    std::fs::create_dir(&inner).expect("ours");
    std::fs::set_permissions(outer.path(), std::fs::Permissions::from_mode(0o700)).expect("ours");
    let output = serve(&inner, free_address()).wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("can't read it"), "{said}");
    assert!(said.contains(&format!("because of {}", outer.path().display())), "{said}");
    assert!(!said.contains("serving"), "{said}");
}

#[test]
fn a_configured_server_tells_its_addresses_and_logs() {
    let folder = folder();
    let address = free_address();
    let user = if rustix::process::geteuid().is_root() { "User #64991\nGroup #64991\n" } else { "" };
    let text =
        format!("Listen {address}\n{user}ErrorLog /dev/stderr\nDocumentRoot {}\n", folder.path().display());
    let file = folder.path().join("httpd.conf");
    std::fs::write(&file, text).expect("ours");
    let mut command = Command::new(hostler());
    command.arg("run").arg("-f").arg(&file).stderr(Stdio::piped()).stdin(Stdio::null());
    let mut child = command.spawn().expect("hostler starts");
    let mut console = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while !said.contains("errors are logged") && console.read_line(&mut said).expect("readable") > 0 {}
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .expect("it runs");
    child.wait().expect("it ends");
    assert!(said.contains(&format!("hostler: serving {} on http://{address}/", file.display())), "{said}");
    assert!(said.contains("hostler: errors are logged to stderr"), "{said}");
}

/// Returns the server's messages, and a response, for an argument of the command line.
fn served(word: &Path) -> (String, String) {
    served_for(word, "/a")
}

fn served_for(word: &Path, target: &str) -> (String, String) {
    let address = free_address();
    let mut child = serve(word, address);
    let mut console = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while !said.contains("hostler: serving ") && console.read_line(&mut said).expect("readable") > 0 {}
    let mut answer = String::new();
    let asked = TcpStream::connect(address).and_then(|mut stream| {
        stream.write_all(format!("GET {target} HTTP/1.0\r\n\r\n").as_bytes())?;
        stream.read_to_string(&mut answer)
    });
    let pid = rustix::process::Pid::from_child(&child);
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    child.wait().expect("it ends");
    asked.unwrap_or_else(|error| panic!("{error}: {said}"));
    (said, answer)
}

#[test]
fn it_finds_out_of_which_interface_an_application_in_python_is() {
    hostler_tests::needs_program!("/usr/bin/python3");
    let asgi = "async def app(scope, receive, send):\n    assert scope['type'] == 'http'\n    \
                await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
                await send({'type': 'http.response.body', 'body': b'asgi ' + scope['path'].encode()})\n";
    let wsgi = "def application(environ, start_response):\n    start_response('200 OK', [])\n    \
                return [b'wsgi ' + environ['PATH_INFO'].encode()]\n";
    let folder = folder();
    for (file, text) in [("one.py", asgi), ("two.py", wsgi)] {
        std::fs::write(folder.path().join(file), text).expect("a file");
    }
    for (word, sentence, body) in [
        ("one.py", "is an ASGI application (app)", "asgi /a"),
        ("one:app", "is an ASGI application (app)", "asgi /a"),
        ("two.py", "is a WSGI application (application)", "wsgi /a"),
        ("two:application", "is a WSGI application (application)", "wsgi /a"),
    ] {
        let (said, answer) = served(&folder.path().join(word));
        assert!(said.contains(sentence), "{word}: {said}");
        assert!(answer.ends_with(body), "{word}: {answer}\n{said}");
    }
}

#[test]
fn an_application_is_asked_for_encoded_slashes_too() {
    hostler_tests::needs_program!("/usr/bin/python3");
    let folder = folder();
    let asgi = "async def app(scope, receive, send):\n    assert scope['type'] == 'http'\n    \
                await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
                await send({'type': 'http.response.body', 'body': scope['path'].encode() + b' ' + scope['raw_path']})\n";
    let wsgi = "def application(environ, start_response):\n    start_response('200 OK', [])\n    \
                return [('%s %s' % (environ['PATH_INFO'], environ['REQUEST_URI'])).encode()]\n";
    let psgi = "sub { [200, ['Content-Type', 'text/plain'], [\"$_[0]{PATH_INFO} $_[0]{REQUEST_URI}\"]] }";
    // PSGI's path is the target's, decoded and no more.
    let cases = [("one.py", asgi, "/a/b/c"), ("two.py", wsgi, "/a/b/c"), ("three.psgi", psgi, "/a/b//c")];
    for (file, text, path) in cases {
        std::fs::write(folder.path().join(file), text).expect("a file");
        let (said, answer) = served_for(&folder.path().join(file), "/a%2Fb//c");
        assert!(answer.ends_with(&format!("\r\n\r\n{path} /a%2Fb//c")), "{file}: {answer}\n{said}");
    }
}

#[test]
fn what_finding_that_out_has_started_ends_with_it() {
    hostler_tests::needs_program!("/usr/bin/python3");
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).expect("ours");
    // The process has the pipe of who asks.
    let text = "import os, subprocess\nkept = subprocess.Popen(['/bin/sleep', '60'])\n\
                with open(os.path.join(os.path.dirname(__file__), 'pids'), 'a') as file:\n    file.write('%d\\n' % kept.pid)\n\
                async def app(scope, receive, send):\n    \
                await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
                await send({'type': 'http.response.body', 'body': b'ok'})\n";
    std::fs::write(folder.path().join("app.py"), text).expect("a file");
    let (said, answer) = served(&folder.path().join("app.py"));
    assert!(answer.ends_with("ok"), "{answer}\n{said}");
    let pids = std::fs::read_to_string(folder.path().join("pids")).expect("a file");
    let first = format!("/proc/{}/cmdline", pids.lines().next().expect("a number"));
    // Of one that nobody has reaped yet it is empty.
    let is_gone = || std::fs::read(&first).unwrap_or_default().is_empty();
    hostler_tests::await_that("it has ended", is_gone);
}

#[test]
fn an_application_that_can_t_be_imported_is_not_served() {
    hostler_tests::needs_program!("/usr/bin/python3");
    let folder = folder();
    std::fs::write(folder.path().join("app.py"), "raise ValueError('not today')\n").expect("a file");
    let child = serve(&folder.path().join("app.py"), free_address());
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("ValueError: not today"), "{said}");
}

#[test]
fn scripts_in_php_are_run() {
    hostler_tests::needs_php!();
    let folder = folder();
    for (name, text) in [("index.php", "<?php echo 1 + 1;"), ("a.php", "<?php echo $_SERVER['PATH_INFO'];")] {
        std::fs::write(folder.path().join(name), text).expect("ours");
    }
    let served = Served::new(folder.path());
    assert!(served.get("/").ends_with("\r\n\r\n2"));
    assert!(served.get("/a.php/b/c").ends_with("\r\n\r\n/b/c"));
}
