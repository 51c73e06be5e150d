//! libapreq2 upon the bodies of requests: uploads, their hooks and limits, and classes that inherit. (`t/apreq.t` has the rest.)

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod front;

use front::{Answer, Engine, directory, request, setup};
use hostler_perl_frames::Phase;

const FORM: &str = "multipart/form-data; boundary=XY";

/// A field, an upload, a second one of that name, and a field that the query string has, too.
fn parts() -> String {
    let file = |name: &str, text: &str| {
        format!(
            "--XY\r\nContent-Disposition: form-data; name=\"f\"; filename=\"{name}\"\r\n\
             Content-Type: text/plain; charset=x\r\n\r\n{text}\r\n"
        )
    };
    let field = |name: &str, value: &str| {
        format!("--XY\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    [
        field("a", "one"),
        file("x.txt", &"DataUpload\r\n".repeat(2000)),
        file("y.txt", ""),
        field("q", "body"),
        "--XY--\r\n".into(),
    ]
    .concat()
}

/// Returns the output of a handler for this posted form.
fn post(code: &str) -> Answer {
    let program = format!(
        "use Apache2::Request (); use Apache2::Upload (); use Apache2::Cookie (); \
         package Posted; sub handler {{ my $r = shift; {code}; return 0 }} 1;"
    );
    let mut engine = Engine::start(setup(&program)).unwrap();
    let body = parts();
    let length = body.len().to_string();
    let mut head = request("modperl");
    head.method = b"POST";
    head.args = Some(b"q=query");
    head.headers_in.push((b"Content-Type", FORM.as_bytes()));
    head.headers_in.push((b"Content-Length", length.as_bytes()));
    head.headers_in.push((b"Cookie", b"apache=good"));
    engine.fork().ask_in(&directory(&[(Phase::Response, &["Posted"])]), head, body.as_bytes())
}

#[test]
fn uploads_are_files_with_handles_of_their_own() {
    let answer = post(
        r#"my $q = Apache2::Request->new($r);
           my ($first, $second) = $q->upload('f');
           my ($fh, $other) = ($first->fh, $first->fh);
           read $other, my $all, 1e6;
           my $size = $first->slurp(my $slurped);
           read $fh, my $again, 1e6;
           my $path = $first->tempname;
           $first->link("$path-2") or die $!;
           my $linked = -s "$path-2"; unlink "$path-2";
           my $io = $first->io; my $lines = () = <$io>;
           my $bb = $first->bb; my $in_brigade = $bb->length;
           $r->print(join '|', $first->filename, $first->type, $first->info->{'Content-Type'}, $first->size, $size, $linked, $lines,
               $in_brigade, $all eq $slurped && $all eq $again ? 'same' : 'other', $second->filename, $second->size,
               join(',', $q->upload), join(',', map { ref } values %{ $q->upload }), join(',', $q->param('q')), join(',', $q->body));
           $r->pool->cleanup_register(sub { undef $_ for $first, $fh, $other, $io })"#,
    );
    assert_eq!(
        answer.body,
        "x.txt|text/plain|text/plain; charset=x|24000|24000|24000|2000|24000|same|y.txt|0|f,f|\
         Apache2::Upload,Apache2::Upload|query,body|a,f,f,q",
        "{answer:?}"
    );
}

#[test]
fn a_hook_sees_pieces_and_the_end_of_each_upload() {
    let answer = post(
        r#"my (%bytes, %ends);
           my $q = Apache2::Request->new($r, HOOK_DATA => 'note', UPLOAD_HOOK => sub {
               my ($upload, $data, $length, $note) = @_;
               my $name = $upload->filename . " $note";
               defined $data ? ($bytes{$name} += $length) : $ends{$name}++ });
           $q->parse;
           $r->print(join '|', map { "$_=" . ($bytes{$_} // 0) . ",$ends{$_}" } sort keys %ends)"#,
    );
    assert_eq!(answer.body, "x.txt note=24000,1|y.txt note=0,1", "{answer:?}");
    let answer = post(
        "my $q = Apache2::Request->new($r, UPLOAD_HOOK => sub { die \"no\\n\" }); $r->print($q->body_status)",
    );
    assert_eq!(answer.body, "Internal apreq error", "{answer:?}");
}

#[test]
fn limits_are_kept_and_what_came_before_is_found() {
    let answer = post(
        r#"my $q = Apache2::Request->new($r, POST_MAX => '1K');
           my $found = $q->param('q');
           my $lost = eval { scalar $q->param('a') };
           $r->print(join '|', $found, $lost // 'nothing', ref $@, 0 + $q->body_status, $q->body_status, $q->read_limit)"#,
    );
    assert_eq!(
        answer.body, "query|nothing|APR::Request::Error|120031|Exceeds configured maximum limit|1024",
        "{answer:?}"
    );
    let answer = post(
        r#"my $q = Apache2::Request->new($r, DISABLE_UPLOADS => 1);
           my $a = $q->body('a'); my $f = eval { $q->upload('f') };
           $r->print(join '|', $a, $f // 'nothing', ref $@)"#,
    );
    assert_eq!(answer.body, "one|nothing|APR::Request::Error", "{answer:?}");
}

#[test]
fn classes_inherit_and_keep_a_request() {
    let answer = post(
        r#"{ package Own; our @ISA = ('Apache2::Request', 'Apache2::Cookie::Jar'); sub DESTROY { $_[0]->print('.') } }
           my $own = Own->new($r); $own->content_type('text/plain');
           my $around = bless { r => $own }, 'Own';
           $around->printf('%s %s %s %s ', ref $own, $around->method, $around->cookies('apache')->as_string, scalar $around->param('a'))"#,
    );
    let seen = (answer.content_type.as_deref(), answer.body.as_str());
    assert_eq!(seen, (Some("text/plain"), "Own POST apache=good one .."), "{answer:?}");
}
