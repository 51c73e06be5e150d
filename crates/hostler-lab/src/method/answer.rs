//! One request, to compare what contestants answer before anything is timed.

use crate::load::{Target, tls};
use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// Longest answer that is compared.
const LONGEST: u64 = 256 << 20;

/// An answer, as far as contestants have to agree on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// Content-Type without parameters, in lower case; empty: none.
    pub kind: String,
    /// Body.
    pub body: Vec<u8>,
}

/// Asks a host of a target; with a form as a `POST` of its fields.
///
/// # Errors
/// No connection, or no complete HTTP answer within half a minute.
pub fn ask(target: &Target, host: &str) -> Result<Answer> {
    let stream = TcpStream::connect_timeout(&target.address, PATIENCE).context("no connection")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    if target.tls {
        exchange(tls::stream(stream, target.address, host)?, target, host)
    } else {
        exchange(stream, target, host)
    }
}

fn exchange(mut stream: impl Read + Write, target: &Target, host: &str) -> Result<Answer> {
    let path = &target.path;
    let request = match &target.form {
        None => format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
        Some(form) => format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        ),
    };
    stream.write_all(request.as_bytes()).context("the request was not taken")?;
    received(stream)
}

fn received(stream: impl Read) -> Result<Answer> {
    let mut bytes = Vec::new();
    let read = stream.take(LONGEST).read_to_end(&mut bytes);
    match (parse(&bytes), read) {
        (Ok(answer), _) => Ok(answer),
        // Which byte was missing is of no interest then.
        (Err(_), Err(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            bail!("no complete answer within {} s: {} bytes came", PATIENCE.as_secs(), bytes.len())
        }
        (Err(why), Err(error)) => Err(why.context(format!("after {} bytes: {error}", bytes.len()))),
        (Err(why), Ok(_)) => {
            Err(why.context(format!("{} bytes that are not a complete answer", bytes.len())))
        }
    }
}

/// An answer of HTTP/1 whose end is the connection's.
fn parse(bytes: &[u8]) -> Result<Answer> {
    let end = find(bytes, b"\r\n\r\n").context("no end of the header")?;
    let header = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let rest = &bytes[end + 4..];
    let mut lines = header.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.strip_prefix("HTTP/1.").and_then(|line| line.get(2..5)?.parse().ok());
    let status = status.with_context(|| format!("not a status line of HTTP/1: {first:?}"))?;
    let fields: Vec<(String, &str)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        .collect();
    let field = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
    let kind = field("content-type").and_then(|value| value.split(';').next()).unwrap_or_default();
    let body = if field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        joined(rest)?
    } else if let Some(length) = field("content-length") {
        let length: usize = length.parse().context("Content-Length is not a number")?;
        ensure!(rest.len() >= length, "{} of {length} bytes", rest.len());
        rest[..length].to_vec()
    } else {
        rest.to_vec()
    };
    Ok(Answer { status, kind: kind.trim().to_ascii_lowercase(), body })
}

/// A body without the framing of its chunks (RFC 9112 §7.1).
fn joined(mut bytes: &[u8]) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = find(bytes, b"\r\n").context("a chunk without a size")?;
        let size = String::from_utf8_lossy(&bytes[..end]);
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).with_context(|| format!("a chunk of size {size:?}"))?;
        bytes = &bytes[end + 2..];
        if size == 0 {
            return Ok(body);
        }
        ensure!(bytes.len() - size.min(bytes.len()) >= 2, "a chunk that breaks off");
        body.extend_from_slice(&bytes[..size]);
        bytes = &bytes[size + 2..];
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

impl Answer {
    /// Refuses what is not worth timing.
    pub(super) fn served(&self) -> Result<()> {
        if !(200..400).contains(&self.status) {
            let (status, page) = (self.status, self.essence());
            let repeated = page.strip_prefix(&status.to_string()).unwrap_or(&page).trim_start();
            if repeated.is_empty() {
                bail!("answers {status}");
            }
            bail!("answers {status}: {repeated}");
        }
        Ok(())
    }

    /// Returns the subject of an error page: its title, or its first words.
    fn essence(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let lower = text.to_ascii_lowercase();
        let title = || {
            let begin = lower.find("<title>")? + "<title>".len();
            text.get(begin..begin + lower[begin..].find("</title>")?)
        };
        let mut words = String::new();
        let mut inside = false;
        for c in title().unwrap_or(&text).chars() {
            match c {
                '<' => inside = true,
                '>' if inside => (inside, _) = (false, words.push(' ')),
                c if !inside => words.push(c),
                _ => {}
            }
        }
        words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(ESSENCE).collect()
    }
}

/// Characters of an error page that are told.
const ESSENCE: usize = 120;

/// Returns the difference between two responses as a small diff; `None` if there is none. `names` are the two servers.
#[must_use]
pub fn difference(names: (&str, &str), first: &Answer, second: &Answer) -> Option<String> {
    if first == second {
        return None;
    }
    let mut text = format!("--- {}\n+++ {}\n", names.0, names.1);
    if (first.status, &first.kind) != (second.status, &second.kind) {
        for (sign, answer) in [('-', first), ('+', second)] {
            let _ = writeln!(text, "{sign}{} {}", answer.status, answer.kind);
        }
    }
    if first.body != second.body {
        text.push_str(&lines(&first.body, &second.body));
    }
    Some(text)
}

