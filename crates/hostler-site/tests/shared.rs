//! Programs that listen and that fronts share: which front gets which, and when one ends.

#![allow(clippy::unwrap_used)]

mod client;

use client::*;
use hostler_wire::site::{Exit, FromSite, Program, ToSite};
use serde_bytes::ByteBuf;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Accepts on its descriptor 0, and says so; with a file of its own open.
const ACCEPTS: &str = "#!/usr/bin/perl\n\
    open(my $jar, '<', $ARGV[0]) or die; open(my $listening, '+<&=', 0) or die; $| = 1; print \"ready\\n\";\n\
    while (accept(my $client, $listening)) { print \"accepted\\n\" }\n";

fn program(path: &Path, args: &[&Path]) -> Program {
    Program::Listener {
        path: ByteBuf::from(path.to_str().unwrap()),
        args: args.iter().map(|arg| ByteBuf::from(arg.to_str().unwrap())).collect(),
        directory: ByteBuf::from("/"),
        backlog: 16,
        shared: true,
    }
}

/// The paths of the programs that listen.
fn programs(connection: &mut Connection) -> Vec<ByteBuf> {
    let id = connection.id();
    connection.send(&ToSite::Parents { id }, &[]);
    match connection.receive().0 {
        FromSite::Parents { id: answered, programs, .. } if answered == id => {
            programs.into_iter().map(|program| program.path).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// The next line.
fn line(output: &OwnedFd) -> String {
    let mut line = String::new();
    BufReader::new(File::from(output.try_clone().unwrap())).read_line(&mut line).unwrap();
    line
}

#[test]
fn a_further_front_has_the_program_that_runs_and_what_it_writes() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let path = tree.executable("accepts", ACCEPTS, 0o755);
    let jar = tree.file("a.jar", "");
    let (first, socket) = site.share_listener(program(&path, &[&jar])).unwrap();
    assert!(!first.adopted && line(&first.stdout) == "ready\n");
    let mut next = site.attach().unwrap();
    assert_eq!(programs(&mut next), [ByteBuf::from(path.to_str().unwrap())]);
    let (second, same) = next.share_listener(program(&path, &[&jar])).unwrap();
    assert_eq!((second.adopted, second.pid, &same), (true, first.pid, &socket));
    site.connection.close();
    drop(next.connect(&socket).unwrap());
    assert_eq!(line(&second.stdout), "accepted\n", "one front still has it");
    next.send(&ToSite::Kill { id: second.id }, &[]);
    assert_eq!(next.exit_of(second.id), Exit::Signal(15), "the last front is told of its end");
    assert!(programs(&mut next).is_empty() && next.connect(&socket).is_err());
}

#[test]
fn what_is_asked_for_otherwise_or_was_replaced_is_started_anew() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let path = tree.executable("accepts", ACCEPTS, 0o755);
    let (jar, other) = (tree.file("a.jar", ""), tree.file("other.jar", ""));
    let (first, _) = site.share_listener(program(&path, &[&jar])).unwrap();
    assert_eq!(line(&first.stdout), "ready\n");
    let (second, _) = site.share_listener(program(&path, &[&other])).unwrap();
    assert!(!second.adopted && second.pid != first.pid);
    assert!(site.share_listener(program(&path, &[&jar])).unwrap().0.adopted);
    // As a package's update does it.
    fs::rename(tree.file("a.jar.new", ""), &jar).unwrap();
    let (third, _) = site.share_listener(program(&path, &[&jar])).unwrap();
    assert!(!third.adopted && third.pid != first.pid);
}
