//! [Requests](super::framing) whose fields and bodies are made to look, to a backend, like more than one request: the client names
//! the fields of the framing in `Connection`, and its body is a request of the backend's protocol. Each backend here takes its protocol at its
//! word, as real ones do, and keeps what it was asked for; it must be exactly what the client has sent.

use super::framing::{Sent, requests};
use super::{Attack, Owned, is_long, tenants};
use hostler_tests::{Server, await_that, needs_root};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request at a backend: URL, and the body's length.
type Asked = Arc<Mutex<Vec<(String, usize)>>>;

fn read<const N: usize>(stream: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).ok().map(|()| bytes)
}

fn read_some(stream: &mut impl Read, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).ok().map(|()| bytes)
}

/// A packet of AJP, from a server.
fn packet(stream: &mut impl Read) -> Option<Vec<u8>> {
    let [_, _, high, low] = read(stream)?;
    read_some(stream, usize::from(u16::from_be_bytes([high, low])))
}

/// The fields of a forward request: URL, and Content-Length.
fn forward_request(packet: &[u8]) -> Option<(String, Option<usize>)> {
    let mut at = 2;
    let number = |at: &mut usize| {
        let number = u16::from_be_bytes([*packet.get(*at)?, *packet.get(*at + 1)?]);
        *at += 2;
        Some(number)
    };
    let text = |at: &mut usize| {
        let length = number(at)?;
        let length = if length == u16::MAX { return Some(Vec::new()) } else { usize::from(length) };
        let text = packet.get(*at..*at + length)?.to_vec();
        *at += length + 1;
        Some(text)
    };
    let _protocol = text(&mut at)?;
    let url = text(&mut at)?;
    for _ in 0..3 {
        text(&mut at)?;
    }
    at += 3;
    let mut length = None;
    for _ in 0..number(&mut at)? {
        let code = number(&mut at)?;
        let is_length = if code & 0xff00 == 0xa000 {
            code == 0xa008
        } else {
            at -= 2;
            text(&mut at)?.eq_ignore_ascii_case(b"content-length")
        };
        let value = text(&mut at)?;
        if is_length {
            length = Some(String::from_utf8(value).ok()?.parse().ok()?);
        }
    }
    Some((String::from_utf8_lossy(&url).into_owned(), length))
}

/// A container: without a length it asks for the body, and takes an empty piece for its end.
fn container(mut stream: TcpStream, asked: &Asked) -> Option<()> {
    loop {
        let packet = packet(&mut stream)?;
        assert_eq!(packet[0], 2, "{packet:?}");
        let (url, length) = forward_request(&packet)?;
        let mut body = 0;
        while length.is_none_or(|length| body < length) {
            if length.is_none() || body > 0 {
                stream.write_all(b"AB\0\x03\x06\x1f\xfa").ok()?;
            }
            let piece = self::packet(&mut stream)?.len().saturating_sub(2);
            body += piece;
            if piece == 0 {
                break;
            }
        }
        asked.lock().expect("no panic").push((url, body));
        stream
            .write_all(b"AB\0\x0a\x04\0\xc8\0\x02OK\0\0\0AB\0\x09\x03\0\x05hello\0AB\0\x02\x05\x01")
            .ok()?;
    }
}

/// A server of HTTP/1: of HTTP/1.0 where the request is, which knows no chunks.
fn http_server(stream: TcpStream, asked: &Asked) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length, mut chunked) = (String::new(), 0, false);
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        loop {
            let mut field = String::new();
            reader.read_line(&mut field).ok().filter(|read| *read > 0)?;
            let Some((name, value)) = field.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
            chunked |= name.eq_ignore_ascii_case("transfer-encoding") && line.ends_with("HTTP/1.1\r\n");
        }
        let mut body = read_some(&mut reader, length)?.len();
        while chunked {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim_end(), 16).ok()?;
            read_some(&mut reader, size + 2)?;
            body += size;
            chunked = size > 0;
        }
        let url = line.split(' ').nth(1).unwrap_or_default().to_owned();
        asked.lock().expect("no panic").push((url, body));
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").ok()?;
    }
}

/// A program of SCGI: what follows its length is something else.
fn scgi_program(stream: TcpStream, asked: &Asked) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = Vec::new();
    reader.read_until(b':', &mut length).ok()?;
    let length: usize = String::from_utf8(length).ok()?.trim_end_matches(':').parse().ok()?;
    let variables = read_some(&mut reader, length + 1)?;
    let words: Vec<String> =
        variables.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let value = |name: &str| words.chunks(2).find(|pair| pair[0] == name).map_or("", |pair| &*pair[1]);
    let head = "Content-Type: text/plain\r\n\r\n";
    answer_once(reader, head, value("REQUEST_URI"), value("CONTENT_LENGTH").parse().ok()?, asked)
}

/// A program of uwsgi, which ends requests in the same way.
fn uwsgi_program(stream: TcpStream, asked: &Asked) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let [_, low, high, _] = read(&mut reader)?;
    let variables = read_some(&mut reader, usize::from(u16::from_le_bytes([low, high])))?;
    let (mut rest, mut words) = (&variables[..], Vec::new());
    while let [low, high, after @ ..] = rest {
        let (word, after) = after.split_at_checked(usize::from(u16::from_le_bytes([*low, *high])))?;
        words.push(String::from_utf8_lossy(word).into_owned());
        rest = after;
    }
    let value = |name: &str| words.chunks(2).find(|pair| pair[0] == name).map_or("", |pair| &*pair[1]);
    let length = value("CONTENT_LENGTH");
    let length = if length.is_empty() { 0 } else { length.parse().ok()? };
    answer_once(reader, "HTTP/1.1 200 OK\r\n\r\n", value("REQUEST_URI"), length, asked)
}

