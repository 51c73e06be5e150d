//! `hostler --version`: the version, and on further lines the engines beside this command with the versions of their
//! languages, and the interpreters on the path.

use crate::{cli, run};
use hostler_config::technique;
use std::fmt::Write;
use std::process::{Command, Stdio};

/// Interpreters that engines or programs of sites use: the command, and how it prints its version.
const INTERPRETERS: [(&str, &[&str]); 3] =
    [("perl", &["-e", "printf qq(perl %vd), $^V"]), ("python3", &["--version"]), ("java", &["-version"])];

/// All of it, with line ends.
pub(crate) fn text() -> String {
    let mut text = format!("hostler {}\n", cli::VERSION);
    let engines = run::engines();
    if engines.is_empty() {
        text.push_str("no engines are installed\n");
    }
    for engine in engines {
        let ours = technique::engines().iter().any(|row| engine.starts_with(row.name));
        let _ = match run::reply_of(&engine) {
            Ok(reply) => writeln!(text, "engine {engine}: {}", reply.trim_end()),
            Err(why) if ours => writeln!(text, "engine {engine}: cannot run: {why}"),
            // The protocol does not require engines of others to know the option.
            Err(_) => writeln!(text, "engine {engine}: version unknown"),
        };
    }
    for (name, words) in INTERPRETERS {
        let _ = match printed_by(name, words) {
            Some(line) => writeln!(text, "interpreter {name}: {line}"),
            None => writeln!(text, "interpreter {name}: not found"),
        };
    }
    text
}

/// The first line that a command prints, on either output.
fn printed_by(name: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(name).args(words).stdin(Stdio::null()).output().ok()?;
    let printed = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let printed = String::from_utf8_lossy(&printed);
    let line = printed.lines().next().filter(|_| output.status.success())?;
    Some(line.chars().filter(|letter| !letter.is_control()).collect())
}
