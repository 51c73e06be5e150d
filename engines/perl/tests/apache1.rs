//! mod_perl 1's interface: the published examples, then each class with what programs use of it.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod front;
mod site;

use front::{Answer, code, directory, request};
use hostler_perl_frames::{Directory, Phase};
use site::{Site, file, module, scripts};
use std::fs;

/// A configuration with one handler.
fn handler(word: &str) -> Directory {
    let mut directory = directory(&[(Phase::Response, &[word])]);
    directory.location = Some("/perl".into());
    directory.vars = vec![("Name".into(), "value".into())];
    directory.allow_options = 8;
    directory
}

/// The answer of a handler's code to GET /perl/a%20b... of generation 1, with a query.
fn answer_of(program: &str) -> Answer {
    let text = format!(
        "package Test; use Apache::Constants qw(:common :http); sub handler {{ my $r = shift; {program} }} 1;"
    );
    let mut site = Site::with(1, "Test", tempfile::tempdir().unwrap(), vec![code(&text)]);
    fs::write(site.path("file.txt"), "0123456789").unwrap();
    site.get_in(&handler("Test"), "file.txt", "a=1&b=two+words&a=%33")
}

fn says(program: &str) -> String {
    let answer = answer_of(program);
    assert_eq!(answer.logs, [""; 0], "{program}");
    answer.body
}

#[test]
fn the_published_module_and_startup_file_work_as_printed() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("lib/perl/Benchmark");
    fs::create_dir_all(&folder).unwrap();
    let text = "package Benchmark::Handler;\nuse Apache::Constants qw(:common);\n\nsub handler {\n    $r = shift;\n    \
        $r->send_http_header('text/plain');\n    $r->print(\"Hello\");\n    return OK;\n}\n1;\n";
    fs::write(folder.join("Handler.pm"), text).unwrap();
    fs::create_dir_all(root.path().join("perl/benchmarks")).unwrap();
    let script = root.path().join("perl/benchmarks/registry.pl");
    site::write_script(&script, "print \"Content-type: text/plain\\n\\n\";\nprint \"Hello\";\n");
    let startup = root.path().join("startup.pl");
    let text = format!(
        "use Apache::RegistryLoader ();\nApache::RegistryLoader->new->handler(\"/perl/benchmarks/registry.pl\", \"{}\");\n1;\n",
        script.display()
    );
    fs::write(&startup, text).unwrap();
    let preload = vec![file(&startup), module("Benchmark::Handler"), module("Apache::Registry")];
    let mut site = Site::with(1, "+Apache::Registry", root, preload);
    for _ in 0..3 {
        let answer = site.get_in(&handler("Benchmark::Handler"), "x", "");
        assert_eq!((answer.status, answer.body.as_str()), (Some(200), "Hello"));
        assert_eq!(answer.content_type.as_deref(), Some("text/plain"));
        assert_eq!(site.body("benchmarks/registry.pl"), "Hello");
    }
    assert_eq!(site.worker.stderr(), "");
}

#[test]
fn its_second_generation_works_too() {
    let text = "package Benchmark::Handler; use Apache2::RequestRec (); use Apache2::RequestIO (); \
        use Apache2::Const -compile => qw(OK); sub handler { my $r = shift; $r->content_type('text/plain'); \
        $r->print('Hello'); return Apache2::Const::OK; } 1;";
    let mut site = Site::with(2, "Benchmark::Handler", tempfile::tempdir().unwrap(), vec![code(text)]);
    let answer = site.get_in(&handler("Benchmark::Handler"), "x", "");
    assert_eq!((answer.status, answer.body.as_str()), (Some(200), "Hello"));
}

#[test]
fn fields_of_a_request() {
    let body = says(
        "$r->send_http_header('text/plain'); $r->print(join '|', ref $r, $r->uri, $r->method, $r->method_number, \
         $r->protocol, $r->hostname, $r->the_request, scalar $r->args, $r->filename =~ m{/perl/file.txt$} ? 1 : 0, \
         $r->is_main ? 1 : 0, $r->is_initial_req ? 1 : 0, $r->header_only ? 1 : 0, -s $r->finfo, \
         $r->location, $r->get_server_port, $r->document_root ne ''); OK",
    );
    assert_eq!(
        body,
        "Apache|/perl/file.txt|GET|0|HTTP/1.1|a|GET /x HTTP/1.1|a=1&b=two+words&a=%33|1|1|1|0|10|/perl|80|1"
    );
}

