//! Applications and modules of Debian's, unmodified, on the engine's interface: HTML::Mason serving a small site,
//! Apache::DBI, Apache2::Reload, Apache2::Status, and Debian's own ModPerl::Registry classes.

use hostler_tests::{SITE_UID, Server, Site, is_root, needs_program};
use std::time::Duration;

/// As Mason's administrator's manual prints it.
const MASON: &str = r#"
PerlModule HTML::Mason::ApacheHandler
PerlSetVar MasonCompRoot "@ROOT@/htdocs"
PerlSetVar MasonDataDir "@ROOT@/mason"
<LocationMatch "(\.html|\.txt|\.pl)$">
    SetHandler perl-script
    PerlHandler HTML::Mason::ApacheHandler
</LocationMatch>
<LocationMatch "^/news/">
    SetHandler perl-script
    PerlHandler HTML::Mason::ApacheHandler
</LocationMatch>
<LocationMatch "(\.m(html|txt|pl)|dhandler|autohandler)$">
    SetHandler perl-script
    PerlInitHandler Apache2::Const::NOT_FOUND
</LocationMatch>
"#;

const AUTOHANDLER: &str = "<html><head><title><& SELF:title &></title></head><body>\n% $m->call_next;\n<& /foot.mhtml, year => 2024 &>\
    </body></html>\n<%method title>A small site</%method>\n<%flags>\ninherit => undef\n</%flags>\n";
const INDEX: &str = "<h1>Welcome, <% $name |h %></h1>\n% for my $i (1 .. $times) {\n<p>line <% $i %></p>\n% }\n<%args>\n$name => 'guest'\n\
    $times => 2\n</%args>\n<%method title>Start</%method>\n<%init>\n$r->headers_out->set('X-Mason' => 'yes');\n</%init>\n";
const FORM: &str = "<%args>\n@colour => ()\n$text => ''\n</%args>\n% if ($text eq 'away') {\n%   $m->redirect('/index.html');\n% }\n\
    <form method=\"post\"><p><% scalar @colour %>: <% join '+', @colour |h %></p><p><% $text |h %></p></form>\n";
const DHANDLER: &str = "<h1>News <% $m->dhandler_arg |h %></h1>\n<%init>\n$m->clear_buffer, $m->abort(404) if $m->dhandler_arg eq 'none';\n\
    </%init>\n";

/// A site that its user owns: Mason writes the components that it has compiled.
fn site(user: u32) -> Site {
    let site = Site::new().dir("mason").dir("lib");
    if is_root() { site.owner("mason", user).owner("htdocs", user).owner("lib", user) } else { site }
}

fn mason() -> Server {
    let site = site(SITE_UID).file("htdocs/autohandler", AUTOHANDLER).file("htdocs/index.html", INDEX);
    let site = site.file("htdocs/form.html", FORM).file("htdocs/news/dhandler", DHANDLER);
    let site = site.file("htdocs/foot.mhtml", "<p>&copy; <% $ARGS{year} %></p>\n");
    let site =
        site.file("htdocs/broken.html", "<% this is ( no perl %>\n").file("htdocs/plain.css", "p {}\n");
    site.file("htdocs/said.txt", "% $r->content_type('text/plain');\nsaid <% $m->request_comp->name %>\n")
        .config(MASON)
        .start()
}

fn post(server: &Server, target: &str, form: &str) -> hostler_tests::Response {
    let fields =
        "Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\nHost: localhost\r\n";
    server.request(
        format!("POST {target} HTTP/1.1\r\n{fields}Content-Length: {}\r\n\r\n{form}", form.len()).as_bytes(),
    )
}

#[test]
fn mason_serves_a_small_site() {
    needs_program!("/usr/share/perl5/HTML/Mason/ApacheHandler.pm");
    let server = mason();
    let start = server.get("/index.html");
    assert_eq!(
        (start.status, start.field("X-Mason")),
        (200, Some("yes")),
        "{}{}",
        start.text(),
        server.error_log()
    );
    for part in ["<title>Start</title>", "Welcome, guest", "<p>line 2</p>", "&copy; 2024"] {
        assert!(start.text().contains(part), "{part}: {}", start.text());
    }
    let named = server.get("/index.html?name=%3Canna%3E&times=3").text();
    assert!(named.contains("Welcome, &lt;anna&gt;") && named.contains("line 3"), "{named}");
    assert!(server.get("/news/2024/may").text().contains("News 2024/may"));
    assert_eq!(server.get("/news/none").status, 404);
    assert_eq!(server.get("/plain.css").text(), "p {}\n");
    assert_eq!(server.get("/none.html").status, 404);
    assert!(server.site().path("mason/obj").exists(), "what is compiled is kept");
}

