//! Further words of mod_ssl: chains, folders of authorities and of revoked certificates, what programs and conditions learn of a
//! client, which hosts a connection reaches, OpenSSL's own commands. Clients are openssl's and curl's.

use crate::tls::{as_client, client, curl, handshake, openssl, site, site_with_clients, virtual_host};
use hostler_tests::{Server, Site, needs_program};
use std::fs;
use std::path::Path;

/// A certificate `NAME.pem` of version 3 with these extensions, signed by `ca`.
fn signed(folder: &Path, name: &str, ca: &str, extensions: &str) {
    client(folder, name, ca);
    fs::write(folder.join("extensions"), extensions).expect("the extensions");
    let sign = format!("x509 -req -in {name}.csr -CA {ca}.pem -CAkey {ca}.key -CAcreateserial -days 2");
    openssl(folder, &format!("{sign} -extfile extensions -out {name}.pem"));
}

/// Clients of [`site_with_clients`], and `deep`, who is signed by `sub`, who is signed by `root`.
fn site_with_a_chain() -> Site {
    let site = site_with_clients();
    let folder = site.path("tls");
    signed(&folder, "sub", "root", "basicConstraints=critical,CA:TRUE\n");
    signed(&folder, "deep", "sub", "basicConstraints=CA:FALSE\n");
    let chain =
        ["deep.pem", "sub.pem"].map(|name| fs::read_to_string(folder.join(name)).expect(name)).concat();
    fs::write(folder.join("deep.pem"), chain).expect("the chain");
    site
}

/// A list of what an authority has revoked: this client, where one is named. Without a number it is of version 1.
fn revoked(folder: &Path, ca: &str, name: Option<&str>, is_numbered: bool) {
    let number = if is_numbered { format!("crlnumber={ca}.number\n") } else { String::new() };
    let config = format!(
        "[ca]\ndefault_ca=d\n[d]\ndatabase={ca}.index\n{number}default_md=sha256\ndefault_crl_days=2\n"
    );
    for (file, text) in [("index", ""), ("number", "01"), ("cnf", &config)] {
        fs::write(folder.join(format!("{ca}.{file}")), text).expect("a file");
    }
    let base = format!("ca -config {ca}.cnf -keyfile {ca}.key -cert {ca}.pem");
    if let Some(name) = name {
        openssl(folder, &format!("{base} -revoke {name}.pem"));
    }
    openssl(folder, &format!("{base} -gencrl -out {ca}.crl"));
}

/// A folder with these files, with the links that OpenSSL looks for.
fn hashed(folder: &Path, name: &str, files: &[&str]) {
    fs::create_dir(folder.join(name)).expect("a folder");
    for file in files {
        fs::copy(folder.join(file), folder.join(name).join(file)).expect("a copy");
    }
    openssl(folder, &format!("rehash {name}"));
}

fn started(site: Site, more: &str) -> Server {
    site.config(&virtual_host("one.test", "one", more)).start()
}

#[test]
fn a_chain_is_as_long_as_ssl_verify_depth_allows() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let base = "SSLCACertificateFile tls/root.pem\nSSLVerifyClient require\nSSLVerifyDepth";
    for (depth, alice, deep) in [(0, " 000", " 000"), (1, "hello 200", " 000"), (2, "hello 200", "hello 200")]
    {
        let server = started(site_with_a_chain(), &format!("{base} {depth}"));
        let asked = ["alice", "deep"].map(|name| as_client(&server, "/a", Some(name), &[]));
        assert_eq!(asked, [alice, deep], "SSLVerifyDepth {depth}");
    }
}

