# The request object: fields, notes, subclasses, errors, handlers, conditions, credentials.
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::Access      ();
use Apache2::Response    ();
use APR::Error           ();
use APR::Finfo           ();

is(ref $r, 'Apache2::RequestRec', 'class');
is($r->method_number, 0, 'GET');
$r->method('POST');
is($r->method_number, 2, 'method and its number go together');
is($r->uri('/other'), '/perl/test', 'a setter answers the old value');
is($r->uri, '/other', 'and sets');
$r->user("j\x{f6}");
is($r->user, "j\x{f6}", 'bytes');
is($r->no_cache(1), 0, 'no_cache');
is($r->headers_out->{Pragma}, 'no-cache', 'its header');
$r->no_cache(0);
ok(!exists $r->headers_out->{Pragma}, 'taken back');
is($r->status(404), 200, 'status');
$r->status(200);
$r->content_languages([qw(de en)]);
is("@{ $r->content_languages }", 'de en', 'content_languages');

$r->notes->set(n => 1);
is($r->notes->get('N'), 1, 'notes');
my $value = { deep => [1] };
$r->pnotes(p => $value);
is($r->pnotes('p'), $value, 'pnotes keep references');
is(join('|', keys %{ $r->pnotes }), 'p', 'pnotes as a hash');

is($r->dir_config('Name'), 'value', 'dir_config');
is(join('|', $r->dir_config->get('list')), 'a|b', 'PerlAddVar');
$r->dir_config(Name => undef);
is($r->dir_config('Name'), undef, 'dir_config can forget');

{
    package Derived;
    our @ISA = ('Apache2::RequestRec');
    sub new { my ($class, $r) = @_; return bless { r => $r }, $class }
    sub own { return $_[0]->uri . '!' }
}
is(Derived->new($r)->own, '/other!', 'a class whose objects hold the request');
is(Apache2::RequestRec->uri, '/other', 'a class method means the current request');
is(Apache2::RequestUtil->request->uri, '/other', 'the global request');
eval { Apache2::RequestRec::uri({}) };
like($@, qr/not an Apache2::RequestRec object/, 'something else');

eval { APR::Finfo::stat('/no/such/file', 0, $r->pool) };
is(ref $@, 'APR::Error', 'an APR::Error');
ok($@ == 2, 'it is a number');
like("$@", qr/^APR::Finfo::stat: \(2\) No such file or directory at .*request\.t line \d+$/, 'and a text, which blames the caller');
eval { $r->sendfile('/no/such/file'); 1 };
ok($@ == 2, 'sendfile in void context dies');
is($r->sendfile('/no/such/file'), 2, 'otherwise it answers');

ok($r->push_handlers(PerlLogHandler => sub { 0 }), 'push_handlers');
is(scalar @{ $r->get_handlers('PerlLogHandler') }, 1, 'get_handlers');
ok($r->set_handlers(PerlLogHandler => []), 'set_handlers');
is($r->get_handlers('PerlLogHandler'), undef, 'none');
ok(!$r->push_handlers(PerlNoHandler => sub { 0 }), 'an unknown phase');

$r->headers_in->set(Authorization => 'Basic am9lOnNlYzpyZXQ=');
$r->auth_type('Basic');
$r->auth_name('Realm');
is(join('|', $r->get_basic_auth_pw), '0|sec:ret', 'credentials');
is($r->user, 'joe', 'the user');
$r->headers_in->unset('Authorization');
is(($r->get_basic_auth_pw)[0], 401, 'none');
is($r->err_headers_out->{'WWW-Authenticate'}, 'Basic realm="Realm"', 'and asked for');

$r->method('GET');
$r->mtime(1e9);
$r->set_last_modified;
is($r->headers_out->{'Last-Modified'}, 'Sun, 09 Sep 2001 01:46:40 GMT', 'Last-Modified');
is($r->meets_conditions, 0, 'no conditions');
$r->headers_in->set('If-Modified-Since' => 'Sun, 09 Sep 2001 01:46:40 GMT');
is($r->meets_conditions, 304, 'not modified');
$r->headers_out->set(ETag => '"x"');
$r->headers_in->set('If-None-Match' => '"y"');
is($r->meets_conditions, 0, 'another tag wins over the date');
$r->headers_in->set('If-Match' => '"z"');
is($r->meets_conditions, 412, 'If-Match');
$r->headers_in->clear;

$r->uri('/perl/test');

# As much as a client has promised: there is room made for what comes.
is($r->read(my $promised, 1 << 42), 0, 'nothing came');

# An object that is a text by overloading.
{
    package Overloaded;
    use overload '""' => sub {'text/x-object'};
}
$r->content_type(bless [], 'Overloaded');
ok(!ref(my $type = $r->content_type), 'an object is taken for its text');
is($type, 'text/x-object', 'which is this');
$r->content_type('text/plain');
is($Apache2::__T, ${^TAINT} ? 1 : 0, 'whether taint is checked');
ok(!eval { $Apache2::__T = 2; 1 }, 'nobody changes that');
