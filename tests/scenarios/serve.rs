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
