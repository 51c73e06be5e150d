//! Connecting to sockets as the site's user, and programs that listen.

#![allow(clippy::unwrap_used)]

mod client;

use client::*;
use hostler_wire::site::{ConnectError, Exit, Program, RunError};
use rustix::fs::{OFlags, fcntl_getfl};
use serde_bytes::ByteBuf;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

const SITE_USER: u32 = 4242;

#[test]
fn a_connection_is_made_and_does_not_block() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let listener = UnixListener::bind(tree.path("app.sock")).unwrap();
    tree.link("app.sock", "link");
    for name in ["app.sock", "link"] {
        let socket = site.connect(&tree.path(name)).unwrap();
        assert!(fcntl_getfl(&socket).unwrap().contains(OFlags::NONBLOCK));
        let mut accepted = listener.accept().unwrap().0;
        UnixStream::from(socket).write_all(b"hello").unwrap();
        let mut text = String::new();
        accepted.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }
}

#[test]
fn what_can_t_be_connected_to_says_why() {
    let (tree, mut site) = (Tree::new(), Site::start());
    assert_eq!(site.connect(&tree.path("nothing")).unwrap_err(), ConnectError::NotFound);
    assert_eq!(site.connect(&tree.path("nothing/at/all")).unwrap_err(), ConnectError::NotFound);
    assert_eq!(site.connect(&tree.file("file", "")).unwrap_err(), ConnectError::NotSocket);
    drop(UnixListener::bind(tree.path("left")).unwrap());
    assert_eq!(site.connect(&tree.path("left")).unwrap_err(), ConnectError::Refused);
    let _datagrams = UnixDatagram::bind(tree.path("datagrams")).unwrap();
    assert_eq!(site.connect(&tree.path("datagrams")).unwrap_err(), ConnectError::NotStream);
    let relative = site.connect(Path::new("app.sock")).unwrap_err();
    assert_eq!(relative, ConnectError::Other { errno: EINVAL });
}

#[test]
fn whose_permission_is_missing_is_told() {
    if !is_root() {
        return;
    }
    let (tree, mut site) = (Tree::new(), Site::start_as(Some(SITE_USER)));
    tree.directory("closed");
    let _inside = UnixListener::bind(tree.path("closed/app.sock")).unwrap();
    chmod(&tree.path("closed"), 0o750);
    let directory = tree.path("closed").to_str().unwrap().to_owned();
    let expected = ConnectError::NotEntered { directory, uid: SITE_USER, owner: 0, mode: 0o750 };
    assert_eq!(site.connect(&tree.path("closed/app.sock")).unwrap_err(), expected);
    let _listener = UnixListener::bind(tree.path("app.sock")).unwrap();
    chmod(&tree.path("app.sock"), 0o660);
    let expected = ConnectError::NotWritable { uid: SITE_USER, owner: 0, mode: 0o660 };
    assert_eq!(site.connect(&tree.path("app.sock")).unwrap_err(), expected);
    chown(&tree.path("app.sock"), SITE_USER);
    site.connect(&tree.path("app.sock")).unwrap();
}

/// Connections until there is no room for any more.
fn fill(site: &mut Site, path: &Path) -> Vec<std::os::fd::OwnedFd> {
    let mut waiting = Vec::new();
    loop {
        match site.connect(path) {
            Ok(socket) => waiting.push(socket),
            Err(error) => {
                assert_eq!(error, ConnectError::Busy);
                return waiting;
            }
        }
        assert!(waiting.len() < 10_000, "there is always room");
    }
}

fn listener_with_little_room(path: &Path) -> UnixListener {
    let listener = UnixListener::bind(path).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    listener
}

#[test]
fn a_full_backlog_is_waited_for_and_others_are_served_meanwhile() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let listener = listener_with_little_room(&tree.path("app.sock"));
    let waiting = fill(&mut site, &tree.path("app.sock"));
    let id = site.ask_connection(&tree.path("app.sock"), PATIENCE);
    // Answered before the connection, though asked after it.
    assert_eq!(site.shell("echo meanwhile").stdout, "meanwhile\n");
    for _ in &waiting {
        listener.accept().unwrap();
    }
    site.connection(id).unwrap();
}

