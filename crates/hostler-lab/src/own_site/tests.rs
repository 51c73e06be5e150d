//! Pages of a configuration, served in each way by the servers that are installed.

use super::*;
use crate::load::Target;
use crate::load::tls::server::certificate;
use crate::method::ask;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

const SCRIPT: &str = "#!/usr/bin/perl\nprint \"Content-type: \
                      text/plain\\n\\nHello\\n\";\nprint STDERR \"by \", $ENV{MOD_PERL} ? 'mod_perl' : 'CGI', \"\\n\";\n";
const HANDLER: &str = "package Hi; use Apache2::RequestRec (); use Apache2::RequestIO ();\nuse Apache2::Const \
                       -compile => 'OK';\nsub handler { my $r = shift; $r->content_type('text/plain'); \
                       $r->print(\"Hi\\n\"); Apache2::Const::OK }\n1;\n";
const APPLICATION: &str = "sub { my $env = shift; [200, ['Content-Type' => 'text/plain', 'Content-Length' => 7], \
                           [\"$env->{SCRIPT_NAME}$env->{PATH_INFO}\\n\"]] }\n";
const MAIN: &str = "Listen 1\nServerName main.example\nInclude conf.d/*.conf\nDocumentRoot htdocs\nErrorLog \
                    logs/error_log\nCustomLog logs/access_log \"%h\"\nScriptAlias /cgi/ \"@ROOT@/cgi/\"\n\
                    <Directory \"@ROOT@\">\nRequire all granted\nOptions +Includes +ExecCGI\nAddOutputFilter INCLUDES \
                    .shtml\n</Directory>\n";
const MORE: &str = "PerlSwitches -I@ROOT@/lib\nAlias /perl/ \"@ROOT@/cgi/\"\n<Location /perl>\nSetHandler \
                    perl-script\nPerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n</Location>\n\
                    <Location /hi>\nSetHandler modperl\nPerlResponseHandler Hi\n</Location>\n<VirtualHost *:8080>\n\
                    ServerName www.example\nDocumentRoot htdocs\n<Location /p>\nSetHandler psgi\nPSGIApp \
                    @ROOT@/app.psgi\n</Location>\n</VirtualHost>\n";

