# APR::URI, Apache2::URI, Apache2::Util, APR::Date, APR::String: what mod_perl 2.0.12 answers.
use APR::URI      ();
use APR::Date     ();
use APR::String   ();
use Apache2::URI  ();
use Apache2::Util ();

my $u = APR::URI->parse($r->pool, 'http://u:p@h:8080/p/q?x=y#f');
is(join('|', map { $u->$_ } qw(scheme user password hostname port path query fragment hostinfo rpath)),
    'http|u|p|h|8080|/p/q|x=y|f|u:p@h:8080|/p/q', 'parts');
is($u->unparse, 'http://u@h:8080/p/q?x=y#f', 'unparse hides the password');
is($u->unparse(8), 'http://u:p@h:8080/p/q?x=y#f', 'unless it is asked for');
is($u->unparse(0), 'http://u:XXXXXXXX@h:8080/p/q?x=y#f', 'or only where it is');
is($u->unparse(1), '/p/q?x=y#f', 'without the host');
$u->port(80);
$u->query(undef);
is($u->unparse(6), 'http://h/p/q#f', 'set parts');
is(APR::URI->parse($r->pool, 'mailto:x@y')->path, 'x@y', 'mailto');
is(APR::URI::port_of_scheme('https'), 443, 'port_of_scheme');
my $text = 'a%20b%2fc%zz';
is(Apache2::URI::unescape_url($text), 'a b/c%zz', 'unescape_url');
is(Apache2::Util::escape_path('a b/c:d?e&f%', $r->pool), 'a%20b/c:d%3fe&f%25', 'escape_path');
is(Apache2::Util::ht_time($r->pool, 1e9), 'Sun, 09 Sep 2001 01:46:40 GMT', 'ht_time');
is(Apache2::Util::ht_time($r->pool, 1e9, '%d %b %Y %T %Z'), '09 Sep 2001 01:46:40 GMT', 'ht_time with a format');
is(APR::Date::parse_http('Sun, 06 Nov 1994 08:49:37 GMT'), 784111777, 'a date of HTTP');
is(APR::Date::parse_http('Sunday, 06-Nov-94 08:49:37 GMT'), 784111777, 'its second form');
is(APR::Date::parse_http('Sun Nov  6 08:49:37 1994'), 784111777, 'its third form');
is(APR::Date::parse_rfc('Sun, 06 Nov 1994 08:49:37 +0100'), 784108177, 'a date of mail');
is(APR::Date::parse_http('junk'), 0, 'no date');
is(join('|', map { APR::String::format_size($_) } 0, 972, 1023, 1024, 10000, 1e6, 1e9), '  0 |972 |1.0K|1.0K|9.8K|1.0M|954M', 'sizes');
is($r->construct_url('/x'), 'http://' . $r->construct_server . '/x', 'construct_url');