/// Reads the body, answers, and reads what else there is.
fn answer_once(
    mut reader: BufReader<TcpStream>,
    head: &str,
    url: &str,
    length: usize,
    asked: &Asked,
) -> Option<()> {
    let body = read_some(&mut reader, length)?.len();
    reader.get_mut().write_all(format!("{head}hello").as_bytes()).ok()?;
    let _ = reader.get_mut().shutdown(std::net::Shutdown::Write);
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest);
    asked.lock().expect("no panic").push((url.to_owned(), body + rest.len()));
    Some(())
}

/// An application of FastCGI on a connection that is kept.
fn fastcgi_program(mut stream: TcpStream, asked: &Asked) -> Option<()> {
    loop {
        let (mut url, mut announced, mut body) = (String::new(), String::new(), 0);
        loop {
            let [_, kind, _, _, high, low, padding, _] = read(&mut stream)?;
            let content = read_some(&mut stream, usize::from(u16::from_be_bytes([high, low])))?;
            read_some(&mut stream, padding.into())?;
            let text = String::from_utf8_lossy(&content).into_owned();
            let after = |name: &str| Some(text[text.find(name)? + name.len()..].to_owned());
            let word =
                |text: String| text.split(|c: char| c.is_control()).next().unwrap_or_default().to_owned();
            if kind == 4 && !content.is_empty() {
                url = after("REQUEST_URI").map(word).unwrap_or_default();
                let digits = |text: String| text.chars().take_while(char::is_ascii_digit).collect();
                announced = after("CONTENT_LENGTH").map(digits).unwrap_or_default();
            }
            if kind == 5 {
                body += content.len();
                if content.is_empty() {
                    break;
                }
            }
        }
        assert_eq!(announced.parse().unwrap_or(0), body, "{url}");
        asked.lock().expect("no panic").push((url, body));
        let record =
            |kind: u8, content: &[u8]| [&[1, kind, 0, 1, 0, content.len() as u8, 0, 0], content].concat();
        let answer = [record(6, b"Content-Type: text/plain\r\n\r\nhello"), record(3, &[0; 8])].concat();
        stream.write_all(&answer).ok()?;
    }
}

type Backend = fn(TcpStream, &Asked) -> Option<()>;

fn listen(backend: Backend) -> (u16, Asked) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let asked = Asked::default();
    let kept = asked.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let asked = kept.clone();
            thread::spawn(move || backend(stream, &asked));
        }
    });
    (port, asked)
}

/// Sends each request, and one after it that uses the backend's connection again. Returns the lengths of their bodies.
fn send(server: &Server, target: &str) -> Vec<usize> {
    let mut lengths = Vec::new();
    for request in requests(target) {
        let next =
            Sent { bytes: format!("GET {target} HTTP/1.1\r\nHost: a.test\r\n\r\n").into(), body: Some(0) };
        for Sent { bytes, body } in [request, next] {
            let mut connection = server.connect();
            connection.send(&bytes);
            let answer = connection.response();
            let context = format!("{target}: {}\n{}", bytes.escape_ascii(), server.error_log());
            if body.is_none() {
                assert_eq!(answer.status, 400, "{context}");
            } else {
                assert_eq!((answer.status, &*answer.text()), (200, "hello"), "{context}");
            }
            lengths.extend(body);
        }
    }
    lengths
}

#[test]
fn bodies_that_are_requests_of_a_backend_s() {
    needs_root!();
    let kinds: [(&str, Backend); 5] = [
        ("ajp", container),
        ("http", http_server),
        ("scgi", scgi_program),
        ("uwsgi", uwsgi_program),
        ("fcgi", fastcgi_program),
    ];
    // The same with a tenant's own words on the length, with an input filter, and with HTTP/1.0.
    let access = "RequestHeader unset Content-Length\n";
    let wrong = "RequestHeader set Content-Length 3\n";
    let (mut lines, mut backends) = (String::new(), Vec::new());
    for (scheme, backend) in kinds {
        for (number, more) in ["", access, wrong, "SetEnv force-proxy-request-1.0 1\n"].iter().enumerate() {
            let (port, asked) = listen(backend);
            let path = format!("/{scheme}{number}/");
            lines.push_str(&format!(
                "<Location \"{path}\">\nProxyPass {scheme}://127.0.0.1:{port}{path} enablereuse=on retry=0 timeout=5\n{more}</Location>\n"
            ));
            backends.push((format!("{path}x"), asked));
        }
    }
    let server = tenants(&lines).a_file("htdocs/a.html", "A's page").start();
    Attack::new("bodies that a backend could take for requests", 32).run(&server, || {
        for _ in 0..if is_long() { 20 } else { 1 } {
            for (target, asked) in &backends {
                asked.lock().expect("no panic").clear();
                let lengths = send(&server, target).into_iter();
                let mut expected: Vec<_> = lengths.map(|length| (target.clone(), length)).collect();
                let asked = || asked.lock().expect("no panic");
                await_that("all has been asked for", || asked().len() >= expected.len());
                // Backends that are asked on connections of their own note it when they like.
                let mut asked = asked().clone();
                asked.sort();
                expected.sort();
                assert_eq!(asked, expected, "{target}");
            }
        }
    });
}
