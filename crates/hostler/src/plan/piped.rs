//! Piped logs: `|program arguments` (or `||`) starts a program, `|$command` a shell; log lines are its input.
//!
//! It runs as the front's user, ends with the last process that writes to the pipe, and is started anew with each
//! generation. (Apache runs it as root; a program that then writes below root's directories needs a directory
//! of its own here.)
//!
//! Between the pipe and the program stands a keeper, `hostler piped-log`, which starts the program again when it
//! ends too early. It holds the pipe open meanwhile, so no line is lost but those that the program had taken.
//!
//! **Runs as** the front's user (keeper and program), root (the planner). **Diagnostics**: the keeper says on the
//! server's stderr how a program ended.

use crate::Failed;
use hostler_sys::pipe::{self, PipeState, pipe_state};
use hostler_sys::process::{self, Program, Spawn, spawn};
use hostler_wire::plan::Identity;
use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The search path of programs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The pause before a program is started again; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A program that ran so long is started again as if it were the first time.
const GOOD_RUN: Duration = Duration::from_secs(10);

/// Starts the program with its keeper; returns the pipe's end to write to.
///
/// # Errors
/// Why it can't be started.
pub(crate) fn start(target: &str, identity: Option<&Identity>) -> Result<OwnedFd, String> {
    inspect(target)?;
    let failed = |e: &dyn std::fmt::Display| format!("can't start {target}: {e}");
    let keeper = Program::open(Path::new("/proc/self/exe")).map_err(|e| failed(&e))?;
    let argument = CString::new(target).map_err(|e| failed(&e))?;
    let environment = CString::new(format!("PATH={PATH}")).map_err(|e| failed(&e))?;
    let (reader, writer) = pipe::for_log().map_err(|e| failed(&e))?;
    let identity = identity.map(|i| process::Identity { uid: i.uid, gid: i.gid, groups: i.groups.clone() });
    let spawned = spawn(&Spawn {
        program: &keeper,
        args: &[c"hostler".to_owned(), c"piped-log".to_owned(), argument],
        env: &[environment],
        fds: &[(reader.as_fd(), 0), (io::stdout().as_fd(), 1), (io::stderr().as_fd(), 2)],
        identity: identity.as_ref(),
        group: None,
        limits: &[],
        directory: Some(c"/"),
        no_new_privs: false,
        dies_with_parent: false,
        own_session: true,
    });
    spawned.map_err(|e| failed(&e))?;
    Ok(writer)
}

/// `hostler piped-log`: the keeper, with the pipe as its input.
pub(crate) fn command(target: &str) -> Result<(), Failed> {
    Ok(keep(target, io::stdin().as_fd())?)
}

/// Runs the program as often as needed, until nobody writes to the pipe any more.
fn keep(target: &str, pipe: BorrowedFd<'_>) -> Result<(), String> {
    let words = words(target)?;
    let failed = |e: io::Error| e.to_string();
    let mut pause = FIRST_PAUSE;
    loop {
        let started = Instant::now();
        // Once more for what is left in the pipe after its last writer has gone, but no more often.
        let last = pipe_state(pipe, Duration::ZERO).map_err(failed)?.over;
        let ended = run(&words, pipe);
        let over = pipe_state(pipe, Duration::ZERO).map_err(failed)?.over;
        if last || (over && ended.as_ref().is_ok_and(ExitStatus::success)) {
            return Ok(());
        }
        if started.elapsed() > GOOD_RUN {
            pause = FIRST_PAUSE;
        }
        let why = ended.map_or_else(|e| e.to_string(), |status| status.to_string());
        eprintln!("hostler: warn: the log program {target} ended ({why}); it is started again in {pause:?}");
        if pipe_state(pipe, pause).map_err(failed)? == (PipeState { over: true, empty: true }) {
            return Ok(());
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn run(words: &[OsString], pipe: BorrowedFd<'_>) -> io::Result<ExitStatus> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::NotFound)?;
    let input = Stdio::from(pipe.try_clone_to_owned()?);
    Command::new(program).args(arguments).stdin(input).spawn()?.wait()
}

/// Looks whether the program could be started, without starting it.
///
/// # Errors
/// Why it can't be started.
pub(crate) fn inspect(target: &str) -> Result<(), String> {
    let words = words(target)?;
    let program = Path::new(words.first().ok_or("after \"|\" must come a program")?);
    let executable =
        |path: &Path| path.metadata().is_ok_and(|data| data.is_file() && data.mode() & 0o111 != 0);
    let found = match program.components().count() {
        1 => PATH.split(':').any(|directory| executable(&Path::new(directory).join(program))),
        _ => executable(program),
    };
    if found { Ok(()) } else { Err(format!("can't start {}: there is no such program", program.display())) }
}

fn words(target: &str) -> Result<Vec<OsString>, String> {
    let command = target.trim_start_matches('|');
    if let Some(line) = command.strip_prefix('$') {
        return Ok(["/bin/sh", "-c", line].map(OsString::from).to_vec());
    }
    split(command)
}

/// Splits a command line at spaces; quotes keep words together, a backslash takes the next character as it is.
fn split(line: &str) -> Result<Vec<OsString>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_ascii_whitespace() => words.extend(word.take().map(OsString::from)),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed in the program's arguments".to_string());
    }
    words.extend(word.map(OsString::from));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn words_and_shell_lines() {
        assert_eq!(words("|/bin/a  b 'c d' \"e\" f\\ g ''").unwrap(), ["/bin/a", "b", "c d", "e", "f g", ""]);
        assert_eq!(words("||/bin/a").unwrap(), ["/bin/a"]);
        assert_eq!(words("|$a | b").unwrap(), ["/bin/sh", "-c", "a | b"]);
        assert!(words("|a 'b").is_err());
        for (target, found) in
            [("|/bin/cat -u", true), ("|cat", true), ("|no-such-program", false), ("|/etc/passwd", false)]
        {
            assert_eq!(inspect(target).is_ok(), found, "{target}");
        }
        assert!(start("|/no/such/program", None).unwrap_err().contains("/no/such/program"));
    }

    #[test]
    fn a_program_that_ends_is_started_again_until_the_pipe_ends() {
        let path = std::env::temp_dir().join(format!("hostler-piped-test-{}", std::process::id()));
        let target = format!("|$read line && echo \"$line\" >> {}", path.display());
        let (reader, mut writer) = std::io::pipe().unwrap();
        let keeper = std::thread::spawn(move || keep(&target, reader.as_fd()));
        for count in 1..=3 {
            writer.write_all(b"a line\n").unwrap();
            for _ in 0..500 {
                if std::fs::read(&path).is_ok_and(|text| text.len() == 7 * count) {
                    break;
                }
                // Time: looks again.
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        drop(writer);
        keeper.join().unwrap().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a line\na line\na line\n");
        std::fs::remove_file(path).unwrap();
    }
}
