//! `hostler explain`, black box: which host a URL falls back to, who answers, and who may ask, each with its line.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const LINES: &str = "\
Listen 127.0.0.1:8080
User #64894
Group #64894
DocumentRoot ROOT/main
ServerName main.example
Alias /docs ROOT/docs
ScriptAlias /cgi ROOT/cgi
<Directory ROOT>
  Require all denied
</Directory>
<Directory ROOT/docs>
  Require all granted
  Options Indexes Includes
</Directory>
<Directory ROOT/cgi>
  Require all granted
</Directory>
<Location /docs/closed>
  Require ip 192.0.2.0/24
  Require valid-user
</Location>
<Location /status>
  SetHandler server-status
  Order deny,allow
  Deny from all
</Location>
AddHandler cgi-script .cgi
AddHandler zork .zork
AddOutputFilter INCLUDES .shtml
AddType text/html .shtml
Redirect /old http://elsewhere.example/new
<VirtualHost *:8080>
  ServerName one.example
  DocumentRoot ROOT/docs
</VirtualHost>
<VirtualHost *:8080>
  ServerName two.example
  DocumentRoot ROOT/docs
  PerlTransHandler My::Trans
  <Location /own>
    PerlHeaderParserHandler My::Parse
  </Location>
</VirtualHost>
";

/// URLs, and what is said of them.
const CASES: &[(&str, &[&str])] = &[
    (
        "http://one.example:8080/a.html",
        &["host       one.example", "answers    the file itself, as text/html\n"],
    ),
    (
        "http://none.example:8080/",
        &["is none.example: the first virtual host there answers", "host       one.example"],
    ),
    ("http://two.example:8081/", &["no Listen has port 8081 (there is 8080)"]),
    ("https://two.example:8080/", &["does not speak TLS"]),
    ("/docs/a.shtml", &["a path alone", "with its server-side includes"]),
    ("/docs/a.html", &["access     granted to everybody: Require all granted (httpd.conf:12)"]),
    (
        "http://two.example:8080/own/x",
        &[
            "access     granted to everybody: Require all granted (httpd.conf:12)\n",
            "but PerlTransHandler My::Trans is called before and may add rules of its own\n",
            "but PerlHeaderParserHandler My::Parse is called before and may add rules of its own\n",
        ],
    ),
    ("/x.html", &["access     denied to everybody: Require all denied (httpd.conf:9)"]),
    (
        "/docs/closed/",
        &[
            "access     depends on the request: Require ip 192.0.2.0/24 (httpd.conf:19), Require valid-user (httpd.conf:20)",
        ],
    ),
    (
        "/status",
        &[
            "answers    Hostler itself (handler server-status, by SetHandler server-status, httpd.conf:23)",
            "denied to everybody: Order deny,allow (httpd.conf:24), Deny from all (httpd.conf:25)",
        ],
    ),
    ("/cgi/run", &["a CGI program, started for each request (handler cgi-script)\n"]),
    ("/cgi/not", &["not executable"]),
    (
        "/docs/a.cgi",
        &[
            "403: a CGI program where Options has no ExecCGI (handler cgi-script, by AddHandler cgi-script .cgi, httpd.conf:27)",
        ],
    ),
    ("/docs/a.zork", &["nobody (500): Hostler has no such handler (handler zork"]),
    ("/docs/none", &["404"]),
    ("/docs/a.html/more", &["404"]),
    ("/docs/sub/", &["a listing"]),
    ("/docs/sub", &["a redirect (301) to /docs/sub/"]),
    ("/docs/dir/", &["its index index.html: the file itself, as text/html"]),
    ("/old/x", &["a redirect (302) to http://elsewhere.example/new/x"]),
];

/// Returns the explanation of a URL.
fn explain(root: &std::path::Path, url: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hostler"));
    let output = command.arg("explain").arg("-f").arg(root.join("httpd.conf")).arg(url).output().unwrap();
    assert!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).replace(&format!("{}/", root.display()), "")
}

#[test]
fn host_answer_and_access_are_told_with_their_lines() {
    let root = tempfile::tempdir().unwrap();
    let put = |name: &str| {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    };
    [
        "main/x.html",
        "docs/a.html",
        "docs/a.shtml",
        "docs/a.cgi",
        "docs/a.zork",
        "docs/sub/b.txt",
        "docs/dir/index.html",
        "cgi/run",
        "cgi/not",
    ]
    .into_iter()
    .for_each(put);
    fs::set_permissions(root.path().join("cgi/run"), fs::Permissions::from_mode(0o755)).unwrap();
    let lines = LINES.replace("ROOT", root.path().to_str().unwrap());
    fs::write(root.path().join("httpd.conf"), lines).unwrap();
    for (url, told) in CASES {
        let said = explain(root.path(), url);
        for told in *told {
            assert!(said.contains(told), "{url}: {told:?} is not in\n{said}");
        }
    }
}

/// As for requests: a virtual host that says nothing of rewriting has none of the main server's maps.
#[test]
fn maps_of_the_main_server_are_not_a_virtual_host_s() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(root.join("v")).unwrap();
    fs::write(root.join("map"), "k found\n").unwrap();
    let lines = "Listen 127.0.0.1:8080\nUser #64894\nGroup #64894\nServerName main.example\nDocumentRoot ROOT/v\n\
                 RewriteEngine on\nRewriteMap m txt:ROOT/map\n\
                 <Directory ROOT/v>\nOptions FollowSymLinks\nRequire all granted\nRewriteEngine on\n\
                 RewriteRule ^x$ /${m:k|nothing}\n</Directory>\n\
                 <VirtualHost *:8080>\nServerName v.example\n</VirtualHost>\n\
                 <VirtualHost *:8080>\nServerName w.example\nRewriteMap m txt:ROOT/map\n</VirtualHost>\n";
    fs::write(root.join("httpd.conf"), lines.replace("ROOT", root.to_str().unwrap())).unwrap();
    let with_its_own = explain(root, "http://w.example:8080/x");
    assert!(with_its_own.contains("/found"), "{with_its_own}");
    let of_host = explain(root, "http://v.example:8080/x");
    assert!(of_host.contains("/nothing") && !of_host.contains("/found"), "{of_host}");
}

/// Neither needs a folder of the virtual host's.
#[test]
fn applications_in_python_and_servlets_answer_without_a_document_root() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(root.join("hello.wsgi"), "").unwrap();
    fs::create_dir_all(root.join("shop/WEB-INF")).unwrap();
    let lines = "Listen 127.0.0.1:8080\nUser #64894\nGroup #64894\nServerName main.example\n\
                 WSGIScriptAlias /w ROOT/hello.wsgi\nWSGIScriptAliasMatch ^/m/[a-z]+ ROOT/hello.wsgi\n\
                 WSGIHandlerScript own ROOT/hello.wsgi\nAlias /own ROOT\n<Location /own>\nSetHandler own\n</Location>\n\
                 ServletApp /shop ROOT/shop\n<Directory ROOT>\nRequire all granted\n</Directory>\n";
    fs::write(root.join("httpd.conf"), lines.replace("ROOT", root.to_str().unwrap())).unwrap();
    for (url, told) in [
        ("/w/more", "technique  wsgi"),
        ("/w/more", "by WSGIScriptAlias /w"),
        ("/w/more", "path info  /more"),
        ("/m/abc", "technique  wsgi"),
        ("/own", "handle_request of"),
        ("/shop/x", "technique  servlet"),
    ] {
        let said = explain(root, url);
        assert!(said.contains(told), "{url}: {told:?} is not in\n{said}");
    }
}
