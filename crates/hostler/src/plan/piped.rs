//! Piped logs: `|program arguments` (or `||`) starts a program, `|$command` a shell; log lines are its input.
//!
//! It runs as the front's user, ends with the last process that holds the pipe, and is started anew with each
//! generation. (Apache runs it as root; a program that then writes below root's directories needs a directory
//! of its own here.)

use hostler_wire::plan::Identity;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where programs are searched.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts the program; returns the pipe's end to write to.
///
/// # Errors
/// Why it can't be started.
pub(crate) fn start(target: &str, identity: Option<&Identity>) -> Result<OwnedFd, String> {
    let words = words(target)?;
    let (program, arguments) = words.split_first().ok_or("after \"|\" must come a program")?;
    let failed = |e: std::io::Error| format!("can't start {}: {e}", program.display());
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::from(reader)).process_group(0).current_dir("/").env_clear();
    command.env("PATH", PATH);
    if let Some(identity) = identity {
        // Also drops all supplementary groups.
        command.uid(identity.uid).gid(identity.gid);
    }
    command.spawn().map_err(failed)?;
    Ok(OwnedFd::from(writer))
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
    fn lines_are_the_programs_input() {
        let path = std::env::temp_dir().join(format!("hostler-piped-test-{}", std::process::id()));
        let pipe = start(&format!("|$cat > {0}.tmp; mv {0}.tmp {0}", path.display()), None).unwrap();
        std::fs::File::from(pipe).write_all(b"a line\n").unwrap();
        for _ in 0..500 {
            if path.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"a line\n");
        std::fs::remove_file(path).unwrap();
    }
}