/// Lines of each side that are shown.
const SHOWN: usize = 6;

/// The lines from the first to the last that differ, as far as there is room, with the line before them.
fn lines(first: &[u8], second: &[u8]) -> String {
    let split = |bytes: &[u8]| -> Vec<String> {
        bytes.split(|b| *b == b'\n').map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    };
    let (first_lines, second_lines) = (split(first), split(second));
    let same = first_lines.iter().zip(&second_lines).take_while(|(a, b)| a == b).count();
    let shorter = first_lines.len().min(second_lines.len());
    let same_end =
        first_lines.iter().rev().zip(second_lines.iter().rev()).take_while(|(a, b)| a == b).count();
    let same_end = same_end.min(shorter - same);
    let mut text = format!("@@ line {}, {} and {} bytes @@\n", same + 1, first.len(), second.len());
    if same > 0 {
        let _ = writeln!(text, " {}", short(&first_lines[same - 1]));
    }
    for (sign, side) in [('-', &first_lines), ('+', &second_lines)] {
        let differing = &side[same..side.len() - same_end];
        for line in differing.iter().take(SHOWN) {
            let _ = writeln!(text, "{sign}{}", short(line));
        }
        if differing.len() > SHOWN {
            let _ = writeln!(text, "{sign}... {} more lines", differing.len() - SHOWN);
        }
    }
    text
}

/// Shortens a line to a terminal's width and escapes control characters.
fn short(line: &str) -> String {
    let shown: String = line
        .chars()
        .take(120)
        .flat_map(|c| {
            let plain = !c.is_control() || c == '\t';
            if plain { vec![c] } else { c.escape_default().collect() }
        })
        .collect();
    if line.chars().count() > 120 { format!("{shown}...") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(body: &str) -> Answer {
        Answer { status: 200, kind: "text/html".to_owned(), body: body.as_bytes().to_vec() }
    }

    #[test]
    fn answers_with_and_without_framing() {
        let plain =
            parse(b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=x\r\nContent-Length: 2\r\n\r\nhi")
                .unwrap();
        assert_eq!(plain, page("hi"));
        let chunked = b"HTTP/1.1 200 OK\r\nContent-type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\nh\r\n1\r\ni\r\n0\r\n\r\n";
        assert_eq!(parse(chunked).unwrap(), page("hi"));
        assert_eq!(parse(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nhi").unwrap(), page("hi"));
    }

    /// Says that, and nothing more.
    struct Silent(&'static [u8]);

    impl Read for Silent {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() { Err(ErrorKind::WouldBlock.into()) } else { self.0.read(into) }
        }
    }

    #[test]
    fn who_waits_too_long_is_told_that_and_no_error_of_the_system_s() {
        for (bytes, count) in [(&b""[..], 0), (b"HTTP/1.1 200 OK\r\n", 17)] {
            let told = received(Silent(bytes)).unwrap_err().to_string();
            assert_eq!(told, format!("no complete answer within 30 s: {count} bytes came"));
        }
    }

    #[test]
    fn what_is_no_complete_answer_is_refused() {
        for bytes in [
            &b""[..],
            b"SSH-2.0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhi\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
        ] {
            assert!(parse(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_difference_is_a_small_diff() {
        assert_eq!(difference(("a", "b"), &page("x"), &page("x")), None);
        let diff = difference(("a", "b"), &page("one\ntwo\nthree\n"), &page("one\n2\nthree\n")).unwrap();
        assert_eq!(diff, "--- a\n+++ b\n@@ line 2, 14 and 12 bytes @@\n one\n-two\n+2\n");
        let diff = difference(("a", "b"), &page(""), &Answer { status: 500, ..page("") }).unwrap();
        assert_eq!(diff, "--- a\n+++ b\n-200 text/html\n+500 text/html\n");
        let longer = difference(("a", "b"), &page("x\nx"), &page("x\nx\nx")).unwrap();
        assert!(longer.ends_with("+x\n"), "{longer}");
        assert!(difference(("a", "b"), &page(&"y\n".repeat(100)), &page("")).unwrap().contains("more lines"));
    }

    #[test]
    fn an_error_page_is_not_worth_timing() {
        let missing = Answer { status: 404, ..page("<p>Not\nfound") };
        assert_eq!(missing.served().unwrap_err().to_string(), "answers 404: Not found");
        let titled = page(
            "<html><head><TITLE>404 Not Found</TITLE><style>x</style></head><body>No such page</body></html>",
        );
        assert_eq!(
            Answer { status: 404, ..titled }.served().unwrap_err().to_string(),
            "answers 404: Not Found"
        );
        assert_eq!(Answer { status: 500, ..page("") }.served().unwrap_err().to_string(), "answers 500");
        assert!(Answer { status: 303, ..page("") }.served().is_ok());
    }
}
