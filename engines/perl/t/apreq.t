# Apache2::Request, Apache2::Cookie: as libapreq2 has them.
use Apache2::Request ();
use Apache2::Cookie  ();
use APR::Request::Apache2 ();

$r->args('a=1&b=two+words&a=%33');
my $q = Apache2::Request->new($r, POST_MAX => 1000);
is(join('|', $q->param('a')), '1|3', 'all values');
is(scalar $q->param('b'), 'two words', 'the first');
is(join('|', $q->param), 'a|b|a', 'names, in their order and with repetitions');
is($q->param->{b}, 'two words', 'as a table');
is($q->uri, $r->uri, 'still a request');
is($q->body_status, 'Missing input data', 'no body');
is(0 + $q->body_status, 120020, 'as a number');
is($q->args, 'a=1&b=two+words&a=%33', 'the query string of any request');
is(scalar $q->args('b'), 'two words', 'one of its parameters');
is(join('|', map { 0 + $_ } $q->parse), '120020|0|120020', 'cookies, query string, body');
is(scalar $q->upload('none'), undef, 'no upload');

$r->headers_in->set(Cookie => 'k=v%20w; z="q"; m=a&b');
my %cookies = Apache2::Cookie->fetch($r);
is(join('|', sort keys %cookies), 'k|m|z', 'cookies');
is(scalar $cookies{k}->value, 'v w', 'decoded');
my $fetched = Apache2::Cookie->fetch($r);
is(scalar $fetched->get('k')->value, 'v w', 'as a table');
is(scalar $fetched->{k}->value, 'v w', 'as a hash');
is(join('|', map { 0 + $_ } $q->param_status), '0|120020', 'of query string and body');
is(Apache2::Cookie->new($r, -name => 's', -value => 1, -samesite => 'Lax')->as_string, 's=1; SameSite=Lax', 'SameSite');
is(join(',', $cookies{m}->value), 'a,b', 'several values');
is(scalar $cookies{z}->value, '"q"', 'quotes are the value\'s');
my $jar = Apache2::Cookie::Jar->new($r);
is($jar->cookies('k')->raw_value, 'v%20w', 'raw');
my $cookie = Apache2::Cookie->new($r, -name => 'n', -value => [ 'x y', 'z' ], -path => '/p', -secure => 1);
is("$cookie", 'n=x+y&z; path=/p; secure', 'as text');
$cookie->expires('+1d');
like($cookie->as_string, qr/expires=\w{3}, \d\d-\w{3}-\d{4} \d\d:\d\d:\d\d GMT/, 'expires');
$cookie->bake($r);
like($r->err_headers_out->{'Set-Cookie'}, qr/^n=x\+y&z/, 'baked');
$r->err_headers_out->clear;
is(scalar Apache2::Cookie->new($r, name => 'n', value => undef), undef, 'no cookie without a value');
is(Apache2::Cookie->new($r, name => 'n', value => []) . '', 'n=', 'an empty list is one');
eval { $cookie->bake2($r) };
like($@, qr/^Can't bake2 a Netscape cookie/, 'bake2');
my $long = Apache2::Cookie->new($r, name => 'n', value => 1, version => 1, path => '/p', expires => 60, commentURL => '/c', httponly => 1);
is($long->as_string, 'n=1; Version=1; path="/p"; commentURL="/c"; max-age=60; HttpOnly', 'version 1');

# Cookies as the library below sees them.
sub jar { $r->headers_in->set(Cookie => shift); return APR::Request::Apache2->handle($r) }
my $one = jar('$Version="1"; one="1"; $Path="/x"; $Domain=".y"; two="2\""; one=3');
is(join('|', $one->jar), 'one|two|one', 'names of all');
is(join('|', $one->jar('ONE')), '"1"|3', 'all of a name');
is(scalar $one->jar('two'), '"2\""', 'quoted');
$one->jar->cookie_class('Apache2::Cookie');
is(ref $one->jar->get('one'), '', 'each table has its own class');
my $table = $one->jar;
is($table->cookie_class('Apache2::Cookie'), $table, 'the table again');
is($table->{one}->as_string, 'one="1"; Version=1; path="/x"; domain=".y"', 'attributes');
my @seen;
$table->do(sub { push @seen, "$_[0]=" . $_[1]->raw_value; 1 });
is(join('|', @seen), 'one="1"|two="2\""|one=3', 'do');
for my $wrong ([ 'a=1; b; c=2', 'Expected token not present' ], [ 'a=1; b="2', 'Invalid byte sequence' ],
    [ '$Path=/; a=1', 'Invalid character' ], [ 'a=1; $Path=/', 'Conflicting information' ]) {
    my $jar = jar($wrong->[0]);
    is($jar->jar_status, $wrong->[1], $wrong->[0]);
    is(scalar $jar->jar('a'), 1, "$wrong->[0]: what was found");
    ok(!eval { my %all = Apache2::Cookie->fetch($r); 1 }, "$wrong->[0]: all are not to be had");
    is(ref $@, 'APR::Request::Error', "$wrong->[0]: the error");
}
$r->headers_in->unset('Cookie');
is(scalar APR::Request::Apache2->handle($r)->jar, undef, 'no cookies');

# Parameters as the library below sees them.
{ package Own; our @ISA = 'APR::Request::Param' }
$r->args('foo=1;bar=2;foo=3;quux=%E2%82%AC');
my $req  = APR::Request::Apache2->handle($r);
my $args = $req->args;
is($args->{FOO}, 1, 'as a hash');
is(join(' ', keys %$args), 'foo bar foo quux', 'keys');
is(join(' ', (values %$args)[ 0 .. 2 ]), '1 2 3', 'values');
is(join(' ', map { join '=', each %$args } 0 .. 2), 'foo=1 bar=2 foo=3', 'each');
keys %$args;
is(join(' ', $args->get('foo')), '1 3', 'get');
is($args->param_class, undef, 'texts');
is($args->param_class('APR::Request::Param'), $args, 'objects from now on');
is($args->param_class, 'APR::Request::Param', 'their class');
is(join(' ', map { $_->is_tainted } values %$args), '1 1 1 1', 'from outside');
is(length $args->{quux}->value, 3, 'bytes');
is($args->{quux}->charset, 8, 'UTF-8');
$_->is_tainted(0) for values %$args;
is(join(' ', map { $_->is_tainted } values %$args), '0 0 0 0', 'trusted');
is(length $args->{quux}->value, 1, 'characters');
eval { $args->param_class('APR::Request::Cookie') };
like($@, qr/^Usage/, 'no class of parameters');
$args->param_class('Own');
ok($args->{foo}->isa('Own'), 'a class of one\'s own');
is((bless { p => $args->{bar} }, 'Own')->name, 'bar', 'around one');
eval { $args->{new} = 1 };
like($@, qr/read-only/, 'not to be changed');
is(APR::Request::Param->make($r->pool, 'n', 'v') . '', 'v', 'made');

$r->args('a=1&query=string%%&b=2');
is($req->args_status, 'Invalid byte sequence', 'not decoded');
is(scalar $req->args('a'), 1, 'what came before');
for my $asked (sub { $req->args('b') }, sub { my @all = $req->args('a') }, sub { $req->args }) {
    eval { my $nothing = $asked->() };
    is(ref $@, 'APR::Request::Error', 'thrown');
    ok($@ == APR::Request::Error::BADSEQ(), 'its number');
    like("$@", qr/^APR::Request::args: \(120012\) Invalid byte sequence at /, 'its words');
}
$r->args('x');
is(APR::Request::encode('a b/c'), 'a+b%2Fc', 'encode');

# Put together by the program.
use APR::Brigade         ();
use APR::BucketAlloc     ();
use APR::Pool            ();
use APR::Request::Parser ();
my $pool    = APR::Pool->new;
my $alloc   = APR::BucketAlloc->new($pool);
my $custom  = sub {
    my ($kind, $type, $text, $limit) = @_;
    my $bb = APR::Brigade->new($pool, $alloc);
    $bb->insert_tail(APR::Bucket->new($alloc, $text));
    my $parser = APR::Request::Parser->$kind($pool, $alloc, $type);
    return APR::Request::Custom->handle($pool, 'alpha=arg1&beta=arg2', 'one=1', $parser, $limit // 1e6, $bb);
};
my $form = 'application/x-www-form-urlencoded';
my $made = $custom->('urlencoded', $form, 'alpha=body1&gamma=3');
is(join('|', $made->param('alpha')), 'arg1|body1', 'both');
is(join('|', $made->param), 'alpha|beta|alpha|gamma', 'names of both');
is(join('|', $made->body), 'alpha|gamma', 'the body\'s');
is(scalar $made->jar('one'), 1, 'a cookie');
is($made->pool, $pool, 'its pool');
is(join('|', $custom->('default', $form, 'x=y')->body), 'x', 'by its type');
is($custom->('default', 'text/x', 'x=y')->body_status, 'Missing parser', 'none');
is($custom->('generic', 'text/x', 'x=y')->body->get(''), 'x=y', 'as it is');
is($custom->('headers', 'text/x', "A: b\r\n c\r\nD: e\r\n")->body('d'), 'e', 'header fields');
is($custom->('urlencoded', $form, 'alpha=body1', 5)->body_status, 'Exceeds configured maximum limit', 'too much');
my $parts = join "\r\n", '--XY', 'Content-Disposition: form-data; name="a"', '', 'one',
    '--XY', 'Content-Disposition: form-data; name="f"; filename="f.txt"', 'Content-Type: text/plain; charset=x', '', "first\nsecond",
    '--XY--', '';
my $multi = $custom->('multipart', 'multipart/form-data; boundary=XY', $parts);
is(join('|', $multi->body), 'a|f', 'parts');
is(scalar $multi->body('f'), 'f.txt', 'an upload\'s name');
my $up = $multi->upload('f');
is(join('|', $up->upload_size, $up->upload_type, $up->upload_filename, $up->info->{'content-type'}),
    '12|text/plain|f.txt|text/plain; charset=x', 'an upload');
my $text = '';
is($up->upload_slurp($text) . $text, "12first\nsecond", 'slurp');
my ($fh, $io) = ($up->upload_fh, $up->upload_io);
is(join('', <$fh>), "first\nsecond", 'fh');
seek $fh, 6, 0;
is(scalar <$fh>, 'second', 'it can be set');
is(scalar <$io>, "first\n", 'io');
my $rest = '';
is($io->read($rest) . $rest, '6second', 'its rest');
is(join('|', map { $_->name } values %{ $multi->body->param_class('APR::Request::Param')->uploads($pool) }), 'f', 'uploads');
$up->upload->flatten(my $flat);
is($flat, "first\nsecond", 'as a brigade');
tie *HANDLE, 'APR::Request::Brigade', $up->upload;
is(join('|', <HANDLE>), "first\n|second", 'a handle upon it');
untie *HANDLE;
ok(-s $up->upload_tempname == 12, 'its file');
$multi->disable_uploads;
my $refused = $custom->('multipart', 'multipart/form-data; boundary=XY', $parts);
$refused->disable_uploads;
eval { $refused->upload };
is(ref $@, 'APR::Request::Error', 'no uploads');
is(scalar $refused->body('a'), 'one', 'what came before');