#[test]
fn mason_reads_forms_and_redirects() {
    needs_program!("/usr/share/perl5/HTML/Mason/ApacheHandler.pm");
    let server = mason();
    let form = post(&server, "/form.html?colour=red", "colour=green&text=a+%26+b").text();
    assert!(form.contains("2: ") && form.contains("green") && form.contains("<p>a &amp; b</p>"), "{form}");
    let away = post(&server, "/form.html", "text=away");
    assert_eq!((away.status, away.field("Location")), (302, Some("/index.html")));
    let said = server.get("/said.txt");
    assert!(said.field("Content-Type").is_some_and(|of| of.starts_with("text/plain")), "{said:?}");
    assert!(said.text().contains("said said.txt"), "{}", said.text());
}

#[test]
fn a_changed_component_is_seen_and_a_broken_one_says_why() {
    needs_program!("/usr/share/perl5/HTML/Mason/ApacheHandler.pm");
    let server = mason();
    // Mason's own way (MasonErrorMode output): a page that shows the error.
    let broken = server.get("/broken.html").text();
    assert!(broken.contains("syntax error") && broken.contains("broken.html"), "{broken}");
    assert_eq!(server.get("/index.html").status, 200);
    // Time: Mason goes by the second in which a file was written.
    std::thread::sleep(Duration::from_millis(1100));
    std::fs::write(server.site().path("htdocs/index.html"), "<p>rewritten</p>\n").expect("the component");
    assert!(server.get("/index.html").text().contains("rewritten"));
}

/// A handler that uses whatever `code` says and prints what it returns.
fn module(code: &str) -> String {
    format!(
        "package T;\nuse strict; use warnings;\nuse Apache2::RequestRec (); use Apache2::RequestIO ();\n\
         sub handler {{ my $r = shift; $r->content_type('text/plain'); $r->print(answer($r)); 0 }}\n{code}\n1;\n"
    )
}

const TALKS: &str = "<Location /t>\nSetHandler modperl\nPerlResponseHandler T\n</Location>\nMaxRequestWorkers 1\n\
    PerlSwitches -I@ROOT@/lib\n";

#[test]
fn apache_dbi_keeps_a_connection() {
    needs_program!("/usr/share/perl5/Apache/DBI.pm");
    let code = "use DBI ();\nmy @seen;\nsub answer {\n  my $db = DBI->connect('dbi:SQLite:dbname=@ROOT@/mason/t.db', '', '', \
        { RaiseError => 1, AutoCommit => 1 });\n  $db->do('create table if not exists t (n)');\n  $db->do('insert into t values (1)');\n\
        my ($n) = $db->selectrow_array('select count(*) from t');\n  push @seen, $db; $db->disconnect;\n\
        join ' ', $n, $db->{Active} ? 'open' : 'closed', (grep { $_ == $db } @seen) . '' , $$ }";
    let site = site(SITE_UID);
    let code = module(code).replace("@ROOT@", &site.root().to_string_lossy());
    let server = site
        .file("lib/T.pm", code)
        .config("PerlModule Apache::DBI")
        .config(TALKS)
        .config("PerlModule T")
        .start();
    let texts: Vec<String> = (0..3).map(|_| server.get("/t").text()).collect();
    for (index, text) in texts.iter().enumerate() {
        let n = index + 1;
        assert!(text.starts_with(&format!("{n} open {n} ")), "{texts:?}\n{}", server.error_log());
    }
}

