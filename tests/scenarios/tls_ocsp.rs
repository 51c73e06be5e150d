//! Clients' certificates are looked up at their authority's responder (SSLOCSPEnable). The authority, its answers and the clients
//! are openssl's and curl's.

use crate::tls::{EC, as_client, certificate, virtual_host};
use crate::tls_stapling::{Responder, openssl, serve};
use hostler_tests::{Server, Site, needs_program};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Clients of the authority: their serial numbers, and what the responder knows of them.
const CLIENTS: [(&str, &str, char); 3] =
    [("alice", "1234", 'V'), ("bob", "5678", 'R'), ("carol", "9ABC", 'V')];

/// A certificate `NAME.pem` that the authority has signed.
fn signed(folder: &Path, name: &str, serial: &str, extensions: &str) {
    let file = |kind: &str| format!("{name}.{kind}");
    fs::write(folder.join(file("ext")), extensions).expect("the extensions");
    let request = ["req", "-new", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    let names = ["-subj", &format!("/CN={name}"), "-keyout", &file("key"), "-out", &file("csr")];
    openssl(folder, &[&request[..], &names].concat());
    let sign = ["x509", "-req", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2"];
    let serial = format!("0x{serial}");
    let files = ["-set_serial", &serial, "-in", &file("csr"), "-extfile", &file("ext"), "-out", &file("pem")];
    openssl(folder, &[&sign[..], &files].concat());
}

/// one.test, an authority and its responder, and clients: alice, bob (revoked), carol, whose certificate names no responder.
/// The server's configuration may name the responder as `@RESPONDER@`.
fn start(responder: Responder, more: &str) -> (Server, Receiver<()>) {
    let site = Site::new().dir("tls").file("htdocs/a", "hello").file("htdocs/sec/a", "secret");
    let folder = site.path("tls");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/ocsp", listener.local_addr().expect("an address"));
    certificate(&folder, "one", "one.test", EC);
    certificate(&folder, "ca", "authority.test", EC);
    certificate(&folder, "stranger", "stranger.test", EC);
    signed(&folder, "charged", "77", "extendedKeyUsage=OCSPSigning\n");
    let mut index = String::new();
    for (name, serial, state) in CLIENTS {
        let named = format!("authorityInfoAccess=OCSP;URI:{url}\n");
        signed(&folder, name, serial, if name == "carol" { "basicConstraints=CA:FALSE\n" } else { &named });
        let revoked = if state == 'R' { "200101000000Z" } else { "" };
        index += &format!("{state}\t491231235959Z\t{revoked}\t{serial}\tunknown\t/CN={name}\n");
    }
    fs::write(folder.join("index"), index).expect("the index");
    let (said, asked) = channel();
    thread::spawn(move || serve(&listener, &folder, responder, &said));
    let more = format!("SSLCACertificateFile tls/ca.pem\n{}", more.replace("@RESPONDER@", &url));
    (site.config(&virtual_host("one.test", "one", &more)).start(), asked)
}

const REQUIRED: &str = "SSLVerifyClient require\nSSLOCSPEnable on\n";

#[test]
fn who_is_revoked_is_refused() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let (server, asked) = start(Responder::Answers, REQUIRED);
    for version in ["1.2", "1.3"] {
        let ask = |name| as_client(&server, "/a", Some(name), &["--tls-max", version]);
        assert_eq!(ask("alice"), "hello 200", "TLS {version}");
        assert_eq!(ask("bob"), " 000", "TLS {version}");
    }
    let _ = server.await_error("it says that the certificate is revoked");
    assert_eq!(asked.try_iter().count(), 4);
    assert_eq!(as_client(&server, "/a", None, &[]), " 000");
    assert_eq!(as_client(&server, "/a", Some("stranger"), &[]), " 000");
    assert_eq!(asked.try_iter().count(), 0, "a stranger has nobody asked");
}

#[test]
fn a_certificate_without_a_responder_is_not_good_unless_that_is_said() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let of_carol = |more: &str| {
        let (server, asked) = start(Responder::Answers, &format!("{REQUIRED}{more}"));
        (as_client(&server, "/a", Some("carol"), &[]), asked.try_iter().count())
    };
    assert_eq!(of_carol(""), (" 000".into(), 0));
    assert_eq!(of_carol("SSLOCSPEnable leaf no_ocsp_for_cert_ok"), ("hello 200".into(), 0));
    assert_eq!(of_carol("SSLOCSPDefaultResponder @RESPONDER@"), ("hello 200".into(), 1));
}

#[test]
fn where_the_responder_does_not_say_so_nobody_is_good() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let (server, _asked) = start(Responder::Misbehaves, REQUIRED);
    assert_eq!(as_client(&server, "/a", Some("alice"), &[]), " 000");
    let _ = server.await_error("what it says is not an OCSP response");
    // Bound, and nobody listens any more.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
    let elsewhere = format!("SSLOCSPDefaultResponder http://127.0.0.1:{port}/\nSSLOCSPOverrideResponder on");
    let (server, asked) = start(Responder::Answers, &format!("{REQUIRED}{elsewhere}"));
    assert_eq!(as_client(&server, "/a", Some("alice"), &[]), " 000");
    let _ = server.await_error("it can't be connected to");
    assert_eq!(asked.try_iter().count(), 0, "the other one is asked");
    let proxy = format!("{REQUIRED}SSLOCSPProxyURL http://127.0.0.1:{port}/");
    let (server, asked) = start(Responder::Answers, &proxy);
    assert_eq!(as_client(&server, "/a", Some("alice"), &[]), " 000");
    assert_eq!(asked.try_iter().count(), 0, "the proxy is asked");
}

#[test]
fn an_answer_is_believed_if_somebody_has_signed_it_who_may() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let of_alice = |signer, more: &str| {
        let (server, _asked) = start(Responder::SignsAs(signer), &format!("{REQUIRED}{more}"));
        as_client(&server, "/a", Some("alice"), &[])
    };
    assert_eq!(of_alice("charged", ""), "hello 200");
    assert_eq!(of_alice("alice", ""), " 000", "a certificate for other things");
    assert_eq!(of_alice("stranger", ""), " 000");
    assert_eq!(of_alice("stranger", "SSLOCSPNoverify on"), "hello 200");
    assert_eq!(of_alice("stranger", "SSLOCSPResponderCertificateFile tls/stranger.pem"), "hello 200");
}

#[test]
fn an_answer_to_another_question_is_none() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    for (more, again) in [("", " 000"), ("SSLOCSPUseRequestNonce off", "hello 200")] {
        let (server, _asked) = start(Responder::Repeats, &format!("{REQUIRED}{more}"));
        assert_eq!(as_client(&server, "/a", Some("alice"), &[]), "hello 200", "{more}");
        assert_eq!(as_client(&server, "/a", Some("alice"), &[]), again, "{more}");
    }
}

#[test]
fn a_section_refuses_who_is_revoked() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let more = "SSLOCSPEnable on\n<Location /sec>\nSSLVerifyClient require\n</Location>";
    let (server, _asked) = start(Responder::Answers, more);
    assert_eq!(as_client(&server, "/a", Some("bob"), &[]), "hello 200", "elsewhere nobody needs one");
    assert_eq!(as_client(&server, "/sec/a", Some("alice"), &[]), "secret 200");
    assert!(as_client(&server, "/sec/a", Some("bob"), &[]).ends_with(" 403"));
}