#[test]
fn lists_tables_and_hashes() {
    assert_eq!(says("my @a = $r->args; $r->print(join '|', @a); OK"), "a|1|b|two words|a|3");
    assert_eq!(
        says(
            "my %in = $r->headers_in; my $t = $r->headers_in; $r->print(join '|', $in{Host}, ref $t, $t->{host}, \
             $t->get('HOST'), $r->header_in('host')); OK"
        ),
        "a|Apache::Table|a|a|a"
    );
    let answer = answer_of(
        "$r->header_out('X-One', 1); $r->headers_out->add('X-One', 2); $r->err_header_out('X-Two', 'e'); \
         $r->header_out('X-Gone', 1); $r->header_out('X-Gone', undef); $r->status(HTTP_CREATED); $r->content_type('a/b'); \
         $r->send_http_header; OK",
    );
    assert_eq!((answer.status, answer.content_type.as_deref()), (Some(201), Some("a/b")));
    let of = |name: &str| {
        answer.headers.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((of("X-One"), of("X-Gone")), (vec!["1", "2"], vec![]));
    assert_eq!(
        says(
            "$r->notes('k', 'v'); $r->pnotes('p', [7]); $r->subprocess_env('E', 'f'); my $n = $r->notes; \
             $r->print(join '|', $r->notes('k'), $n->{k}, $r->pnotes('p')->[0], $r->subprocess_env('E'), \
             $r->dir_config('Name'), $r->dir_config->get('Name'), $ENV{GATEWAY_INTERFACE}, $ENV{MOD_PERL} =~ m{^mod_perl/1}); OK"
        ),
        "v|v|7|f|value|value|CGI-Perl/1.1|1"
    );
}

#[test]
fn output_in_all_its_ways() {
    assert_eq!(
        says(
            "$r->print('a', \\'b', 1); print 'c'; $r->printf('%02d', 3); print STDOUT 'd'; $r->puts('e'); \
             open my $f, '<', $r->filename; $r->send_fd($f); OK"
        ),
        "ab1c03de0123456789"
    );
    let text = "package Test; sub handler { $_[0]->send_cgi_header(\"Status: 404 Nope\\nContent-type: a/b\\nX: y\\n\\nrest\"); 0 } 1;";
    let mut site = Site::with(1, "Test", tempfile::tempdir().unwrap(), vec![code(text)]);
    let answer = site.get_in(&handler("Test"), "x", "");
    assert_eq!((answer.status, answer.body.as_str()), (Some(404), "rest"));
    assert_eq!(answer.content_type.as_deref(), Some("a/b"));
}

#[test]
fn validators_conditions_and_credentials() {
    assert_eq!(
        says(
            "$r->set_content_length(3); $r->update_mtime(5); $r->set_last_modified; $r->set_etag; \
             $r->print(join '|', $r->header_out('Content-Length'), $r->header_out('Last-Modified'), \
             $r->header_out('ETag') ? 1 : 0, $r->meets_conditions); OK"
        ),
        "3|Thu, 01 Jan 1970 00:00:05 GMT|1|0"
    );
    assert_eq!(
        says(
            "$r->auth_name('x'); $r->auth_type('Basic'); $r->header_in('Authorization', 'Basic YWxpY2U6c2VjcmV0'); \
             $r->print(join '|', $r->get_basic_auth_pw, $r->connection->user); OK"
        ),
        "0|secret|alice"
    );
}

#[test]
fn servers_connections_and_the_process() {
    let body = says(
        "my $c = $r->connection; my $s = $r->server; $r->print(join '|', ref $c, $c->remote_ip, $c->user // '-', \
         ref $s, $s->port, $s->is_virtual ? 1 : 0, ref(Apache->request), Apache->request->uri, \
         Apache->can_stack_handlers, Apache->module('Apache::Constants'), Apache->module('mod_perl.c'), \
         Apache->module('Not::There'), ref Apache->server, $mod_perl::VERSION // 'none', ref Apache->gensym); OK",
    );
    assert_eq!(
        body,
        "Apache::Connection|127.0.0.1|-|Apache::Server|80|0|Apache|/perl/file.txt|1|1|1|0|Apache::Server|1.31|GLOB"
    );
    let answer = answer_of(
        "$r->log_error('e'); $r->warn('w'); Apache->log_error('s'); Apache::warn('f'); \
         $r->log_reason('why', 'file'); $r->log->error('l'); Apache->server->log->warn('sl'); OK",
    );
    let logs = answer.logs.join("\n");
    for line in ["e", "w", "s", "f", "why", "l", "sl"] {
        assert!(logs.contains(line), "{line}: {logs}");
    }
}

#[test]
fn cleanups_and_pushed_handlers_run_after_the_answer() {
    let text = "package Test; our @done; sub handler { my $r = shift; $r->print(join ',', @done); @done = (); \
        $r->register_cleanup(sub { push @done, 'cleanup' }); \
        $r->push_handlers(PerlLogHandler => sub { push @done, 'log'; 0 }); \
        $r->post_connection(sub { push @done, 'post' }); 0 } 1;";
    let mut site = Site::with(1, "Test", tempfile::tempdir().unwrap(), vec![code(text)]);
    site.get_in(&handler("Test"), "x", "");
    let body = site.get_in(&handler("Test"), "x", "").body;
    assert!(body.contains("cleanup") && body.contains("post"), "{body}");
}

#[test]
fn constants_have_their_groups_and_numbers() {
    let body = says(
        "package Other; use Apache::Constants qw(:response M_POST OPT_EXECCGI &REDIRECT); \
         $r->print(join '|', Test::OK, REDIRECT, M_POST, OPT_EXECCGI, MOVED, Apache::Constants::DECLINED, \
         Test::HTTP_NOT_FOUND, Apache::Constants::SERVER_VERSION =~ /\\w/ ? 1 : 0, \
         eval q{use Apache::Constants 'NOT_THERE'; 1} ? 1 : 0); 0",
    );
    assert_eq!(body, "0|302|2|8|301|-1|404|1|0");
}

const MULTIPART: &str = "--XyZ\r\nContent-Disposition: form-data; name=\"field\"\r\n\r\nfirst\r\n--XyZ\r\n\
    Content-Disposition: form-data; name=\"file\"; filename=\"a b.txt\"\r\nContent-Type: text/x-test\r\n\r\n\
    line\r\n\r\n--XyZ\r\nContent-Disposition: form-data; name=\"field\"\r\n\r\nsecond\r\n--XyZ--\r\n";

#[test]
fn forms_uploads_and_cookies() {
    let text = "package Test; use Apache::Request; use Apache::Cookie; sub handler { my $r = shift; \
        my $q = Apache::Request->new($r, POST_MAX => 2000); my $status = $q->parse; \
        unless ($status == 0) { $r->print($r->notes('error-notes')); return 0 } \
        my $u = $q->upload('file'); my $fh = $u && $u->fh; my $content = $fh ? join '', <$fh> : ''; \
        my %c = Apache::Cookie->fetch; \
        Apache::Cookie->new($r, -name => 'new', -value => [1, 'a b'], -path => '/')->bake; \
        $r->print(join '|', scalar $q->param('q'), join(',', $q->param('field')), join(',', $q->param), \
        $u ? ($u->filename, $u->size, $u->type, $u->info('content-type'), $u->name, $content) : '', \
        -e ($u ? $u->tempname : '/') ? 1 : 0, $c{taste}->value, join(',', $c{size}->value), $q->uri, \
        $q->parms->{field} // ''); 0 } 1;";
    let mut site = Site::with(1, "Test", tempfile::tempdir().unwrap(), vec![code(text)]);
    let place = handler("Test");
    let answer =
        site.post_in(&place, "x", "q=query", "multipart/form-data; boundary=XyZ", MULTIPART.as_bytes());
    assert_eq!(
        answer.body,
        "query|first,second|q,field,file|a b.txt|6|text/x-test|text/x-test|file|line\r\n|1|sweet sour|1,2|/perl/x|first",
        "{answer:?}"
    );
    let form = "application/x-www-form-urlencoded";
    let plain = site.post_in(&place, "x", "q=query", form, b"field=a+b&field=%26");
    assert!(plain.body.starts_with("query|a b,&|q,field||"), "{plain:?}");
    let big = site.post_in(&place, "x", "", form, &[b'x'; 3000]);
    assert!(big.body.contains("entity too large"), "{big:?}");
    let cut_off = &MULTIPART[..MULTIPART.find("line").unwrap()];
    let cut = site.post_in(&place, "x", "", "multipart/form-data; boundary=XyZ", cut_off.as_bytes());
    assert!(cut.body.contains("ends before its last boundary"), "{cut:?}");
}

#[test]
fn uploads_leave_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "package Test; use Apache::Request; sub handler {{ my $r = shift; \
         my $q = Apache::Request->new($r, POST_MAX => 2000, TEMP_DIR => '{}'); my $status = $q->parse; \
         my @there = glob '{}/*'; $r->print($status, ' ', scalar @there); 0 }} 1;",
        folder.path().display(),
        folder.path().display()
    );
    let mut site = Site::with(1, "Test", tempfile::tempdir().unwrap(), vec![code(&text)]);
    let place = handler("Test");
    let mut post =
        |body: &str| site.post_in(&place, "x", "", "multipart/form-data; boundary=XyZ", body.as_bytes());
    assert_eq!(post(MULTIPART).body, "0 1", "the upload is in the folder");
    assert_eq!(post(&MULTIPART[..MULTIPART.find("line").unwrap() + 4]).body, "400 0", "refused, and gone");
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "the whole one has gone with its request");
}

