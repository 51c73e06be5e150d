//! The `#!` line of a script, read as the kernel reads it (execve(2), "Interpreter scripts").
//!
//! The interpreter is run by us instead of by the kernel: only then is it known whether the script or its
//! interpreter is missing, while `$0` stays the script's whole path.

use hostler_wire::site::RunError;
use rustix::io::Errno;

/// Bytes of a script that the kernel looks at (`BINPRM_BUF_SIZE`).
pub(crate) const HEAD: usize = 256;

/// A script's interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interpreter {
    /// Path of the interpreter.
    pub(crate) path: Vec<u8>,
    /// The rest of the line, one argument whatever it holds.
    pub(crate) argument: Option<Vec<u8>>,
}

impl Interpreter {
    /// The interpreter in a file's first [`HEAD`] bytes; `None`: it is no script.
    pub(crate) fn of(head: &[u8]) -> Result<Option<Self>, RunError> {
        let Some(rest) = head.strip_prefix(b"#!") else { return Ok(None) };
        let end = rest.iter().position(|byte| *byte == b'\n');
        let cut = end.is_none() && head.len() >= HEAD;
        let line = trim(&rest[..end.unwrap_or(rest.len())]);
        let path_end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
        let (path, argument) = (&line[..path_end], trim(&line[path_end..]));
        if path.is_empty() || path == b"\r" {
            return Err(refused(path, "write the path of an interpreter behind the #!"));
        }
        if cut && argument.is_empty() {
            return Err(refused(path, "it is over the 254 characters that the kernel reads"));
        }
        if path.contains(&0) {
            return Err(refused(path, "it has a NUL byte in it"));
        }
        let argument = (!argument.is_empty()).then(|| argument.to_vec());
        Ok(Some(Self { path: path.to_vec(), argument }))
    }

    /// The error for one that `execve` has refused.
    pub(crate) fn failed(&self, errno: i32) -> RunError {
        let hint = match Errno::from_raw_os_error(errno) {
            Errno::NOENT | Errno::NOTDIR if self.path.ends_with(b"\r") => {
                "the script has DOS line ends (CRLF); convert it with: sed -i 's/\\r$//'"
            }
            Errno::NOENT | Errno::NOTDIR => "there is no such file; install it or correct the line",
            Errno::ACCESS => "the site's user may not execute it",
            Errno::NOEXEC => "it is not a program of this machine",
            Errno::LOOP => "interpreters are nested too deeply",
            _ => return RunError::Exec { errno },
        };
        refused(&self.path, hint)
    }
}

fn refused(path: &[u8], hint: &str) -> RunError {
    RunError::Interpreter { interpreter: String::from_utf8_lossy(path).into_owned(), hint: hint.to_string() }
}

fn trim(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(head: &str) -> Option<(String, Option<String>)> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Interpreter::of(head.as_bytes()).unwrap().map(|i| (text(i.path), i.argument.map(text)))
    }

    #[test]
    fn a_line_is_an_interpreter_and_one_argument() {
        assert_eq!(of("#!/bin/sh\necho"), Some(("/bin/sh".into(), None)));
        assert_eq!(of("#! \t/usr/bin/perl  -w -T \nx"), Some(("/usr/bin/perl".into(), Some("-w -T".into()))));
        assert_eq!(of("#!/bin/sh"), Some(("/bin/sh".into(), None)));
        assert_eq!(of("\u{7f}ELF"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn a_line_without_a_usable_interpreter_says_why() {
        for bad in
            ["#!\n".to_string(), "#!  \r\n".into(), format!("#!/{}", "a".repeat(300)), "#!/a\0b\n".into()]
        {
            assert!(matches!(Interpreter::of(bad.as_bytes()), Err(RunError::Interpreter { .. })), "{bad:?}");
        }
        let long = format!("#!/bin/sh {}", "a".repeat(300));
        assert_eq!(of(&long[..HEAD]).unwrap().0, "/bin/sh");
    }

    #[test]
    fn dos_line_ends_are_recognised() {
        let script = Interpreter::of(b"#!/usr/bin/perl\r\n").unwrap().unwrap();
        let RunError::Interpreter { interpreter, hint } = script.failed(Errno::NOENT.raw_os_error()) else {
            panic!("another error")
        };
        assert_eq!(interpreter, "/usr/bin/perl\r");
        assert!(hint.contains("CRLF"));
    }
}
