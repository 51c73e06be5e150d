//! Scripted servers behind the one that is tested: what each answers to which path the case file says. What has no answer
//! there is told what it has asked, line by line.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Answers by path. `!close`: the connection is closed instead; `!hang`: nothing is said.
pub type Answers = BTreeMap<String, String>;

/// Longest that a connection is kept for somebody who says nothing.
const SILENCE: Duration = Duration::from_secs(20);

/// A running one. Dropping it ends it.
#[derive(Debug)]
pub struct Scripted {
    port: u16,
    ended: Arc<AtomicBool>,
}

struct Request {
    line: String,
    fields: Vec<String>,
    body: Vec<u8>,
}

impl Scripted {
    /// Starts one on a listener.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(name: String, listener: TcpListener, answers: Answers) -> io::Result<Self> {
        let (port, ended) = (listener.local_addr()?.port(), Arc::new(AtomicBool::new(false)));
        let (end, answers) = (ended.clone(), Arc::new(answers));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if end.load(SeqCst) {
                    return;
                }
                let (name, answers) = (name.clone(), answers.clone());
                // Whoever breaks off has had enough.
                thread::spawn(move || drop(serve(&name, &stream, &answers)));
            }
        });
        Ok(Self { port, ended })
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.ended.store(true, SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(name: &str, stream: &TcpStream, answers: &Answers) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut first = true;
    while let Some(head) = head(&mut reader)? {
        let mut writer: &TcpStream = stream;
        let path = head.line.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
        let answer = answers.get(path).map(String::as_str);
        match answer {
            Some("!close") => return Ok(()),
            // The first request of a connection is answered, and no other one.
            Some("!stale") if !first => return Ok(()),
            Some("!hang") => {
                let _ = reader.read(&mut [0; 1]);
                return Ok(());
            }
            _ => {}
        }
        first = false;
        let is_early = answer.is_some_and(|answer| answer.starts_with("!early "));
        let request = if is_early { head } else { body(&mut reader, head, &mut writer)? };
        match answer {
            Some(answer) if answer != "!stale" => {
                let text = answer.strip_prefix("!early ").unwrap_or(answer);
                writer.write_all(text.as_bytes())?;
                if !keeps(text, &request) || is_early {
                    // Bytes that nobody has read would reset the connection before the answer is read.
                    let _ = stream.shutdown(std::net::Shutdown::Write);
                    let _ = io::copy(&mut reader, &mut io::sink());
                    return Ok(());
                }
            }
            _ => writer.write_all(&echo(name, &request))?,
        }
    }
    Ok(())
}

/// Returns whether the answer's end can be told without the connection's.
fn keeps(answer: &str, request: &Request) -> bool {
    let lower = answer.to_ascii_lowercase();
    let is_long =
        lower.contains("content-length:") || lower.contains("chunked") || request.line.starts_with("HEAD ");
    (is_long || lower.starts_with("http/1.1 304") || lower.starts_with("http/1.1 204"))
        && !lower.contains("connection: close")
}

fn line(reader: &mut BufReader<&TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn head(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let first = line(reader)?;
    if first.is_empty() {
        return Ok(None);
    }
    let mut fields = Vec::new();
    loop {
        match line(reader)? {
            end if end.is_empty() => return Ok(Some(Request { line: first, fields, body: Vec::new() })),
            field => fields.push(field),
        }
    }
}

impl Request {
    fn field(&self, name: &str) -> Option<&str> {
        let all = self.fields.iter().filter_map(|field| field.split_once(':'));
        all.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

fn body(
    reader: &mut BufReader<&TcpStream>,
    mut request: Request,
    writer: &mut &TcpStream,
) -> io::Result<Request> {
    if request.field("expect").is_some() {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if request.field("transfer-encoding").is_some() {
        loop {
            let size = usize::from_str_radix(&line(reader)?, 16).map_err(io::Error::other)?;
            let mut chunk = vec![0; size];
            reader.read_exact(&mut chunk)?;
            request.body.extend(chunk);
            line(reader)?;
            if size == 0 {
                return Ok(request);
            }
        }
    }
    let length = request.field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(request)
}

/// Returns the request as a response. The order of fields is not significant: servers differ in it.
fn echo(name: &str, request: &Request) -> Vec<u8> {
    let mut fields = request.fields.clone();
    fields.sort_by_key(|field| field.to_ascii_lowercase());
    let body = String::from_utf8_lossy(&request.body);
    let text = format!("{}\n{}\n\n{body}", request.line, fields.join("\n"));
    let shown = if request.line.starts_with("HEAD ") { "" } else { &text };
    format!(
        "HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nServer: backend\r\nX-Backend: {name}\r\n\
         Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{shown}",
        text.len()
    )
    .into_bytes()
}
