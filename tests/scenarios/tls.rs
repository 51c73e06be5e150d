//! TLS: certificates by name, protocols, resumption, and what clients and operators hear when it goes wrong.
//! Clients are curl and openssl, which know nothing of the library that the server uses.

use crate::logs::await_lines;
use hostler_tests::{Server, Site, await_that, needs_program};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Makes a self-signed certificate and its key, `NAME.pem` and `NAME.key`; `kind` is openssl's `-newkey`.
pub(crate) fn certificate(folder: &Path, file: &str, name: &str, kind: &[&str]) {
    let status = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-newkey"])
        .args(kind)
        .args(["-subj", &format!("/CN={name}"), "-addext", &format!("subjectAltName=DNS:{name}")])
        .arg("-keyout")
        .arg(folder.join(format!("{file}.key")))
        .arg("-out")
        .arg(folder.join(format!("{file}.pem")))
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "openssl makes a certificate");
}

pub(crate) const EC: &[&str] = &["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
const RSA: &[&str] = &["rsa:2048"];

/// A virtual host with the certificate of this file.
pub(crate) fn virtual_host(name: &str, certificate: &str, more: &str) -> String {
    format!(
        "<VirtualHost *>\nServerName {name}\nSSLEngine on\nSSLCertificateFile tls/{certificate}.pem\n\
         SSLCertificateKeyFile tls/{certificate}.key\nCustomLog logs/access.log \"%v %>s %H\"\n{more}\n</VirtualHost>\n"
    )
}

/// A site with certificates for one.test and two.test.
pub(crate) fn site() -> Site {
    let site = Site::new().dir("tls").file("htdocs/a", "hello");
    certificate(&site.path("tls"), "one", "one.test", EC);
    certificate(&site.path("tls"), "two", "two.test", EC);
    site
}

/// Returns the messages of a server that does not start.
fn refused(site: Site) -> String {
    match site.try_start() {
        Err(printed) => printed,
        // The address is taken before the certificates are looked at.
        Ok(mut server) => {
            assert!(!server.await_end().success());
            server.console()
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

/// Asks for `https://HOST/a` with this certificate as the only one to trust; what curl says of status, protocol,
/// body.
pub(crate) fn curl(server: &Server, host: &str, trusted: &str, more: &[&str]) -> String {
    let port = server.port();
    let resolve = format!("{host}:{port}:127.0.0.1");
    let trusted = server.site().path(&format!("tls/{trusted}.pem")).display().to_string();
    let url = format!("https://{host}:{port}/a");
    let base =
        ["-sS", "-w", " %{http_code} %{http_version}", "--resolve", &resolve, "--cacert", &trusted, &url];
    let output = run("curl", &[&base[..], more].concat());
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Returns `openssl s_client`'s output about a handshake.
pub(crate) fn handshake(server: &Server, more: &[&str]) -> String {
    let address = format!("127.0.0.1:{}", server.port());
    let output = run("openssl", &[&["s_client", "-connect", &address][..], more].concat());
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn every_name_has_its_certificate() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let config = virtual_host("one.test", "one", "") + &virtual_host("two.test", "two", "");
    let server = site().config(&config).start();
    assert_eq!(curl(&server, "one.test", "one", &[]), "hello 200 1.1");
    assert_eq!(curl(&server, "two.test", "two", &[]), "hello 200 1.1");
    assert!(curl(&server, "two.test", "one", &[]).contains(" 000 "), "another name's certificate isn't good");
    let unknown = handshake(&server, &["-servername", "other.test"]);
    assert!(
        unknown.contains("CN = one.test") || unknown.contains("CN=one.test"),
        "the first is the default: {unknown}"
    );
    assert!(handshake(&server, &["-noservername"]).contains("one.test"));
}

#[test]
fn a_handshake_for_one_host_does_not_reach_another() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let config = virtual_host("one.test", "one", "")
        + &virtual_host("two.test", "two", "")
        + &virtual_host("alias.test", "one", "")
        + &virtual_host("new.test", "one", "SSLProtocol TLSv1.3");
    let server = site().config(&config).start();
    let asking = |host: &str| {
        let field = format!("Host: {host}");
        let answer = curl(&server, "one.test", "one", &["-H", &field]);
        answer.rsplit(' ').nth(1).map(str::to_owned)
    };
    assert_eq!(asking("two.test").as_deref(), Some("421"), "another certificate");
    assert_eq!(asking("alias.test").as_deref(), Some("200"), "the same settings");
    assert_eq!(asking("new.test").as_deref(), Some("421"), "other versions");
}

#[test]
fn protocols_and_versions_are_those_of_the_virtual_host() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let config = virtual_host("one.test", "one", "Protocols h2 http/1.1")
        + &virtual_host("two.test", "two", "SSLProtocol -all +TLSv1.3");
    let server = site().config(&config).start();
    assert_eq!(curl(&server, "one.test", "one", &[]), "hello 200 2");
    assert_eq!(curl(&server, "one.test", "one", &["--http1.1"]), "hello 200 1.1");
    assert_eq!(curl(&server, "two.test", "two", &[]), "hello 200 1.1");
    assert!(curl(&server, "two.test", "two", &["--tls-max", "1.2"]).contains("alert protocol version"));
    let none_in_common = handshake(&server, &["-servername", "one.test", "-alpn", "spdy/3"]);
    assert!(none_in_common.contains("No ALPN negotiated"), "served all the same: {none_in_common}");
    assert_eq!(
        await_lines(&server, "logs/access.log", 3),
        "one.test 200 HTTP/1.1\none.test 200 HTTP/2.0\ntwo.test 200 HTTP/1.1\n"
    );
}

#[test]
fn sessions_are_resumed() {
    needs_program!("/usr/bin/openssl");
    let server = site().config(&virtual_host("one.test", "one", "")).start();
    let output = handshake(&server, &["-tls1_2", "-servername", "one.test", "-reconnect"]);
    assert_eq!(output.matches("Reused, TLSv1.2").count(), 5, "{output}");
}

#[test]
fn servers_with_the_same_file_resume_each_other_s_sessions() {
    needs_program!("/usr/bin/openssl");
    let server = |key: &str| {
        let more = "SSLSessionTicketKeyFile tls/tickets";
        site().file("tls/tickets", key).config(&virtual_host("one.test", "one", more)).start()
    };
    let [one, two, other] = ["a", "a", "b"].map(|letter| server(&letter.repeat(48)));
    for version in ["-tls1_2", "-tls1_3"] {
        let kept = one.site().path("kept").display().to_string();
        // A client of TLS 1.3 hears of its ticket after the handshake: it stays until it has its answer.
        let client = format!(
            "printf 'GET /a HTTP/1.0\\r\\n\\r\\n' | openssl s_client -connect 127.0.0.1:{} {version} -servername one.test \
             -sess_out '{kept}' -ign_eof",
            one.port()
        );
        let _ = run("sh", &["-c", &client]);
        let resumed = |server: &Server| {
            handshake(server, &[version, "-servername", "one.test", "-sess_in", &kept])
                .contains("Reused, TLSv1.")
        };
        assert!(resumed(&two) && !resumed(&other), "{version}");
    }
    let config = virtual_host("one.test", "one", "SSLSessionTicketKeyFile tls/tickets");
    let short = refused(site().file("tls/tickets", "short").config(&config));
    assert!(short.contains("has fewer than 48 bytes"), "{short}");
}

#[test]
fn cipher_suites_are_those_of_the_virtual_host_in_its_order() {
    needs_program!("/usr/bin/openssl");
    let two = "SSLCipherSuite ECDHE+CHACHA20:ECDHE+AESGCM\nSSLCipherSuite TLSv1.3 TLS_CHACHA20_POLY1305_SHA256\n\
               SSLHonorCipherOrder on\nSSLSessionTickets off";
    let config = virtual_host("one.test", "one", "SSLCipherSuite HIGH:!CHACHA20:!aNULL")
        + &virtual_host("two.test", "two", two);
    let server = site().config(&config).start();
    let agreed = |host: &str, more: &[&str]| {
        let said = handshake(&server, &[&["-servername", host][..], more].concat());
        let line = said.lines().find(|line| line.contains("Cipher is ")).unwrap_or_default();
        line.rsplit(' ').next().unwrap_or_default().to_owned()
    };
    let aes_first = ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305"];
    assert_eq!(agreed("one.test", &aes_first), "ECDHE-ECDSA-AES128-GCM-SHA256");
    assert_eq!(agreed("one.test", &["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"]), "(NONE)");
    assert_eq!(agreed("two.test", &aes_first), "ECDHE-ECDSA-CHACHA20-POLY1305", "the server's order");
    assert_eq!(agreed("two.test", &["-tls1_3"]), "TLS_CHACHA20_POLY1305_SHA256");
    let ticket = |host| handshake(&server, &["-tls1_2", "-servername", host]).contains("TLS session ticket:");
    assert!(ticket("one.test") && !ticket("two.test"), "tickets are off at two.test");
}

#[test]
fn plain_http_gets_the_error_document_of_the_virtual_host() {
    needs_program!("/usr/bin/openssl");
    let config = virtual_host("one.test", "one", "ErrorDocument 400 \"use TLS\"")
        + &virtual_host("two.test", "two", "ErrorDocument 400 https://two.test/")
        + &virtual_host("three.test", "one", "ErrorDocument 400 /a");
    let server = site().config(&config).start();
    let answer = |host: &str| server.get_with("/a", &format!("Host: {host}\r\n"));
    assert_eq!((answer("one.test").status, answer("one.test").text()), (400, "use TLS".into()));
    assert_eq!(answer("two.test").status, 302);
    let own = answer("three.test");
    assert_eq!(own.status, 400);
    // As Apache does, whatever the document is.
    assert_eq!(own.text(), "hello");
}

#[test]
fn clients_get_the_kind_of_key_that_they_can_verify() {
    needs_program!("/usr/bin/openssl");
    let site = site();
    certificate(&site.path("tls"), "rsa", "one.test", RSA);
    let more = "SSLCertificateFile tls/rsa.pem\nSSLCertificateKeyFile tls/rsa.key";
    let server = site.config(&virtual_host("one.test", "one", more)).start();
    let with = |algorithms: &str| handshake(&server, &["-tls1_2", "-sigalgs", algorithms]);
    assert!(with("ECDSA+SHA256").contains("ECDHE-ECDSA-"));
    assert!(with("RSA+SHA256:RSA-PSS+SHA256").contains("ECDHE-RSA-"));
}

#[test]
fn key_and_certificate_may_share_a_file() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let site = site();
    let both =
        [site.path("tls/one.key"), site.path("tls/one.pem")].map(|path| fs::read(path).unwrap()).concat();
    let config =
        "<VirtualHost *>\nServerName one.test\nSSLEngine on\nSSLCertificateFile tls/both.pem\n</VirtualHost>";
    let server = site.file("tls/both.pem", both).config(config).start();
    assert_eq!(curl(&server, "one.test", "one", &[]), "hello 200 1.1");
}

#[test]
fn plain_http_is_told_where_to_go() {
    needs_program!("/usr/bin/openssl");
    let server = site().config(&virtual_host("one.test", "one", "")).start();
    let answer = server.get_with("/a?b=<c>", "Host: one.test\r\n");
    assert_eq!(answer.status, 400);
    let link = format!("<a href=\"https://one.test:{}/a?b=&lt;c&gt;\">", server.port());
    assert!(answer.text().contains(&link), "{}", answer.text());
    let mut garbage = server.connect();
    garbage.send(b"\x01\x02nonsense\r\n\r\n");
    assert_eq!(garbage.rest(), b"");
    assert_eq!(await_lines(&server, "logs/access.log", 1), "one.test 400 HTTP/1.1\n");
}

#[test]
fn programs_learn_about_the_connection() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let script = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\n\
                  echo $HTTPS $SSL_PROTOCOL $SSL_CIPHER $SSL_TLS_SNI $REQUEST_SCHEME $SERVER_PORT\n\
                  echo $SSL_SERVER_S_DN $SSL_SERVER_I_DN_CN $SSL_SERVER_A_KEY\n";
    let more = "<Directory @ROOT@/htdocs>\nOptions +ExecCGI\nSSLOptions +StdEnvVars\nSetHandler cgi-script\n</Directory>";
    let server = site().script("htdocs/a", script).config(&virtual_host("one.test", "one", more)).start();
    let answer = curl(&server, "one.test", "one", &["--tlsv1.3"]);
    let port = server.port();
    assert!(answer.starts_with("on TLSv1.3 TLS_"), "{answer}");
    assert!(answer.contains(&format!(" one.test https {port}\n")), "{answer}");
    assert!(answer.contains("\nCN=one.test one.test id-ecPublicKey\n"), "{answer}");
}

#[test]
fn a_client_that_names_no_host_is_refused_where_that_is_wanted() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    for (more, expected) in [("", "200"), ("SSLStrictSNIVHostCheck on", "403")] {
        let server = site().file("htdocs/a", "a").config(&virtual_host("one.test", "one", more)).start();
        let url = format!("https://127.0.0.1:{}/a", server.port());
        let output =
            run("curl", &["-sk", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: one.test", &url]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{more}");
        assert!(curl(&server, "one.test", "one", &[]).contains(" 200 "), "{more}");
    }
}

#[test]
fn a_certificate_that_can_not_be_used_is_named_at_start() {
    needs_program!("/usr/bin/openssl");
    let refused = |site: Site| refused(site.config(&virtual_host("one.test", "one", "")));
    let with = |file: &str, content: &str| refused(site().file(file, content));
    let mixed = site();
    fs::copy(mixed.path("tls/two.key"), mixed.path("tls/one.key")).unwrap();
    let other = refused(mixed);
    assert!(other.contains("one.key is not the key of the certificate"), "{other}");
    assert!(other.contains("httpd.conf:") && other.contains("SSLCertificateFile"), "{other}");
    let none = with("tls/one.pem", "no certificate");
    assert!(none.contains("one.pem has no certificate"), "{none}");
    let broken = with("tls/one.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    assert!(broken.contains("one.pem"), "{broken}");
}

#[test]
fn a_reload_brings_a_new_certificate() {
    needs_program!("/usr/bin/openssl");
    let server = site().config(&virtual_host("one.test", "one", "")).start();
    let serial = || {
        let printed = handshake(&server, &["-servername", "one.test"]);
        let pem = printed.split("-----BEGIN").nth(1).and_then(|rest| rest.split("-----END").next());
        pem.map(str::to_owned)
    };
    let old = serial();
    assert!(old.is_some());
    certificate(&server.site().path("tls"), "one", "one.test", EC);
    server.signal(Signal::HUP);
    await_that("the new certificate", || serial() != old);
    let new = serial();
    assert!(new.is_some() && new != old, "{}", server.console());
    // One that can't be used leaves the generation with the good one serving.
    fs::write(server.site().path("tls/one.pem"), "nonsense").unwrap();
    server.signal(Signal::HUP);
    // Time: that nothing changes meanwhile is what is tested.
    thread::sleep(Duration::from_millis(500));
    assert_eq!(serial(), new);
    assert!(server.console().contains("one.pem has no certificate"), "{}", server.console());
}

#[test]
fn ssl_require_ssl_refuses_plain_connections() {
    let site = Site::new()
        .file("htdocs/open", "open")
        .file("htdocs/secret/a", "treasure")
        .config("<Location /secret>\nSSLRequireSSL\n</Location>\n<Location /never>\nSSLRequire %{REQUEST_METHOD} eq \"X\"\n</Location>")
        .file("htdocs/never/a", "treasure");
    let server = site.start();
    assert_eq!(server.get("/open").status, 200);
    for path in ["/secret/a", "/never/a", "/secret/a"] {
        let answer = server.get(path);
        assert_eq!(answer.status, 403, "{path}");
        assert!(!answer.text().contains("treasure"), "{path}");
    }
    let _ = server.await_error("SSLRequireSSL");
}

#[test]
fn ssl_require_ssl_lets_encrypted_connections_pass() {
    let site = site().config(&virtual_host("one.test", "one", "<Location />\nSSLRequireSSL\n</Location>"));
    let server = site.start();
    assert_eq!(curl(&server, "one.test", "one", &["--http1.1"]), "hello 200 1.1");
}

#[test]
fn handshakes_that_never_begin_make_room_for_others() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let config = virtual_host("one.test", "one", "") + "HostlerConnectionsPerAddress max\nTimeout 600\n";
    let server = site().config(&config).config("RequestReadTimeout handshake=600").descriptors(160).start();
    let _silent: Vec<_> = (0..200).map(|_| server.connect()).collect();
    assert_eq!(curl(&server, "one.test", "one", &[]), "hello 200 1.1");
}

#[test]
fn a_handshake_has_its_time() {
    needs_program!("/usr/bin/openssl");
    let server = site().config(&virtual_host("one.test", "one", "RequestReadTimeout handshake=1")).start();
    assert!(server.connect().closes_within(Duration::from_secs(15)), "RequestReadTimeout handshake");
}

#[test]
fn rules_look_at_the_connection() {
    let rules = "RewriteEngine On\nRewriteCond %{SSL:SSL_PROTOCOL} ^TLSv1\\.[23]$\nRewriteCond %{SSL:NONE} ^$\n\
                 RewriteRule ^/a$ /secure [L]";
    let server =
        site().file("htdocs/secure", "by TLS").config(&virtual_host("one.test", "one", rules)).start();
    assert_eq!(curl(&server, "one.test", "one", &[]), "by TLS 200 1.1");
}

/// Runs openssl in the folder; it must succeed.
pub(crate) fn openssl(folder: &Path, arguments: &str) {
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let output = Command::new("openssl").current_dir(folder).args(&arguments).output();
    let output = output.expect("openssl starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A client's certificate `NAME.pem` and its key, signed by `ca`.
pub(crate) fn client(folder: &Path, name: &str, ca: &str) {
    openssl(
        folder,
        &format!(
            "req -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /C=DE/O=Test/CN={name} -keyout {name}.key -out {name}.csr"
        ),
    );
    openssl(
        folder,
        &format!(
            "x509 -req -in {name}.csr -CA {ca}.pem -CAkey {ca}.key -CAcreateserial -days 2 -out {name}.pem"
        ),
    );
}

/// one.test, a root that clients trust and another, clients alice (of the root), bob (revoked), eve (of the other).
pub(crate) fn site_with_clients() -> Site {
    let site = site()
        .script("htdocs/sec/env.cgi", "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n%s %s %s' \"$SSL_CLIENT_VERIFY\" \"$SSL_CLIENT_S_DN_CN\" \"$REMOTE_USER\"")
        .file("htdocs/sec/a", "secret");
    let folder = site.path("tls");
    for ca in ["root", "other"] {
        openssl(
            &folder,
            &format!(
                "req -x509 -nodes -days 2 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN={ca} -keyout {ca}.key -out {ca}.pem -addext basicConstraints=critical,CA:TRUE"
            ),
        );
    }
    client(&folder, "alice", "root");
    client(&folder, "bob", "root");
    client(&folder, "eve", "other");
    site
}

/// Returns curl's output with this client certificate: response, status, version.
pub(crate) fn as_client(server: &Server, path: &str, name: Option<&str>, more: &[&str]) -> String {
    let file = |name: &str| server.site().path(&format!("tls/{name}")).display().to_string();
    let port = server.port();
    let (resolve, url) = (format!("one.test:{port}:127.0.0.1"), format!("https://one.test:{port}{path}"));
    let trusted = file("one.pem");
    let mut arguments = vec!["-s", "-w", " %{http_code}", "--resolve", &resolve, "--cacert", &trusted, &url];
    let (certificate, key) = name
        .map_or_else(Default::default, |name| (file(&format!("{name}.pem")), file(&format!("{name}.key"))));
    if name.is_some() {
        arguments.extend(["--cert", &certificate, "--key", &key]);
    }
    arguments.extend(more);
    String::from_utf8_lossy(&run("curl", &arguments).stdout).into_owned()
}

#[test]
fn a_virtual_host_asks_clients_for_certificates() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let more = "SSLVerifyClient require\nSSLCACertificateFile tls/root.pem";
    let server = site_with_clients().config(&virtual_host("one.test", "one", more)).start();
    for version in ["1.2", "1.3"] {
        let ask = |name| as_client(&server, "/a", name, &["--tls-max", version]);
        assert_eq!(ask(Some("alice")), "hello 200", "TLS {version}");
        assert_eq!(ask(None), " 000", "TLS {version}");
        assert_eq!(ask(Some("eve")), " 000", "TLS {version}");
    }
}

#[test]
fn a_revoked_certificate_is_refused() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let site = site_with_clients()
        .file("tls/index.txt", "")
        .file("tls/number", "01")
        .file("tls/ca.cnf", "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\ncrlnumber=number\ndefault_md=sha256\ndefault_crl_days=2\n");
    let folder = site.path("tls");
    openssl(&folder, "ca -config ca.cnf -keyfile root.key -cert root.pem -revoke bob.pem");
    openssl(&folder, "ca -config ca.cnf -keyfile root.key -cert root.pem -gencrl -out root.crl");
    let more = "SSLVerifyClient require\nSSLCACertificateFile tls/root.pem\nSSLCARevocationFile tls/root.crl\nSSLCARevocationCheck leaf";
    let server = site.config(&virtual_host("one.test", "one", more)).start();
    assert_eq!(as_client(&server, "/a", Some("alice"), &[]), "hello 200");
    assert_eq!(as_client(&server, "/a", Some("bob"), &[]), " 000");
}

#[test]
fn a_section_requires_a_certificate_and_knows_its_user() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let more = "SSLCACertificateFile tls/root.pem\n<Location /sec>\nOptions +ExecCGI\nAddHandler cgi-script .cgi\nSSLVerifyClient require\n\
                SSLOptions +StdEnvVars\nSSLUserName SSL_CLIENT_S_DN_CN\n</Location>";
    let server = site_with_clients().config(&virtual_host("one.test", "one", more)).start();
    assert_eq!(as_client(&server, "/a", None, &[]), "hello 200", "elsewhere nobody needs one");
    assert_eq!(as_client(&server, "/sec/env.cgi", Some("alice"), &[]), "SUCCESS alice alice 200");
    for name in [None, Some("eve")] {
        assert!(as_client(&server, "/sec/a", name, &[]).ends_with(" 403"), "{name:?}");
        assert!(as_client(&server, "/sec/env.cgi", name, &[]).ends_with(" 403"), "{name:?}");
    }
}