#[test]
fn authorities_are_found_in_a_folder_and_named_to_clients() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let site = site_with_a_chain();
    hashed(&site.path("tls"), "trusted", &["root.pem", "sub.pem"]);
    let more = "SSLCACertificatePath tls/trusted\nSSLVerifyClient require\nSSLVerifyDepth 2";
    let server = started(site, &format!("{more}\nSSLCADNRequestFile tls/other.pem"));
    assert_eq!(as_client(&server, "/a", Some("alice"), &[]), "hello 200");
    assert_eq!(as_client(&server, "/a", Some("eve"), &[]), " 000", "named, and not trusted");
    let told = handshake(&server, &["-servername", "one.test"]);
    let names = told.split("Acceptable client certificate CA names").nth(1).expect("names").lines().nth(1);
    assert!(names.is_some_and(|name| name.ends_with("other")), "{told}");
    let site = site_with_a_chain();
    hashed(&site.path("tls"), "trusted", &["root.pem", "sub.pem"]);
    let told = handshake(&started(site, &format!("{more}\nSSLCADNRequestPath tls/trusted")), &[]);
    assert!(told.contains("CN = sub") || told.contains("CN=sub"), "{told}");
}

/// A folder with these files under the names that they have, and a file that is none of PEM's.
fn unhashed(folder: &Path, name: &str, files: &[&str]) {
    fs::create_dir_all(folder.join(name).join("folder")).expect("a folder");
    for file in files {
        fs::copy(folder.join(file), folder.join(name).join(file)).expect("a copy");
    }
    fs::write(folder.join(name).join("README"), "certificates\n").expect("a text");
}

#[test]
fn a_folder_whose_files_have_no_hashes_for_names_makes_nobody_trusted() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let of = |more: &str| {
        let site = site_with_a_chain();
        let folder = site.path("tls");
        unhashed(&folder, "plain", &["root.pem", "sub.pem"]);
        fs::create_dir(folder.join("none")).expect("a folder");
        started(site, &format!("SSLVerifyDepth 2\n{more}"))
    };
    let answers = |server: &Server| ["alice", "eve"].map(|name| as_client(server, "/a", Some(name), &[]));
    let required = of("SSLCACertificatePath tls/plain\nSSLVerifyClient require");
    assert_eq!(answers(&required), [" 000", " 000"]);
    // As by mod_ssl, clients are sent the names that are in all files.
    let names = handshake(&required, &[]);
    assert!(names.contains("CN = sub") || names.contains("CN=sub"), "{names}");
    let optional = of("SSLCACertificatePath tls/plain\nSSLVerifyClient optional_no_ca");
    assert_eq!(answers(&optional), ["hello 200", "hello 200"]);
    let empty = of("SSLCACertificatePath tls/none\nSSLVerifyClient require");
    assert_eq!(answers(&empty), [" 000", " 000"]);
    let named =
        of("SSLCACertificateFile tls/root.pem\nSSLCADNRequestPath tls/plain\nSSLVerifyClient require");
    assert_eq!(answers(&named), ["hello 200", " 000"]);
    // Nothing is known of what is revoked, which is not enough.
    let lists = "SSLCACertificateFile tls/root.pem\nSSLVerifyClient require\nSSLCARevocationPath tls/none\nSSLCARevocationCheck";
    assert_eq!(answers(&of(&format!("{lists} leaf"))), [" 000", " 000"]);
    assert_eq!(answers(&of(&format!("{lists} leaf no_crl_for_cert_ok"))), ["hello 200", " 000"]);
}

#[test]
fn revoked_certificates_are_found_in_a_folder_for_all_of_a_chain() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    for numbered in [[true, true], [false, false], [true, false]] {
        are_found_for_all_of_a_chain(numbered);
    }
}