#[test]
fn escapes_dates_addresses_and_files() {
    assert_eq!(
        says(
            "use Apache::Util qw(:all); use Apache::URI; use Apache::File; my $u = Apache::URI->parse($r); \
             my $v = Apache::URI->parse($r, 'http://me:pw@host:81/p?q#f'); my ($path, $fh) = Apache::File->tmpfile; \
             print $fh 'x'; close $fh; my $file = Apache::File->new($r->filename); \
             $r->print(join '|', escape_html('<a&\"'), escape_uri('a b?'), unescape_uri_info('a+b%21'), ht_time(0), \
             parsedate('Thu, 01 Jan 1970 00:01:00 GMT'), $u->path, $v->port, $v->user, $v->unparse, -s $path, <$file>, \
             validate_password('secret', '$apr1$abcdefgh$' . 'x') ? 1 : 0); 0"
        ),
        "&lt;a&amp;&quot;|a%20b%3f|a b!|Thu, 01 Jan 1970 00:00:00 GMT|60|/perl/file.txt|81|me|http://me@host:81/p?q#f|1|0123456789|0"
    );
}

#[test]
fn what_is_not_there_dies_with_its_name() {
    let answer = answer_of("$r->send_smoke_signals; 0");
    assert_eq!(answer.outcome, "500");
    assert!(
        answer.logs[0]
            .contains("Apache::send_smoke_signals is not supported by Hostler: see docs/perl-calls.md"),
        "{answer:?}"
    );
}

