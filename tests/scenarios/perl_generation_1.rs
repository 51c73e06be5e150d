//! mod_perl 1 from outside, by its documentation: what its programs rely on beside the request's own fields.

use hostler_tests::{Response, Server, Site};

const MODULE: &str = r#"package One;
use strict;
our $STARTING; BEGIN { $STARTING = $Apache::Server::Starting }
use Apache (); use Apache::Constants qw(:common); use Apache::Request (); use Apache::Cookie (); use Apache::Table ();
use Socket ();
sub handler { my $r = shift; my ($name) = $r->uri =~ m{/(\w+)$}; no strict 'refs'; return &{"t_$name"}($r) }
sub lines { my ($r, @all) = @_; $r->send_http_header('text/plain'); $r->print(join '|', map { $_ // 'undef' } @all); OK }
sub nobody { OK }
sub raw { print "HTTP/1.0 203 Raw\r\nContent-Type: text/plain\r\nX-Raw: yes\r\n\r\nraw body\n"; OK }
sub t_starting { lines($_[0], $STARTING, $Apache::Server::Starting) }
sub t_addresses {
    my ($r, $c) = ($_[0], $_[0]->connection);
    my @found = map { my ($port, $ip) = Socket::sockaddr_in($_); $port > 0 ? Socket::inet_ntoa($ip) : 'none' }
        $c->remote_addr, $c->local_addr;
    lines($r, @found);
}
sub t_tied { my $r = shift; my $t = Apache::Table->new($r); tie my %h, 'Apache::Table', $t; $h{a} = 1; lines($r, $t->{a}, exists $h{A} ? 1 : 0) }
sub t_custom {
    my $r = shift;
    my @said = scalar $r->custom_response(404);
    $r->custom_response(404, '/mine');
    push @said, scalar $r->custom_response(404);
    $r->custom_response(404, undef);
    lines($r, @said, scalar $r->custom_response(404));
}
sub t_handlers { my $r = shift; my @none = $r->get_handlers('PerlLogHandler'); lines($r, scalar @none, scalar @{ $r->get_handlers('PerlHandler') }) }
sub t_syswrite {
    my $r = shift;
    $r->send_http_header('text/plain');
    print 'one,';
    my @n = (syswrite(STDOUT, 'two,'), syswrite(STDOUT, 'xthreex', 5, 1), syswrite(STDOUT, '-four', 9, -4));
    print ',', join ',', @n;
    OK;
}
sub t_cookie { my $r = shift; lines($r, Apache::Cookie->new($r, -name => 'n', -values => ['a', 'b'])->as_string) }
sub t_upload {
    my $r = Apache::Request->new($_[0]);
    my $upload = $r->upload('f');
    my $first = $upload->fh; my @lines = <$first>; close $first;
    my $second = $upload->fh; my @again = <$second>;
    lines($_[0], scalar @lines, scalar @again, $upload->size);
}
sub whoever { my $r = shift; my $user = $r->header_in('X-User') or return AUTH_REQUIRED; $r->connection->user($user); OK }
sub knows {
    my $r = shift;
    for (@{ $r->requires }) {
        my ($word, @list) = split ' ', $_->{requirement};
        return OK if $word eq 'dwarf' && grep { $_ eq $r->connection->user } @list;
    }
    return $r->header_in('X-Unsure') ? DECLINED : FORBIDDEN;
}
sub t_user { lines($_[0], $_[0]->connection->user) }
sub t_parsed {
    my $r = shift;
    my $u = $r->parsed_uri;
    $u->query('c=d');
    lines($r, $u->path, $u->hostname, $u->unparse, $r->parsed_uri->query,
        Apache::URI->parse($r, 'http://me:word@a.example:81/x?y#z')->unparse);
}
sub t_named {
    my $r = shift;
    lines($r, $r->current_callback, $r->server->timeout, Apache::perl_hook('Trans'), Apache::perl_hook('Nonsense'),
        length(Apache::Constants::SERVER_BUILT()) > 10 ? 1 : 0);
}
sub t_looks_raw { my $r = shift; $r->send_http_header('text/plain'); $r->print("HTTP/1.0 200 is only text"); OK }
1;
"#;

fn server() -> Server {
    let config = "PerlApiVersion 1\nPerlSetEnv PERL5LIB lib\nPerlRequire startup.pl\nPerlModule One\n\
        <Location /m>\nSetHandler perl-script\nPerlHandler One\n</Location>\n\
        <Location /raw>\nSetHandler perl-script\nPerlHandler One::raw\nPerlSendHeader Off\n</Location>\n\
        <Location /closed>\nSetHandler perl-script\nPerlHandler One\nPerlAuthenHandler One::nobody\nAuthType Basic\n\
        AuthName x\nRequire valid-user\n</Location>\n\
        <Location /closed/anna>\nRequire user anna\n</Location>\n\
        <Location /dwarfs>\nSetHandler perl-script\nPerlHandler One\nPerlAuthenHandler One::whoever\n\
        PerlAuthzHandler One::knows\nAuthType Basic\nAuthName x\nRequire dwarf doc grumpy\n</Location>\n";
    let site = Site::new().file("lib/One.pm", MODULE);
    let startup = format!("use lib '{}'; 1;\n", site.path("lib").display());
    site.file("startup.pl", startup).config(config).start()
}

fn says(server: &Server, path: &str) -> String {
    let answer: Response = server.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", server.error_log());
    answer.text()
}

#[test]
fn what_is_loaded_at_the_start_sees_that_it_is() {
    assert_eq!(says(&server(), "/m/starting"), "1|0");
}

#[test]
fn addresses_are_those_of_the_system_s_calls() {
    assert_eq!(says(&server(), "/m/addresses"), "127.0.0.1|127.0.0.1");
}

#[test]
fn a_hash_can_be_tied_to_a_table() {
    assert_eq!(says(&server(), "/m/tied"), "1|1");
}

#[test]
fn custom_responses_are_told_and_taken_back() {
    assert_eq!(says(&server(), "/m/custom"), "undef|/mine|undef");
}

#[test]
fn a_uri_is_as_it_was_sent_and_passwords_are_not_shown() {
    let text = says(&server(), "/m/parsed?a=b");
    assert_eq!(text, "/m/parsed|undef|/m/parsed?c=d|c=d|http://me@a.example:81/x?y#z");
}

#[test]
fn names_and_numbers_are_generation_1_s() {
    assert_eq!(says(&server(), "/m/named"), "PerlHandler|60|1|0|1");
}

#[test]
fn no_handlers_are_an_empty_list() {
    assert_eq!(says(&server(), "/m/handlers"), "0|1");
}

#[test]
fn syswrite_writes_as_print_does() {
    assert_eq!(says(&server(), "/m/syswrite"), "one,two,threefour,4,5,4");
}

#[test]
fn a_cookie_has_values() {
    assert_eq!(says(&server(), "/m/cookie"), "n=a&b; path=/");
}

#[test]
fn an_upload_can_be_read_again_after_its_handle_was_closed() {
    let body = "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\n\r\nline 1\r\nline 2\r\n--B--\r\n";
    let server = server();
    let request = format!(
        "POST /m/upload HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: multipart/form-data; \
         boundary=B\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(server.request(request.as_bytes()).text(), "2|2|14");
}

#[test]
fn a_program_may_make_the_whole_answer() {
    let server = server();
    let answer = server.get("/raw");
    assert_eq!(
        (answer.status, answer.field("X-Raw"), answer.text()),
        (203, Some("yes"), "raw body\n".into())
    );
    assert_eq!(says(&server, "/m/looks_raw"), "HTTP/1.0 200 is only text");
}

#[test]
fn a_requirement_is_what_an_authz_handler_makes_of_it() {
    let server = server();
    let status =
        |fields: &str| server.get_with("/dwarfs/user", &format!("Host: localhost\r\n{fields}")).status;
    assert_eq!(status(""), 401);
    assert_eq!(server.get_with("/dwarfs/user", "Host: localhost\r\nX-User: doc\r\n").text(), "doc");
    assert_eq!(status("X-User: anna\r\n"), 403);
    assert_eq!(status("X-User: anna\r\nX-Unsure: 1\r\n"), 401, "by itself it lets nobody pass");
}

#[test]
fn an_authen_handler_may_let_somebody_in_without_a_name() {
    let server = server();
    assert_eq!(says(&server, "/closed/user"), "");
    assert_eq!(server.get("/closed/anna").status, 401, "a name that is asked for is nobody's");
}