#[test]
fn an_access_file_that_wants_certificates_where_nobody_asks_for_them_lets_nobody_in() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let more = "SSLCACertificateFile tls/root.pem\n<Directory @ROOT@/htdocs>\nAllowOverride AuthConfig\n</Directory>";
    let site = site_with_clients().file("htdocs/sec/.htaccess", "SSLVerifyClient require\n");
    let server = site.config(&virtual_host("one.test", "one", more)).start();
    assert!(as_client(&server, "/sec/a", Some("alice"), &[]).ends_with(" 403"));
    // It says what to do.
    let _ = server.await_error("SSLVerifyClient optional");
}

#[test]
fn a_client_s_certificate_logs_in_under_its_name() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let more = "SSLCACertificateFile tls/root.pem\nSSLVerifyClient optional\n<Location /sec>\nSSLOptions +FakeBasicAuth\nAuthType Basic\nAuthName x\n\
                AuthUserFile tls/users\nRequire valid-user\n</Location>";
    // The password is "password".
    let users = "/C=DE/O=Test/CN=alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n";
    let site = site_with_clients().file("tls/users", users);
    let server = site.config(&virtual_host("one.test", "one", more)).start();
    assert_eq!(as_client(&server, "/sec/a", Some("alice"), &[]), "secret 200");
    assert!(as_client(&server, "/sec/a", Some("bob"), &[]).ends_with(" 401"), "nobody of that name");
    assert!(as_client(&server, "/sec/a", None, &[]).ends_with(" 401"));
    let pretender = as_client(&server, "/sec/a", None, &["-u", "/C=DE/O=Test/CN=alice:password"]);
    assert!(pretender.ends_with(" 403"), "{pretender}");
}
