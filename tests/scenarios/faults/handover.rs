//! A new generation takes over: which configuration a connection has, and which addresses are listened on.

use super::{await_that, process, site_with};
use hostler_tests::{Server, Site, hostler};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

fn reload(server: &Server) {
    let output = process::reload(server);
    assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stderr), server.console());
}

/// Writes another configuration for a running server.
fn configure(server: &Server, change: impl Fn(String) -> String) {
    let file = server.site().path("httpd.conf");
    fs::write(&file, change(fs::read_to_string(&file).expect("a configuration"))).expect("it can be written");
}

/// Returns the value of `X-Version` from an answer on a connection of its own.
fn version(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let line = answer.lines().find_map(|line| line.strip_prefix("X-Version: "));
    line.map(str::to_owned).ok_or_else(|| std::io::Error::other(format!("no version in {answer:?}")))
}

/// A large file on its way to a client that reads none of it, as long as the value lives.
fn stalled(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("it listens");
    stream.write_all(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut first = [0; 1];
    stream.read_exact(&mut first).expect("the answer has begun");
    stream
}

/// With a file that no socket's buffers hold.
fn large() -> Site {
    site_with(&[]).file("htdocs/large", vec![b'x'; 64 << 20]).config("Header set X-Version 1")
}

#[test]
fn an_address_that_a_reload_removes_is_free_when_it_returns() {
    let other =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port").local_addr().expect("it has one").port();
    let line = format!("Listen 127.0.0.1:{other}\n");
    let server = large().config(&line).start();
    let mut stalled = stalled(&server);
    for _ in 0..3 {
        assert_eq!(version(other).expect("it is listened on"), "1");
        configure(&server, |text| text.replace(&line, ""));
        reload(&server);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, other)).is_err(), "{}", server.console());
        drop(TcpListener::bind((Ipv4Addr::LOCALHOST, other)).expect("another program may have it"));
        configure(&server, |text| format!("{text}{line}"));
        reload(&server);
    }
    assert_eq!(version(other).expect("it is listened on again"), "1");
    // The download of the first generation goes on.
    let mut more = vec![0; 32 << 20];
    stalled.read_exact(&mut more).expect("the rest");
}

#[test]
fn when_a_reload_returns_each_new_connection_has_the_new_configuration() {
    let server = large().start();
    let port = server.port();
    let (ends, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let failed = thread::scope(|scope| {
        let load = || {
            let mut failed = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                failed.extend(version(port).err().map(|error| error.to_string()));
                asked.fetch_add(1, Ordering::Relaxed);
            }
            failed
        };
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
        for number in 2..10 {
            let (old, new) = (format!("X-Version {}", number - 1), format!("X-Version {number}"));
            configure(&server, |text| text.replace(&old, &new));
            reload(&server);
            for _ in 0..40 {
                let found = version(port).expect("an answer");
                assert_eq!(found, number.to_string(), "{}", server.console());
            }
        }
        ends.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().expect("it ends")).collect::<Vec<_>>()
    });
    assert!(failed.is_empty(), "of {asked:?} connections: {failed:?}");
}

fn stop_gracefully(server: &Server) -> Child {
    await_that("the PidFile", || server.site().path("hostler.pid").exists());
    let file = server.site().path("httpd.conf");
    let mut command = Command::new(hostler());
    command.args(["stop", "--graceful", "-f"]).arg(file).spawn().expect("hostler runs")
}

#[test]
fn a_graceful_stop_returns_when_the_server_has_ended() {
    let server = large().start();
    let download = stalled(&server);
    let mut stop = stop_gracefully(&server);
    await_that("no new connection is taken", || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).is_err()
    });
    assert!(stop.try_wait().expect("a child").is_none(), "a download is still on its way");
    assert!(process::runs(server.pid()));
    drop(download);
    assert!(stop.wait().expect("a child").success());
    assert!(!process::runs(server.pid()) && !server.site().path("hostler.pid").exists());
    // Another one can be started at once.
    let file = server.site().path("httpd.conf");
    let mut again = Command::new(hostler()).args(["run", "-f"]).arg(&file).spawn().expect("hostler runs");
    await_that("it serves", || version(server.port()).is_ok_and(|version| version == "1"));
    let stopped = Command::new(hostler()).args(["stop", "-f"]).arg(&file).status().expect("hostler runs");
    assert!(stopped.success() && again.wait().expect("a child").success());
}