/// `numbered`: whether the lists of `root` and `sub` are.
fn are_found_for_all_of_a_chain(numbered: [bool; 2]) {
    let of = |check: &str, lists: &[&str]| {
        let site = site_with_a_chain();
        let folder = site.path("tls");
        revoked(&folder, "root", Some("bob"), numbered[0]);
        revoked(&folder, "sub", None, numbered[1]);
        hashed(&folder, "lists", lists);
        let more = "SSLCACertificateFile tls/root.pem\nSSLVerifyClient require\nSSLVerifyDepth 2\nSSLCARevocationPath tls/lists";
        let server = started(site, &format!("{more}\nSSLCARevocationCheck {check}"));
        ["alice", "bob", "deep"].map(|name| as_client(&server, "/a", Some(name), &[]).ends_with(" 200"))
    };
    assert_eq!(of("chain", &["root.crl", "sub.crl"]), [true, false, true]);
    assert_eq!(of("chain", &["root.crl"]), [true, false, false], "nothing is known of what sub has revoked");
    assert_eq!(of("chain no_crl_for_cert_ok", &["root.crl"]), [true, false, true]);
    assert_eq!(of("leaf", &["root.crl"]), [true, false, false]);
    assert_eq!(of("none", &["root.crl"]), [true, true, true]);
}

/// Prints the environment's variables of TLS, sorted.
const PROGRAM: &str = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nenv | grep '^SSL_' | sort\n";

/// Returns a program's variables for alice, whose certificate has names of all kinds.
fn told(more: &str) -> String {
    let site = site_with_a_chain().script("htdocs/env.cgi", PROGRAM);
    let names = "subjectAltName=email:a@one.test,email:b@one.test,DNS:alice.test,otherName:1.3.6.1.4.1.311.20.2.3;UTF8:alice@corp.test\n";
    signed(&site.path("tls"), "alice", "root", names);
    let base = "SSLCACertificateFile tls/root.pem\nSSLVerifyClient optional\n<Directory @ROOT@/htdocs>\nOptions +ExecCGI\n\
                AddHandler cgi-script .cgi\n</Directory>";
    as_client(&started(site, &format!("{base}\n{more}")), "/env.cgi", Some("alice"), &[])
}

#[test]
fn programs_learn_all_of_a_client_s_certificate() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    assert!(!told("").contains("SSL_CLIENT_"));
    let standard = told("SSLOptions +StdEnvVars");
    for line in [
        "SSL_CLIENT_VERIFY=SUCCESS",
        "SSL_CLIENT_M_VERSION=3",
        "SSL_CLIENT_S_DN=CN=alice,O=Test,C=DE",
        "SSL_CLIENT_S_DN_O=Test",
        "SSL_CLIENT_I_DN=CN=root",
        "SSL_CLIENT_I_DN_CN=root",
        "SSL_CLIENT_A_KEY=id-ecPublicKey",
        "SSL_CLIENT_A_SIG=ecdsa-with-SHA256",
        "SSL_CLIENT_SAN_Email_0=a@one.test",
        "SSL_CLIENT_SAN_Email_1=b@one.test",
        "SSL_CLIENT_SAN_DNS_0=alice.test",
        "SSL_CLIENT_SAN_OTHER_msUPN_0=alice@corp.test",
        "SSL_SERVER_SAN_DNS_0=one.test",
        "SSL_SESSION_RESUMED=Initial",
    ] {
        assert!(standard.lines().any(|told| told == line), "{line}\n{standard}");
    }
    for begin in
        ["SSL_CLIENT_M_SERIAL=", "SSL_CLIENT_V_REMAIN=", "SSL_CLIENT_CERT_RFC4523_CEA={ serialNumber "]
    {
        assert!(standard.lines().any(|told| told.starts_with(begin)), "{begin}\n{standard}");
    }
    assert!(!standard.contains("BEGIN CERTIFICATE"));
    let data = told("SSLOptions +ExportCertData");
    assert!(data.contains("SSL_CLIENT_CERT=-----BEGIN CERTIFICATE-----"), "{data}");
    assert!(data.contains("SSL_SERVER_CERT=-----BEGIN CERTIFICATE-----"), "{data}");
    assert!(!data.contains("SSL_CLIENT_S_DN"), "{data}");
}