#[test]
fn reload_takes_a_changed_module() {
    needs_program!("/usr/share/perl5/Apache2/Reload.pm");
    let site = site(SITE_UID).file("lib/Said.pm", "package Said; sub what { 'first' } 1;\n");
    let site = site.file("lib/T.pm", module("use Said ();\nsub answer { Said::what() }"));
    let reload = "PerlModule Apache2::Reload\nPerlInitHandler Apache2::Reload\nPerlSetVar ReloadAll Off\nPerlSetVar ReloadModules \"Said\"";
    let server = site.config(TALKS).config("PerlModule T").config(reload).start();
    assert_eq!(server.get("/t").text(), "first", "{}", server.error_log());
    // Time: Apache2::Reload goes by the second in which a file was written.
    std::thread::sleep(Duration::from_millis(1100));
    std::fs::write(server.site().path("lib/Said.pm"), "package Said; sub what { 'second' } 1;\n")
        .expect("the module");
    assert_eq!(server.get("/t").text(), "second", "{}", server.error_log());
}

#[test]
fn the_status_page_of_perl_tells_of_the_worker() {
    needs_program!("/usr/lib/x86_64-linux-gnu/perl5/5.36/Apache2/Status.pm");
    let location =
        "<Location /perl-status>\nSetHandler modperl\nPerlResponseHandler Apache2::Status\n</Location>";
    let server = Site::new().config("PerlModule Apache2::Status").config(location).start();
    let menu = server.get("/perl-status");
    assert_eq!(menu.status, 200, "{}", server.error_log());
    assert!(menu.text().contains("Loaded Modules") && menu.text().contains("process"), "{}", menu.text());
    for (page, part) in [("inc", "Apache2/Status.pm"), ("env", "MOD_PERL"), ("sig", "PIPE"), ("rgysubs", "<")]
    {
        let answer = server.get(&format!("/perl-status?{page}"));
        assert!(answer.status == 200 && answer.text().contains(part), "{page}: {}", answer.text());
    }
}

/// Loads Debian's files in the place of ours.
const DEBIANS: &str = r#"
for my $name (qw(RegistryCooker Registry RegistryBB PerlRun)) {
    my $path = "/usr/lib/x86_64-linux-gnu/perl5/5.36/ModPerl/$name.pm";
    $INC{"ModPerl/$name.pm"} = $path;
    do $path or die $@ || "$path: $!";
}
1;
"#;

#[test]
fn debians_own_registry_runs_scripts() {
    needs_program!("/usr/lib/x86_64-linux-gnu/perl5/5.36/ModPerl/RegistryCooker.pm");
    let mut config = String::from("MaxRequestWorkers 1\nPerlRequire \"@ROOT@/lib/startup.pl\"\n");
    for (name, class) in [("registry", "Registry"), ("bb", "RegistryBB"), ("run", "PerlRun")] {
        config.push_str(&format!(
            "Alias /{name}/ \"@ROOT@/perl/\"\n<Location /{name}>\nSetHandler perl-script\nPerlResponseHandler ModPerl::{class}\n\
             PerlOptions +ParseHeaders\n</Location>\n"
        ));
    }
    config.push_str("<Directory \"@ROOT@/perl\">\nRequire all granted\nOptions +ExecCGI\n</Directory>\n");
    let print = "print \"Content-type: text/plain\\n\\n\";\n";
    let site = Site::new().file("lib/startup.pl", DEBIANS).config(&config);
    let site = site.script(
        "perl/count.pl",
        format!("{print}our $n; print ++$n, ' ', __PACKAGE__ =~ /(\\w+)::[^:]*_perl_/;\n"),
    );
    let site = site.script("perl/exit.pl", format!("{print}print 'before'; exit; print 'after';\n"));
    let server = site.script("perl/dies.pl", "die 'a reason';\n").start();
    let counts = |name: &str| {
        (0..3).map(|_| server.get(&format!("/{name}/count.pl")).text()).collect::<Vec<_>>().join(",")
    };
    let from = |name: &str| server.get(&format!("/{name}/exit.pl")).text();
    for name in ["registry", "bb", "run"] {
        let expected = if name == "run" { "1,1,1" } else { "1,2,3" };
        let got = counts(name);
        let numbers: Vec<&str> = got.split(',').filter_map(|text| text.split(' ').next()).collect();
        assert_eq!(numbers.join(","), expected, "{name}: {got}\n{}", server.error_log());
        assert_eq!(from(name), "before", "{name}");
        assert_eq!(server.get(&format!("/{name}/dies.pl")).status, 500, "{name}");
        assert_eq!(server.get(&format!("/{name}/none.pl")).status, 404, "{name}");
    }
    let _ = server.await_error("a reason");
}
