//! TLS in front of a synthetic server, for tests: a relay with a certificate that openssl has made.

use crate::load::synthetic::{Behaviour, Server};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A certificate and its key, `cert.pem` and `key.pem`. `false`: there is no openssl.
pub(crate) fn certificate(folder: &Path) -> bool {
    let mut command = Command::new("openssl");
    command.args("req -x509 -newkey rsa:2048 -nodes -subj /CN=lab.test -days 2".split(' '));
    command.arg("-keyout").arg(folder.join("key.pem")).arg("-out").arg(folder.join("cert.pem"));
    let made =
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !made {
        hostler_untested::untested("openssl is not installed");
    }
    made
}

/// The relay. Its threads end with the test's process.
pub(super) struct Relay {
    pub(super) address: SocketAddr,
    pub(super) behind: Server,
}

impl Relay {
    /// `None`: there is no openssl.
    pub(super) fn start(behaviour: Behaviour) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        if !certificate(folder.path()) {
            return None;
        }
        let chain = vec![CertificateDer::from_pem_file(folder.path().join("cert.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(folder.path().join("key.pem")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap());
        let behind = Server::start(behaviour).unwrap();
        let (listener, upstream) = (TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(), behind.address);
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let config = Arc::clone(&config);
                std::thread::spawn(move || relay(socket, upstream, config));
            }
        });
        Some(Self { address, behind })
    }
}

/// One request after the other: what comes is passed on, and what comes back is, until it is all.
fn relay(socket: TcpStream, upstream: SocketAddr, config: Arc<ServerConfig>) -> Option<()> {
    let mut client = StreamOwned::new(ServerConnection::new(config).ok()?, socket);
    let mut server = TcpStream::connect(upstream).ok()?;
    let (mut request, mut answer) = ([0; 4096], vec![0; 1 << 20]);
    loop {
        let read = client.read(&mut request).ok().filter(|read| *read > 0)?;
        server.write_all(&request[..read]).ok()?;
        // Its answers are small: head and body come soon one after the other.
        let mut length = 0;
        while !ends(&answer[..length]) {
            length += server.read(&mut answer[length..]).ok().filter(|read| *read > 0)?;
        }
        client.write_all(&answer[..length]).ok()?;
        client.flush().ok()?;
        if String::from_utf8_lossy(&request[..read]).contains("Connection: close") {
            client.conn.send_close_notify();
            return client.flush().ok();
        }
    }
}

/// Returns whether an answer with a `Content-Length` is whole.
fn ends(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    length.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| body.len() >= length)
}