fn site() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let root = folder.path().to_string_lossy().into_owned();
    for (name, text) in [
        ("htdocs/page.txt", "A page\n"),
        ("htdocs/page.shtml", "<!--#echo var=\"DOCUMENT_NAME\" -->\n"),
        ("cgi/hello.pl", SCRIPT),
        ("cgi/hello.sh", "#!/bin/sh\nprintf 'Content-type: text/plain\\n\\nHello\\n'\n"),
        ("lib/Hi.pm", HANDLER),
        ("app.psgi", APPLICATION),
        ("conf.d/more.conf", MORE),
        ("httpd.conf", MAIN),
    ] {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text.replace("@ROOT@", &root)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// The bodies that each way answers, for those that can take part.
fn answers(site: &TempDir, url: &str) -> BTreeMap<String, String> {
    let wanted = PageChoice {
        file: site.path().join("httpd.conf"),
        defines: Vec::new(),
        url: url.to_owned(),
        clients: None,
    };
    let mut servers = OwnServers::new(&wanted, None).unwrap();
    let scenario = servers.scenario(&wanted);
    let case = &scenario.cases[0];
    let mut answers = BTreeMap::new();
    for server in servers.known() {
        if let Some(why) = server.unavailable {
            hostler_untested::untested(format!("{url}: {}: {why}", server.name));
            continue;
        }
        let folder = site.path().join("run").join(&server.name);
        let running = servers.start(&server.name, case, &folder).unwrap();
        let target = Target {
            address: running.address(),
            host: case.hosts[0].clone(),
            hosts: Vec::new(),
            path: case.path.clone(),
            form: None,
            expected_length: None,
            tls: case.tls,
        };
        let answer = ask(&target, &case.hosts[0]).unwrap();
        answers.insert(server.name, String::from_utf8_lossy(&answer.body).into_owned());
    }
    answers
}

fn all_say(answers: &BTreeMap<String, String>, text: &str, ways: &[&str]) {
    assert!(answers.values().all(|body| body == text), "{answers:?}");
    for way in ways {
        assert!(answers.contains_key(*way), "no {way} in {answers:?}");
    }
}

fn is_hostler_here() -> bool {
    let here = crate::contestant::hostler().is_some();
    if !here {
        hostler_untested::untested("hostler is not built");
    }
    here
}

#[test]
fn a_perl_script_is_served_as_cgi_and_under_registry() {
    if !is_hostler_here() {
        return;
    }
    let site = site();
    let ways = ["hostler-registry", "hostler-registry-fork", "hostler-cgi-fork", "hostler-cgi-exec"];
    all_say(&answers(&site, "/cgi/hello.pl"), "Hello\n", &ways);
    all_say(&answers(&site, "/perl/hello.pl"), "Hello\n", &ways);
    assert!(!site.path().join("logs").exists(), "the user's own logs are left alone");
}

#[test]
fn a_program_a_handler_and_an_application_have_their_ways() {
    if !is_hostler_here() {
        return;
    }
    let site = site();
    all_say(&answers(&site, "/cgi/hello.sh"), "Hello\n", &["hostler-cgi-exec"]);
    all_say(&answers(&site, "/hi"), "Hi\n", &["hostler-persistent", "hostler-fork"]);
    all_say(&answers(&site, "http://www.example:8080/p/abc"), "/p/abc\n", &["hostler-persistent"]);
}

/// Adds a file to a site's configuration, and its program.
fn with(configuration: &str, program: (&str, &str)) -> TempDir {
    let site = site();
    let root = site.path().to_string_lossy().into_owned();
    fs::write(site.path().join("conf.d/own.conf"), configuration.replace("@ROOT@", &root)).unwrap();
    let file = site.path().join(program.0);
    fs::write(&file, program.1).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    site
}

#[test]
fn php_python_and_fastcgi_have_their_ways() {
    if !is_hostler_here() {
        return;
    }
    let php = "<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n";
    let text = "<?php header('Content-Type: text/plain'); echo \"Hello\\n\";\n";
    if Path::new("/usr/lib/libphp8.2.so").exists() {
        let site = with(php, ("htdocs/page.php", text));
        all_say(&answers(&site, "/page.php"), "Hello\n", &["hostler-php", "hostler-php-fork"]);
    } else {
        hostler_untested::untested("PHP's library is not installed");
    }
    let application = "def application(environ, start):\n    start('200 OK', [('Content-Type', 'text/plain')])\n    \
                       return [b'Hello\\n']\n";
    let site = with("WSGIScriptAlias /w @ROOT@/hello.wsgi\n", ("hello.wsgi", application));
    all_say(&answers(&site, "/w"), "Hello\n", &["hostler-wsgi", "hostler-wsgi-fork"]);
    let program = "#!/usr/bin/perl\nuse FCGI;\nmy $request = FCGI::Request();\nwhile ($request->Accept() >= 0) \
                   {\n  print \"Content-Type: text/plain\\n\\nHello\\n\";\n}\n";
    let folder = "<Directory @ROOT@/htdocs>\nOptions +ExecCGI\nAddHandler fcgid-script .fcgi\n</Directory>\n";
    let site = with(folder, ("htdocs/hello.fcgi", program));
    all_say(&answers(&site, "/hello.fcgi"), "Hello\n", &["hostler-fastcgi"]);
}

#[test]
fn files_are_served_by_all() {
    if !is_hostler_here() {
        return;
    }
    let site = site();
    all_say(&answers(&site, "/page.txt"), "A page\n", &["hostler"]);
    all_say(&answers(&site, "/page.shtml"), "page.shtml\n", &["hostler"]);
}

#[test]
fn a_page_is_asked_through_tls_where_its_host_speaks_that() {
    let site = site();
    if !is_hostler_here() || !certificate(site.path()) {
        return;
    }
    let host = "<VirtualHost *:8443>\nServerName www.example\nDocumentRoot htdocs\nSSLEngine on\n\
                SSLCertificateFile cert.pem\nSSLCertificateKeyFile key.pem\n</VirtualHost>\n";
    fs::write(site.path().join("conf.d/tls.conf"), host).unwrap();
    let answers = answers(&site, "https://www.example:8443/page.txt");
    all_say(&answers, "A page\n", &["hostler"]);
    assert!(!answers.contains_key("nginx"), "{answers:?}");
}

#[test]
fn a_configuration_that_cannot_be_read_is_an_error() {
    if !is_hostler_here() {
        return;
    }
    let wanted = PageChoice {
        file: "/no/such/file.conf".into(),
        defines: Vec::new(),
        url: "/".to_owned(),
        clients: None,
    };
    assert!(format!("{:#}", OwnServers::new(&wanted, None).unwrap_err()).contains("/no/such/file.conf"));
}
