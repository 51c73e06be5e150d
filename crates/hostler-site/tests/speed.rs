//! The number of programs per second that one site process starts. Not part of the ordinary run: `cargo test --release
//! -p hostler-site --test speed -- --ignored --nocapture`.

#![allow(clippy::unwrap_used)]

mod client;

use client::*;
use hostler_wire::site::{FromSite, Limits, Run, ToSite};
use serde_bytes::ByteBuf;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const RUNS: u64 = 4000;

/// A C program that says hello, linked statically where that is possible.
fn hello(tree: &Tree, linking: &str) -> PathBuf {
    let source = tree.file(
        "hello.c",
        "#include <stdio.h>\nint main(void) { puts(\"Content-Type: text/plain\\n\\nhello\"); return 0; }\n",
    );
    let program = tree.path("hello");
    let compiled =
        Command::new("cc").args(["-O2", linking, "-o"]).arg(&program).arg(&source).status().unwrap();
    assert!(compiled.success());
    chmod(&program, 0o755);
    program
}

/// Runs a program often, `at_once` of them together; returns starts per second.
fn measure(site: &mut Site, program: &Path, at_once: usize) -> f64 {
    let env: Vec<ByteBuf> =
        (0..30).map(|n| ByteBuf::from(format!("VARIABLE_{n}=some value of it"))).collect();
    let mut outputs: HashMap<u64, (OwnedFd, OwnedFd)> = HashMap::new();
    let null = std::fs::File::open("/dev/null").unwrap();
    let (mut next, mut done) = (0, 0);
    let start = Instant::now();
    while done < RUNS {
        while outputs.len() < at_once && next < RUNS {
            let (stdout, theirs) = rustix::pipe::pipe().unwrap();
            let (stderr, errors) = rustix::pipe::pipe().unwrap();
            let run = Run {
                id: next,
                program: script(program),
                env: env.clone(),
                suexec: true,
                no_new_privs: false,
                limits: Limits::default(),
            };
            site.send(&ToSite::Run(run), &[null.as_fd(), theirs.as_fd(), errors.as_fd()]);
            outputs.insert(next, (stdout, stderr));
            next += 1;
        }
        match site.receive().0 {
            FromSite::Started { .. } => {}
            FromSite::Exited { id, .. } => {
                let (stdout, _) = outputs.remove(&id).unwrap();
                assert!(text(stdout).ends_with("hello\n"));
                done += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    RUNS as f64 / start.elapsed().as_secs_f64()
}

#[test]
#[ignore = "a measurement"]
fn programs_started_per_second() {
    for linking in ["-static", "-O2"] {
        let (tree, mut site) = (Tree::new(), Site::start());
        let program = hello(&tree, linking);
        for at_once in [1, 8] {
            let rate = measure(&mut site, &program, at_once);
            println!("C hello ({linking}), {at_once} at once: {rate:.0} runs/s");
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn walks_per_second() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("a/b/c");
    let file = tree.file("a/b/c/page", "x");
    let start = Instant::now();
    for _ in 0..RUNS {
        assert!(site.walk(&file).1.is_some());
    }
    println!(
        "walks of 6 components, access files and watches: {:.0}/s",
        RUNS as f64 / start.elapsed().as_secs_f64()
    );
}