#[test]
fn names_are_written_as_openssl_once_did_where_that_is_wanted() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let legacy = told("SSLOptions +StdEnvVars +LegacyDNStringFormat");
    for line in
        ["SSL_CLIENT_S_DN=/C=DE/O=Test/CN=alice", "SSL_CLIENT_I_DN=/CN=root", "SSL_CLIENT_S_DN_CN=alice"]
    {
        assert!(legacy.lines().any(|told| told == line), "{line}\n{legacy}");
    }
    let more = "SSLCACertificateFile tls/root.pem\nSSLVerifyClient optional\nSSLOptions +LegacyDNStringFormat\n\
                SSLUserName SSL_CLIENT_S_DN\nCustomLog logs/names.log \"%u %{SSL_CLIENT_S_DN}x\"\n\
                <Location /sec>\nSSLRequire %{SSL_CLIENT_S_DN} eq \"/C=DE/O=Test/CN=alice\"\n</Location>";
    let server = started(site_with_clients(), more);
    assert_eq!(as_client(&server, "/sec/a", Some("alice"), &[]), "secret 200");
    assert!(as_client(&server, "/sec/a", Some("bob"), &[]).ends_with(" 403"));
    let log = crate::logs::await_lines(&server, "logs/names.log", 2);
    assert!(log.contains("/C=DE/O=Test/CN=alice /C=DE/O=Test/CN=alice\n"), "{log}");
}

#[test]
fn conditions_know_a_client_s_certificate() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let conditions = [
        ("%{SSL_CIPHER_USEKEYSIZE} >= 128", true),
        ("%{SSL_CLIENT_S_DN_CN} in {\"alice\", \"carol\"}", true),
        ("%{SSL_CLIENT_S_DN_O} eq \"Test\" and not (%{SSL_CLIENT_I_DN_CN} eq \"other\")", true),
        (
            "\"alice.test\" eq %{SSL_CLIENT_SAN_DNS_0} or \"alice@one.test\" eq %{SSL_CLIENT_SAN_Email_0}",
            true,
        ),
        ("%{SSL_CLIENT_VERIFY} ne \"SUCCESS\"", false),
        ("%{SSL_CLIENT_S_DN_CN} =~ m/^b/", false),
        ("\"bob\" in {%{SSL_CLIENT_S_DN_CN}}", false),
        ("\"Lemons\" in PeerExtList(\"1.3.6.1.4.1.18060.12.0\")", true),
        ("\"Apples\" in PeerExtList(\"1.3.6.1.4.1.18060.12.0\")", false),
        ("\"Lemons\" in PeerExtList(\"1.3.6.1.4.1.18060.12.1\")", false),
        ("\"for tests\" in PeerExtList(\"nsComment\")", true),
        ("\"Digital Signature\" in PeerExtList(\"keyUsage\")", true),
        ("\"TLS Web Client Authentication\" in PeerExtList(\"extendedKeyUsage\")", true),
    ];
    let mut more = "SSLCACertificateFile tls/root.pem\nSSLVerifyClient optional\n".to_owned();
    let mut site = site_with_clients();
    let extensions = "subjectAltName=email:alice@one.test\nnsComment=for tests\nkeyUsage=digitalSignature\n\
                      extendedKeyUsage=clientAuth\n1.3.6.1.4.1.18060.12.0=ASN1:UTF8String:Lemons\n";
    signed(&site.path("tls"), "alice", "root", extensions);
    for (number, (condition, _)) in conditions.iter().enumerate() {
        site = site.file(&format!("htdocs/{number}/a"), "passed");
        more += &format!("<Location /{number}>\nSSLRequire {condition}\n</Location>\n");
    }
    let server = started(site, &more);
    for (number, (condition, passes)) in conditions.iter().enumerate() {
        let answer = as_client(&server, &format!("/{number}/a"), Some("alice"), &[]);
        assert!(answer.ends_with(if *passes { "passed 200" } else { " 403" }), "{condition}: {answer}");
    }
}

