# Apache2::Request, Apache2::Cookie: as libapreq2 has them.
use Apache2::Request ();
use Apache2::Cookie  ();

$r->args('a=1&b=two+words&a=%33');
my $q = Apache2::Request->new($r, POST_MAX => 1000);
is(join('|', $q->param('a')), '1|3', 'all values');
is(scalar $q->param('b'), 'two words', 'the first');
is(join('|', $q->param), 'a|b', 'names');
is($q->param->{b}, 'two words', 'as a table');
is($q->uri, $r->uri, 'still a request');
is($q->body_status, 0, 'no body');
is(scalar $q->upload('none'), undef, 'no upload');

$r->headers_in->set(Cookie => 'k=v%20w; z="q"; m=a&b');
my %cookies = Apache2::Cookie->fetch($r);
is(join('|', sort keys %cookies), 'k|m|z', 'cookies');
is(scalar $cookies{k}->value, 'v w', 'decoded');
my $fetched = Apache2::Cookie->fetch($r);
is(scalar $fetched->get('k')->value, 'v w', 'as a table');
is(scalar $fetched->{k}->value, 'v w', 'as a hash');
is($q->param_status, 0, 'of query string and body');
is(Apache2::Cookie->new($r, -name => 's', -value => 1, -samesite => 'Lax')->as_string, 's=1; SameSite=Lax', 'SameSite');
is(join(',', $cookies{m}->value), 'a,b', 'several values');
is(scalar $cookies{z}->value, 'q', 'quoted');
my $jar = Apache2::Cookie::Jar->new($r);
is($jar->cookies('k')->raw_value, 'v%20w', 'raw');
my $cookie = Apache2::Cookie->new($r, -name => 'n', -value => [ 'x y', 'z' ], -path => '/p', -secure => 1);
is("$cookie", 'n=x+y&z; path=/p; secure', 'as text');
$cookie->expires('+1d');
like($cookie->as_string, qr/expires=\w{3}, \d\d-\w{3}-\d{4} \d\d:\d\d:\d\d GMT/, 'expires');
$cookie->bake($r);
like($r->err_headers_out->{'Set-Cookie'}, qr/^n=x\+y&z/, 'baked');
$r->err_headers_out->clear;
