//! The duties of all techniques to clients: those that leave, those that wait for the head of a slow response, and
//! those whose program works for long. One site has the same program in each technique.

mod flushed;
mod left;
mod silent;

use hostler_tests::{Php, Server, Site, untested};
use std::path::Path;

/// The program in each technique: it notes that it has begun in `tmp/begun`, sends its head, waits for the file `tmp/go`, and
/// notes in `tmp/ran` that it has come to its end.
const CGI: &str = r#"#!/bin/sh
echo "$QUERY_STRING" >>../tmp/begun
printf 'Content-Type: text/plain\n\n'
while [ ! -e ../tmp/go ]; do sleep 0.02; done
echo "$QUERY_STRING" >>../tmp/ran
printf 'done'
"#;

const PHP: &str = r#"<?php
$tmp = dirname(__DIR__) . '/tmp';
file_put_contents("$tmp/begun", "$_SERVER[QUERY_STRING]\n", FILE_APPEND);
header('Content-Type: text/plain');
// PHP ends a script that flushes to a client that has left, unless it ignores that (ignore_user_abort).
if ($_SERVER['QUERY_STRING'] !== 'quiet' && !is_numeric($_SERVER['QUERY_STRING'])) flush();
while (!file_exists("$tmp/go")) { clearstatcache(); usleep(20000); }
file_put_contents("$tmp/ran", "$_SERVER[QUERY_STRING]\n", FILE_APPEND);
echo 'done';
"#;

const REGISTRY: &str = r#"
my $r = shift;
sub note { my ($name, $line) = @_; open my $file, '>>', "ROOT/tmp/$name" or die $!; print {$file} "$line\n"; close $file }
my $query = $r->args // '';
note('begun', $query);
$r->content_type('text/plain');
$r->rflush if $query ne 'quiet';
select undef, undef, undef, 0.02 until -e 'ROOT/tmp/go';
note('ran', $query);
$r->print('done');
"#;

const PSGI: &str = r#"
sub note { my ($name, $line) = @_; open my $file, '>>', "ROOT/tmp/$name" or die $!; print {$file} "$line\n"; close $file }
sub {
    my $query = shift->{QUERY_STRING};
    return sub {
        my $respond = shift;
        note('begun', $query);
        my $writer = $respond->([200, ['Content-Type', 'text/plain']]);
        select undef, undef, undef, 0.02 until -e 'ROOT/tmp/go';
        note('ran', $query);
        $writer->write('done');
        $writer->close;
    };
};
"#;

const WSGI: &str = r#"
import os, time
def note(name, line):
    with open("ROOT/tmp/" + name, "a") as file:
        file.write(line + "\n")
def application(environ, start_response):
    query = environ["QUERY_STRING"]
    note("begun", query)
    start_response("200 OK", [("Content-Type", "text/plain")])
    while not os.path.exists("ROOT/tmp/go"):
        time.sleep(0.02)
    note("ran", query)
    return [b"done"]
"#;

const CONFIG: &str = r#"
LogLevel info
PHPINIDir "@ROOT@/php.ini"
<FilesMatch "\.php$">
    SetHandler application/x-httpd-php
</FilesMatch>
<Directory "@ROOT@/htdocs">
    Options +ExecCGI
    AddHandler cgi-script .cgi
</Directory>
Alias /perl/ "@ROOT@/perl/"
<Directory "@ROOT@/perl">
    Require all granted
    Options +ExecCGI
    SetHandler perl-script
    PerlResponseHandler ModPerl::Registry
</Directory>
<Location /psgi>
    SetHandler psgi
    PSGIApp "@ROOT@/app/app.psgi"
    Require all granted
</Location>
WSGIScriptAlias /wsgi "@ROOT@/app/app.wsgi"
<Directory "@ROOT@/app">
    Require all granted
</Directory>
"#;

/// A technique: its name, and its program's URL.
#[derive(Clone, Copy)]
struct Technique {
    name: &'static str,
    url: &'static str,
}

/// Those that can be tested here.
fn techniques() -> Vec<Technique> {
    let technique = |name, url| Technique { name, url };
    let mut all =
        vec![technique("cgi", "/x.cgi"), technique("registry", "/perl/x.pl"), technique("psgi", "/psgi")];
    match Php::usual() {
        Some(_) => all.push(technique("php", "/x.php")),
        None => untested("PHP is not installed (./setup.sh test)"),
    }
    match Path::new("/usr/bin/python3").exists() {
        true => all.push(technique("wsgi", "/wsgi")),
        false => untested("Python is not installed (./setup.sh test)"),
    }
    all
}

/// The site, with further lines of configuration.
fn site(config: &str) -> Site {
    let site = Site::new().dir("tmp").mode("tmp", 0o777);
    let root = site.root().display().to_string();
    let here = |text: &str| text.replace("ROOT", &root);
    site.script("htdocs/x.cgi", CGI)
        .file("htdocs/x.php", PHP)
        .file("htdocs/y.txt", "y")
        .file("perl/x.pl", here(REGISTRY))
        .file("app/app.psgi", here(PSGI))
        .file("app/app.wsgi", here(WSGI))
        .file("php.ini", "log_errors=1\ndisplay_errors=0\noutput_buffering=4096\n")
        .config(CONFIG)
        .config(config)
}

/// The lines of a file in `tmp`.
fn lines(server: &Server, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(server.site().path(&format!("tmp/{name}"))).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Lets all programs come to their end.
fn go(server: &Server) {
    std::fs::write(server.site().path("tmp/go"), "").expect("a file");
}