#[test]
fn the_table_of_calls_is_true() {
    let body = says(
        "require Hostler::Calls; my $table = Hostler::Calls::parsed($Hostler::Calls::TABLE_1); my @wrong; \
         for my $class (sort keys %$table) { for my $call (sort keys %{ $table->{$class} }) { \
             my ($module, $supported) = @{ $table->{$class}{$call} }; \
             (my $file = \"$module.pm\") =~ s{::}{/}g; require $file; \
             push @wrong, \"$class $call\" if !$class->can($call) == $supported; \
         } } \
         $r->send_http_header('text/plain'); $r->print(\"wrong: @wrong\"); 0",
    );
    assert_eq!(body, "wrong: ");
}

#[test]
fn dispatch_turns_addresses_into_methods() {
    let text = "package Shop; sub dispatch_index { $_[1]->print('index'); 0 } sub dispatch_list { $_[1]->print(\"$_[0] list\"); 0 } \
        sub dispatch_bad { die 'bad' } sub error_dispatch { my ($c, $r, $e) = @_; $r->print(\"caught $e\"); 0 } \
        package Shop::Cart; sub dispatch_show { $_[1]->print('cart'); 0 } 1;";
    for (generation, class) in [(1, "Apache::Dispatch"), (2, "Apache2::Dispatch")] {
        let mut site = Site::with(generation, class, tempfile::tempdir().unwrap(), vec![code(text)]);
        let mut place = handler(class);
        place.vars =
            vec![("DispatchPrefix".into(), "Shop".into()), ("DispatchUpperCase".into(), "On".into())];
        for (name, outcome, body) in [
            ("", "done", "index"),
            ("list", "done", "Shop list"),
            ("cart/show", "done", "cart"),
            ("none", "declined", ""),
            ("li.st", "declined", ""),
            ("bad", "500", ""),
        ] {
            let answer = site.get_in(&place, name, "");
            assert_eq!(
                (answer.outcome.as_str(), answer.body.as_str()),
                (outcome, body),
                "{class} {name}: {answer:?}"
            );
        }
        place.vars.push(("DispatchExtras".into(), "Error".into()));
        assert!(site.get_in(&place, "bad", "").body.starts_with("caught bad"), "{class}");
    }
}