#[test]
fn a_connection_reaches_other_hosts_as_the_policy_says() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let hosts = virtual_host("one.test", "one", "")
        + &virtual_host("alias.test", "one", "")
        + &virtual_host("two.test", "two", "")
        + &virtual_host("clients.test", "one", "SSLVerifyClient optional\nSSLCACertificateFile tls/one.pem");
    for (policy, expected) in [
        ("", ["200", "421", "421"]),
        ("SSLVHostSNIPolicy secure\n", ["200", "421", "421"]),
        ("SSLVHostSNIPolicy strict\n", ["421", "421", "421"]),
        ("SSLVHostSNIPolicy authonly\n", ["200", "200", "421"]),
        ("SSLVHostSNIPolicy insecure\n", ["200", "200", "200"]),
    ] {
        let server = site().config(&format!("{policy}{hosts}")).start();
        let asked = ["alias.test", "two.test", "clients.test"].map(|host| {
            let answer = curl(&server, "one.test", "one", &["-H", &format!("Host: {host}")]);
            answer.rsplit(' ').nth(1).unwrap_or_default().to_owned()
        });
        assert_eq!(asked, expected, "{policy}");
    }
}

#[test]
fn a_directory_s_suites_are_required() {
    needs_program!("/usr/bin/openssl");
    needs_program!("/usr/bin/curl");
    let more = "<Location /sec>\nSSLCipherSuite AES128-SHA:ECDHE-ECDSA-AES128-GCM-SHA256\n</Location>\n\
                <Location /never>\nSSLCipherSuite AES128-SHA\n</Location>";
    let server = started(site_with_clients().file("htdocs/never/a", "never"), more);
    let with = |path, suite| as_client(&server, path, None, &["--tls-max", "1.2", "--ciphers", suite]);
    assert_eq!(with("/sec/a", "ECDHE-ECDSA-AES128-GCM-SHA256"), "secret 200");
    assert!(with("/sec/a", "ECDHE-ECDSA-AES256-GCM-SHA384").ends_with(" 403"));
    assert!(with("/never/a", "ECDHE-ECDSA-AES128-GCM-SHA256").ends_with(" 403"));
    assert_eq!(with("/a", "ECDHE-ECDSA-AES256-GCM-SHA384"), "hello 200");
    assert_eq!(as_client(&server, "/never/a", None, &["--tlsv1.3"]), "never 200", "as mod_ssl");
    let _ = server.await_error("is not among the SSLCipherSuite of the directory");
}

#[test]
fn commands_of_openssl_hold_as_far_as_they_mean_something() {
    needs_program!("/usr/bin/openssl");
    let shaken = |command: &str, client: &[&str]| {
        let server = started(site(), &format!("SSLOpenSSLConfCmd {command}"));
        let said = handshake(&server, client);
        let cipher =
            said.lines().find_map(|line| line.split_once("Cipher is ")).map(|(_, cipher)| cipher.to_owned());
        cipher.filter(|cipher| cipher != "(NONE)")
    };
    assert_eq!(shaken("MinProtocol TLSv1.3", &["-tls1_2"]), None);
    assert!(shaken("MinProtocol TLSv1.2", &["-tls1_2"]).is_some());
    assert_eq!(shaken("MaxProtocol TLSv1.2", &["-tls1_3"]), None);
    assert_eq!(shaken("Protocol ALL,-TLSv1.2", &["-tls1_2"]), None);
    let only = "ECDHE-ECDSA-AES128-GCM-SHA256";
    assert_eq!(shaken(&format!("CipherString {only}"), &["-tls1_2"]).as_deref(), Some(only));
    let only = "TLS_CHACHA20_POLY1305_SHA256";
    assert_eq!(shaken(&format!("Ciphersuites {only}"), &["-tls1_3"]).as_deref(), Some(only));
    assert_eq!(shaken("Groups P-384", &["-groups", "X25519"]), None);
    assert!(shaken("Groups P-384", &["-groups", "X25519:P-384"]).is_some());
}
