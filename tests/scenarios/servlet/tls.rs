//! Programs' view of an encrypted connection and of the client's certificate.

use super::run;
use hostler_tests::{Server, Site, needs_program};
use std::fs;
use std::path::Path;
use std::process::Command;

const PAGE: &str = "<%@ page contentType=\"text/plain\" session=\"false\" %>\
    <% var all = (java.security.cert.X509Certificate[]) request.getAttribute(\"jakarta.servlet.request.X509Certificate\"); %>\
    <%= request.isSecure() %> <%= request.getScheme() %> <%= request.getRequestURL() %> \
    <%= request.getAttribute(\"jakarta.servlet.request.cipher_suite\") != null %> \
    <%= request.getAttribute(\"jakarta.servlet.request.key_size\") %> \
    <%= all == null ? \"nobody\" : all[0].getSubjectX500Principal() %>";

fn openssl(folder: &Path, arguments: &str) {
    run(Command::new("openssl").args(arguments.split(' ')).current_dir(folder));
}

fn curl(server: &Server, more: &[&str]) -> String {
    let url = format!("https://localhost:{}/shop/facts.jsp", server.port());
    let mut command = Command::new("curl");
    let output =
        command.args(["-sk", "--max-time", "30", "--noproxy", "*"]).args(more).arg(url).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn an_encrypted_connection_and_its_client_are_seen() {
    needs_java!();
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let site = Site::new()
        .dir("state")
        .mode("state", 0o1777)
        .dir("keys")
        .file(
            "app/WEB-INF/web.xml",
            "<web-app xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"6.0\"/>",
        )
        .file("app/facts.jsp", PAGE);
    let keys = site.path("keys");
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    openssl(
        &keys,
        &format!(
            "req -x509 {key} -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout own.key -out own.pem"
        ),
    );
    openssl(&keys, &format!("req -x509 {key} -subj /CN=ca -keyout ca.key -out ca.pem"));
    openssl(
        &keys,
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=alice -keyout alice.key -out alice.csr",
    );
    fs::write(keys.join("kind"), "extendedKeyUsage=clientAuth").unwrap();
    openssl(
        &keys,
        "x509 -req -in alice.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile kind -out alice.pem",
    );
    let server = site
        .config(
            "ServletApp /shop @ROOT@/app heap=64m work=@ROOT@/state\nSSLEngine on\nSSLCertificateFile @ROOT@/keys/own.pem\n\
             SSLCertificateKeyFile @ROOT@/keys/own.key\nSSLVerifyClient optional\nSSLCACertificateFile @ROOT@/keys/ca.pem\n",
        )
        .start();
    let seen = format!("true https https://localhost:{}/shop/facts.jsp true", server.port());
    let text = curl(&server, &[]);
    assert!(text.starts_with(&seen) && text.ends_with(" nobody"), "{text}{}", server.error_log());
    let (certificate, key) = (keys.join("alice.pem"), keys.join("alice.key"));
    let more = ["--cert", certificate.to_str().unwrap(), "--key", key.to_str().unwrap()];
    let text = curl(&server, &more);
    assert!(text.starts_with(&seen) && text.ends_with(" CN=alice"), "{text}{}", server.error_log());
    assert!(text.contains(" 256 ") || text.contains(" 128 "), "{text}");
}