#[test]
fn stat_inc_loads_changed_modules_again() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("Changing.pm");
    fs::write(&path, "package Changing; sub word { 'old' } 1;").unwrap();
    let text = format!(
        "use lib '{}'; use Changing; package Test; sub handler {{ $_[0]->print(Changing::word()); 0 }} 1;",
        root.path().display()
    );
    let mut site = Site::with(1, "Test", root, vec![code(&text), module("Apache::StatINC")]);
    let mut place = handler("Test");
    place.handlers.push((Phase::HeaderParser, vec!["Apache::StatINC".into()]));
    assert_eq!(site.get_in(&place, "x", "").body, "old");
    fs::write(&path, "package Changing; sub word { 'new' } 1;").unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
    assert_eq!(site.get_in(&place, "x", "").body, "new");
}

#[test]
fn database_connections_are_kept_in_both_generations() {
    for generation in [1, 2] {
        let text = "eval { require Apache::DBI; require DBD::SQLite; 1 } or $main::missing = 1; package Test; sub handler { \
            my $r = shift; if ($main::missing) { $r->print('same'); return 0 } \
            my $a = DBI->connect('dbi:SQLite:dbname=:memory:', '', ''); my $b = DBI->connect('dbi:SQLite:dbname=:memory:', '', ''); \
            $r->print($a == $b ? 'same' : 'other'); 0 } 1;";
        let mut site = Site::with(generation, "Test", tempfile::tempdir().unwrap(), vec![code(text)]);
        for _ in 0..2 {
            let answer = site.get_in(&handler("Test"), "x", "");
            assert_eq!(answer.body, "same", "generation {generation}: {answer:?}");
        }
    }
}

/// Returns the output of a script after a plain-text header.
fn script_says(script: &str) -> String {
    let mut site = Site::new(1, "Apache::Registry");
    site.script("s.pl", &format!("my $r = shift; $r->send_http_header('text/plain'); {script}"));
    site.body("s.pl")
}

#[test]
fn what_is_written_counts_as_sent_at_once() {
    for write in ["syswrite STDOUT, 'x' x 300, 160, 20", "print 'x' x 160", "$r->print('x' x 160)"] {
        assert!(script_says(&format!("{write}; print '|', $r->bytes_sent")).ends_with("|160"), "{write}");
    }
}

#[test]
fn tables_are_tied_to_their_class() {
    let body = says(
        "$r->print(join '|', map { my $t = $r->$_; ref($t) . ' ' . ref(tied %$t) . ' ' . (tied(%$t)->isa('Apache::TieHashTable') ? 1 : 0) } \
         qw(headers_in headers_out err_headers_out notes subprocess_env dir_config)); \
         my $own = Apache::Table->new($r); $own->set(a => 1); $r->print('|', ref tied %$own, tied(%$own)->get('a')); OK",
    );
    assert_eq!(body, format!("{}|Apache::Table1", ["Apache::Table Apache::Table 1"; 6].join("|")));
}

#[test]
fn a_header_that_is_sent_has_a_status_line() {
    assert_eq!(
        says(
            "my $before = $r->status_line // 'none'; $r->send_http_header('a/b'); $r->print($before, '|', $r->status_line); OK"
        ),
        "none|200 OK"
    );
}

#[test]
fn times_and_lengths_default_to_the_file_s() {
    let body = says(
        "my $time = (stat $r->filename)[9]; my $first = $r->update_mtime; $r->update_mtime(5); $r->set_content_length; \
         $r->print(join '|', $first == $time, $r->mtime == $time, $r->header_out('Content-Length')); OK",
    );
    assert_eq!(body, "1|1|10");
}

#[test]
fn done_takes_handlers_away_as_undef_does() {
    let body = says(
        "my @left; for my $none (undef, DONE) { $r->set_handlers(PerlLogHandler => ['My::log']); \
         $r->set_handlers(PerlLogHandler => $none); push @left, scalar @{ $r->get_handlers('PerlLogHandler') } } \
         $r->set_handlers(PerlTransHandler => DONE); push @left, scalar @{ $r->get_handlers('PerlTransHandler') }; \
         $r->print(\"@left\"); OK",
    );
    assert_eq!(body, "0 0 0");
}

