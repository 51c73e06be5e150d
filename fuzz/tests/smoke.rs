//! The short run of every target: examples from `corpus/<target>/`, words from `corpus/<target>.words`, and what
//! a mutator with a fixed seed makes of them. It always tries the same inputs in the same order; only how far it
//! gets depends on the machine.
//!
//! A failure prints the input and its number. `HOSTLER_FUZZ_SECONDS=60` runs longer, `HOSTLER_FUZZ_TRACE=1` prints
//! each number before its input runs (for what ends the process), `HOSTLER_FUZZ_ONLY=123` runs that one input.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_fuzz::mutator::Mutator;
use hostler_fuzz::target;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time for one target.
const BUDGET: Duration = Duration::from_millis(1500);

/// No input of some kilobytes may take this long, even on a busy machine.
const SLOW: Duration = Duration::from_secs(10);

macro_rules! smoke {
    ($($name:ident),+ $(,)?) => {
        $(#[test] fn $name() { run(stringify!($name), target::$name::target); })+

        #[test]
        fn every_target_is_run() {
            let names: Vec<&str> = target::ALL.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
        }
    };
}

smoke! {
    ajp, asgi, authority, byte_range, cgi_header, cgi_request, charset, config, control, dbm, engine, expr, fastcgi, htaccess,
    http1_answer, http1_chunked, http1_head, legacy_expr, login_form, nph_header, ocsp, page, proxy_protocol, rewrite, ring, ssi, tree, uri, wire,
}

fn run(name: &str, target: fn(&[u8])) {
    let mutator = Mutator::new(seeds(name), words(name));
    if let Some(only) = number("HOSTLER_FUZZ_ONLY") {
        return attempt(name, only, &mutator.input(only), target);
    }
    let budget = number("HOSTLER_FUZZ_SECONDS").map_or(BUDGET, Duration::from_secs);
    let (start, trace) = (Instant::now(), std::env::var_os("HOSTLER_FUZZ_TRACE").is_some());
    let mut count = 0;
    while start.elapsed() < budget {
        if trace {
            eprintln!("{name} {count}");
        }
        attempt(name, count, &mutator.input(count), target);
        count += 1;
    }
    println!("{name}: {count} inputs");
}

fn attempt(name: &str, number: u64, input: &[u8], target: fn(&[u8])) {
    let start = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    let shown = || format!("target {name}, input {number}: b\"{}\"", input.escape_ascii());
    if let Err(cause) = outcome {
        eprintln!("{}", shown());
        resume_unwind(cause);
    }
    assert!(start.elapsed() < SLOW, "{:?} for {}", start.elapsed(), shown());
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The examples of a target, by name. In those that end in `.crlf` each line ends in CR LF, those that end in
/// `.hex` are hexadecimal.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(corpus().join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "corpus/{name} has no examples");
    files.iter().map(|file| seed(file)).collect()
}

fn seed(file: &Path) -> Vec<u8> {
    let content = fs::read(file).unwrap();
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("hex") => hex(&String::from_utf8(content).unwrap()),
        Some("crlf") => String::from_utf8(content).unwrap().replace('\n', "\r\n").into_bytes(),
        _ => content,
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

/// One word a line; not every target has some.
fn words(name: &str) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(corpus().join(format!("{name}.words"))).unwrap_or_default();
    text.lines()
        .map(|line| line.replace("\\r", "\r").replace("\\n", "\n").replace("\\0", "\0").into_bytes())
        .collect()
}
