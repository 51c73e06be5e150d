//! Stapling: what an authority's responder says of a certificate is asked for in advance and handed out in handshakes. The
//! authority, its answers and the clients are openssl's.

use crate::tls::{EC, certificate};
use hostler_tests::{Server, Site, needs_program};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The behaviour of a responder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Responder {
    /// It says what the index says.
    Answers,
    /// The same, signed with this certificate's key.
    SignsAs(&'static str),
    /// Each time what it has said the first time.
    Repeats,
    /// Something that is no answer of its kind.
    Misbehaves,
}

/// An authority with one certificate, `one.pem`, and a responder that the certificate names.
struct Authority {
    site: Site,
    /// A word for each question.
    asked: Receiver<()>,
}

pub(crate) fn openssl(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("openssl");
    command.args(arguments).current_dir(folder).stderr(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().is_ok_and(|status| status.success()), "openssl {arguments:?}");
}

impl Authority {
    /// `state`: how the index begins its line, `V` or `R`.
    fn new(state: char, responder: Responder) -> Self {
        let site = Site::new().dir("tls").file("htdocs/a", "hello");
        let folder = site.path("tls");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        certificate(&folder, "ca", "authority.test", EC);
        let extensions = format!(
            "subjectAltName=DNS:one.test\nauthorityInfoAccess=OCSP;URI:http://127.0.0.1:{port}/ocsp\n"
        );
        fs::write(folder.join("extensions"), extensions).expect("the extensions");
        openssl(
            &folder,
            &[
                "req",
                "-new",
                "-nodes",
                "-newkey",
                "rsa:2048",
                "-subj",
                "/CN=one.test",
                "-keyout",
                "one.key",
                "-out",
                "one.csr",
            ],
        );
        openssl(
            &folder,
            &[
                "x509",
                "-req",
                "-in",
                "one.csr",
                "-CA",
                "ca.pem",
                "-CAkey",
                "ca.key",
                "-set_serial",
                "0x1234",
                "-days",
                "2",
                "-extfile",
                "extensions",
                "-out",
                "leaf.pem",
            ],
        );
        let chain =
            ["leaf.pem", "ca.pem"].map(|name| fs::read_to_string(folder.join(name)).expect(name)).concat();
        fs::write(folder.join("one.pem"), chain).expect("the chain");
        let revoked = if state == 'R' { "200101000000Z" } else { "" };
        fs::write(
            folder.join("index"),
            format!("{state}\t491231235959Z\t{revoked}\t1234\tunknown\t/CN=one.test\n"),
        )
        .expect("the index");
        let (said, asked) = channel();
        thread::spawn(move || serve(&listener, &folder, responder, &said));
        Self { site, asked }
    }

    /// The server with one.test, and what stapling is told.
    fn start(self, more: &str) -> (Server, Receiver<()>) {
        let config = format!(
            "SSLStaplingCache shmcb:logs/stapling(32768)\n<VirtualHost *>\nServerName one.test\nSSLEngine on\n\
             SSLCertificateFile tls/one.pem\nSSLCertificateKeyFile tls/one.key\n{more}\n</VirtualHost>\n"
        );
        (self.site.config(&config).start(), self.asked)
    }
}

/// Answers until the test ends.
pub(crate) fn serve(listener: &TcpListener, folder: &Path, responder: Responder, said: &Sender<()>) {
    let mut first = None;
    for connection in listener.incoming() {
        let Ok(mut connection) = connection else { return };
        let Some(question) = question(&mut connection) else { continue };
        let answer = match responder {
            Responder::Answers => answer(folder, &question, "ca"),
            Responder::SignsAs(name) => answer(folder, &question, name),
            Responder::Repeats => first.get_or_insert_with(|| answer(folder, &question, "ca")).clone(),
            Responder::Misbehaves => b"no answer".to_vec(),
        };
        let head = format!(
            "HTTP/1.0 200 OK\r\nContent-Type: application/ocsp-response\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        let _ = connection.write_all(&[head.as_bytes(), &answer].concat());
        if said.send(()).is_err() {
            return;
        }
    }
}

/// The body of the request.
fn question(connection: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = connection.read(&mut piece).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some(end) = text.find("\r\n\r\n") else { continue };
        assert!(text.starts_with("POST /ocsp HTTP/1.0\r\n"), "{text}");
        let length = text[..end].lines().find_map(|line| line.strip_prefix("Content-Length: "))?;
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        if bytes.len() >= head + length.parse::<usize>().ok()? {
            return Some(bytes.split_off(head));
        }
    }
}

fn answer(folder: &Path, question: &[u8], signer: &str) -> Vec<u8> {
    let [certificate, key] = ["pem", "key"].map(|kind| format!("{signer}.{kind}"));
    fs::write(folder.join("question"), question).expect("the question");
    openssl(
        folder,
        &[
            "ocsp",
            "-index",
            "index",
            "-CA",
            "ca.pem",
            "-rsigner",
            &certificate,
            "-rkey",
            &key,
            "-reqin",
            "question",
            "-respout",
            "answer",
            "-ndays",
            "1",
        ],
    );
    fs::read(folder.join("answer")).expect("the answer")
}

/// Returns the output of an OpenSSL client about a handshake in which it asks for the certificate's status.
fn shown(server: &Server, more: &[&str]) -> String {
    let address = format!("127.0.0.1:{}", server.port());
    let trusted: PathBuf = server.site().path("tls/ca.pem");
    let output = Command::new("openssl")
        .args(["s_client", "-connect", &address, "-servername", "one.test", "-CAfile"])
        .arg(&trusted)
        .args(more)
        .stdin(Stdio::null())
        .output()
        .expect("openssl");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn what_the_authority_says_is_handed_out_in_the_first_handshake() {
    needs_program!("/usr/bin/openssl");
    let (server, asked) = Authority::new('V', Responder::Answers).start("SSLUseStapling on");
    for version in ["-tls1_2", "-tls1_3"] {
        let said = shown(&server, &["-status", version]);
        assert!(said.contains("OCSP Response Status: successful"), "{version}: {said}");
        assert!(said.contains("Cert Status: good") && said.contains("Verify return code: 0 (ok)"), "{said}");
    }
    assert!(!shown(&server, &[]).contains("OCSP Response"), "nobody has asked for it");
    assert_eq!(asked.try_iter().count(), 1, "the answer is kept");
}

#[test]
fn without_stapling_nobody_is_asked() {
    needs_program!("/usr/bin/openssl");
    let (server, asked) = Authority::new('V', Responder::Answers).start("");
    let said = shown(&server, &["-status"]);
    assert!(said.contains("OCSP response: no response sent"), "{said}");
    assert_eq!(asked.try_iter().count(), 0);
}

#[test]
fn a_revoked_certificate_is_told_of_if_errors_are() {
    needs_program!("/usr/bin/openssl");
    let (server, _asked) = Authority::new('R', Responder::Answers).start("SSLUseStapling on");
    let said = shown(&server, &["-status"]);
    assert!(said.contains("Cert Status: revoked"), "{said}");
    let _ = server.await_error("says that the certificate is revoked");
    let (server, _asked) = Authority::new('R', Responder::Answers)
        .start("SSLUseStapling on\nSSLStaplingReturnResponderErrors off");
    let said = shown(&server, &["-status"]);
    assert!(said.contains("OCSP response: no response sent"), "{said}");
}

#[test]
fn where_the_responder_cannot_be_reached_clients_are_told_to_try_later() {
    needs_program!("/usr/bin/openssl");
    // Bound, and nobody listens any more.
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let elsewhere = format!("SSLUseStapling on\nSSLStaplingForceURL http://127.0.0.1:{port}/");
    let (server, asked) = Authority::new('V', Responder::Answers).start(&elsewhere);
    let said = shown(&server, &["-status"]);
    assert!(said.contains("OCSP Response Status: trylater"), "{said}");
    let _ = server.await_error("it can't be connected to");
    assert_eq!(asked.try_iter().count(), 0, "the other one is asked");
    let (server, _asked) =
        Authority::new('V', Responder::Answers).start(&format!("{elsewhere}\nSSLStaplingFakeTryLater off"));
    assert!(shown(&server, &["-status"]).contains("OCSP response: no response sent"));
}

#[test]
fn what_is_no_answer_keeps_nobody_from_the_page() {
    needs_program!("/usr/bin/openssl");
    let (server, _asked) =
        Authority::new('V', Responder::Misbehaves).start("SSLUseStapling on\nSSLStaplingFakeTryLater off");
    let _ = server.await_error("what it says is not an OCSP response");
    let said = shown(&server, &["-status"]);
    assert!(
        said.contains("OCSP response: no response sent") && said.contains("Verify return code: 0 (ok)"),
        "{said}"
    );
}