#[test]
fn a_backlog_that_stays_full_is_told_apart_when_the_time_is_over() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let _listener = listener_with_little_room(&tree.path("app.sock"));
    let _waiting = fill(&mut site, &tree.path("app.sock"));
    let id = site.ask_connection(&tree.path("app.sock"), Duration::from_millis(20));
    assert_eq!(site.connection(id).unwrap_err(), ConnectError::Busy);
}

/// Accepts on its descriptor 0, and tells each who connects where it is.
const ACCEPTS: &str = "#!/usr/bin/perl\n\
    use Cwd; use Socket; open(my $listening, '+<&=', 0) or die; $| = 1; print \"ready\\n\";\n\
    while (accept(my $client, $listening)) { syswrite $client, join(' ', getcwd(), $ENV{A}, @ARGV) }\n";

fn listener(path: &Path, directory: &Path, args: &[&str]) -> Program {
    Program::Listener {
        path: ByteBuf::from(path.to_str().unwrap()),
        args: args.iter().map(|arg| ByteBuf::from(*arg)).collect(),
        directory: ByteBuf::from(directory.to_str().unwrap()),
        backlog: 16,
        shared: false,
    }
}

#[test]
fn a_program_that_listens_is_reached_by_its_site_alone() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let path = tree.executable("accepts", ACCEPTS, 0o755);
    let (started, socket) = site.start_listener(listener(&path, &tree.directory("work"), &["c d"])).unwrap();
    let mut text = String::new();
    let connection = UnixStream::from(site.connect(&socket).unwrap());
    connection.set_nonblocking(false).unwrap();
    { &connection }.read_to_string(&mut text).unwrap();
    assert_eq!(text, format!("{} b c d", tree.path("work").display()));
    // Nothing is left behind, whatever ends these processes.
    assert_eq!(fs::read_dir(site.runtime.path()).unwrap().count(), 0);
    site.send(&hostler_wire::site::ToSite::Kill { id: started.id }, &[]);
    assert_eq!(site.exit_of(started.id), Exit::Signal(15));
    assert_eq!(site.connect(&socket).unwrap_err(), ConnectError::NotFound);
}

#[test]
fn a_program_that_listens_belongs_to_the_site_s_user() {
    if !is_root() {
        return;
    }
    let (tree, mut site) = (Tree::new(), Site::start_as(Some(SITE_USER)));
    let path = tree.executable("accepts", ACCEPTS, 0o755);
    let (_started, socket) = site.start_listener(listener(&path, Path::new("/"), &[])).unwrap();
    assert!(site.connect(&socket).is_ok());
    // It has no name that another process, not even one of the same user's, could come to it by.
    for user in [SITE_USER, SITE_USER + 1] {
        let refused = Site::start_as(Some(user)).connect(&socket).unwrap_err();
        assert_eq!(refused, ConnectError::NotFound);
    }
}

#[test]
fn a_runtime_directory_of_another_user_is_not_used() {
    if !is_root() {
        return;
    }
    let (tree, mut site) = (Tree::new(), Site::start_as(Some(SITE_USER)));
    let path = tree.executable("accepts", ACCEPTS, 0o755);
    std::os::unix::fs::chown(site.runtime.path(), Some(SITE_USER + 1), None).unwrap();
    let refused = site.start_listener(listener(&path, Path::new("/"), &[])).err().unwrap();
    assert!(matches!(refused, RunError::Listen { .. }), "{refused}");
}

#[test]
fn a_program_that_may_not_be_run_does_not_listen() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let path = tree.executable("accepts", ACCEPTS, 0o775);
    let refused = site.start_listener(listener(&path, &tree.path(""), &[])).err().unwrap();
    assert_eq!(refused, RunError::Writable { mode: 0o775 });
    let missing = site.start_listener(listener(&tree.path("none"), &tree.path(""), &[])).err().unwrap();
    assert_eq!(missing, RunError::NotFound);
}