#[test]
fn cookies_have_dates_and_a_default_path() {
    let body = says(
        "use Apache::Cookie; use Apache::Request; my $c = Apache::Cookie->new($r, -name => 'n', -value => 'v'); \
         my @seen = ($c->path, $c->secure, $c->secure('off'), $c->secure(1)); $c->expires('+3h'); \
         my $http = Apache::Request->expires('-1d'); my $cookie = Apache::Cookie->expires('-1d'); \
         $r->print(join '|', @seen, $c->expires =~ /\\A\\w{3}, \\d\\d-\\w{3}-\\d{4} [\\d:]{8} GMT\\z/ ? 1 : $c->expires, \
         $cookie =~ tr/-/ /r eq $http && $http !~ /-/ ? 1 : 0, $c->as_string =~ /\\An=v; path=\\/perl\\/; expires=.*; secure\\z/ ? 1 : $c->as_string); OK",
    );
    assert_eq!(body, "/perl/|||on|1|1|1");
}

#[test]
fn scripts_that_are_loaded_before_know_their_names() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("perl")).unwrap();
    let script = root.path().join("perl/named.pl");
    site::write_script(
        &script,
        "BEGIN { $main::compiled = $0 } print join '|', $0 eq shift->filename ? 1 : $0, $main::compiled =~ /named/ ? 1 : 0;",
    );
    let load = format!(
        "use Apache::RegistryLoader (); Apache::RegistryLoader->new->handler('/perl/named.pl', '{}/perl/../perl/named.pl') == 200 or die;",
        root.path().display()
    );
    let mut site = Site::with(1, "Apache::Registry", root, vec![code(&load)]);
    site.directory.flags = 0;
    assert_eq!(site.body("named.pl"), "1|1");
}

#[test]
fn the_status_pages_show_the_interpreter() {
    let text = "use Apache::Status; Apache::Status->menu_item(mine => 'Mine', sub { my ($r, $q) = @_; ['<b>', ref $q, '</b>'] }); \
        package Shown; our ($scalar, @list) = (1, 2); sub function { 'body' }";
    let mut site = Site::with(1, "Apache::Status", tempfile::tempdir().unwrap(), vec![code(text)]);
    let mut place = scripts("Apache::Status");
    place.flags = 0;
    let mut page = |name: &str, args: &str| site.get_in(&place, name, args).body;
    let menu = page("s", "");
    assert!(menu.contains("Embedded Perl version <b>v5."), "{menu}");
    assert!(menu.contains("<a href=\"/perl/s?mine\">Mine</a>"), "{menu}");
    for (name, shown) in [
        ("mine", "<b>Apache::Request</b>"),
        ("script", "PerlRequire"),
        ("inc", "<a href=\"/perl/s?Apache::Constants\">Apache::Constants</a>"),
        ("rgysubs", "symbol table"),
        ("symdump", "<a href=\"/perl/s?Shown\">Shown</a>"),
        ("Shown", "<a href=\"/perl/Shown::function/CODE?cv_dump\">function</a>"),
        ("inh_tree", "Apache::Request\n\tApache\n"),
        ("isa_tree", "Apache\n\tApache::"),
        ("env", "REQUEST_METHOD = GET"),
        ("sig", "<pre>"),
        ("myconfig", "Summary of my perl5"),
        ("hooks", "Access"),
    ] {
        let body = page("s", name);
        assert!(body.contains(shown) && body.ends_with("</body></html>\n"), "{name}: {body}");
    }
    assert!(page("Shown::function/CODE", "cv_dump").contains("Package: Shown"));
    assert!(page("Shown::scalar/SCALAR", "data_dump").contains("is off"));
    assert_eq!(site.get_in(&place, "Shown::function/CODE", "noh_b_deparse").outcome, "404");
    place.vars = vec![("StatusOptionsAll".into(), "On".into())];
    let mut page = |name: &str, args: &str| site.get_in(&place, name, args).body;
    assert!(page("Shown::list/ARRAY", "data_dump").contains("@Shown::list"));
    assert!(page("Shown::function/CODE", "noh_b_deparse").contains("'body'"));
    assert!(page("Shown::function/CODE", "noh_b_terse").contains("Syntax Tree Dump"));
}

#[test]
fn scripts_see_the_request_as_an_object_of_their_generation() {
    let mut site = Site::new(1, "Apache::Registry");
    site.script("r.pl", "my $r = shift; $r->content_type('text/plain'); $r->send_http_header; print ref $r, ' ', ref Apache->request;");
    assert_eq!(site.body("r.pl"), "Apache Apache");
    let mut status =
        Site::with(1, "Apache::Status", tempfile::tempdir().unwrap(), vec![module("Apache::Status")]);
    let modules = status.get_in(&scripts("Apache::Status"), "s", "inc");
    assert!(modules.body.contains("Apache::Constants</a>"), "{modules:?}");
    let _ = request("perl-script");
}
