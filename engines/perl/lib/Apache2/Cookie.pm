# Apache2::Cookie: cookies of this server's requests, with values of several texts (libapreq2).
package Apache2::Cookie;

use strict;
use warnings;

require Apache2::RequestRec;
require Apache2::RequestUtil;
use APR::Request          qw(encode decode);
use APR::Request::Apache2 ();
use APR::Request::Cookie  ();

our $VERSION = '2.17';
our @ISA     = ('APR::Request::Cookie');

use overload '""' => sub { $_[0]->as_string }, fallback => 1;

# new($r, name =>, value => text, array or hash, path => ...)
sub new {
    my ($class, $r, @given) = @_;
    my $cookie = $class->SUPER::new($r, @given) or return;
    $cookie->_row->{r} = $r;
    return $cookie;
}

# fetch([$r, [name]]): a hash of name => cookie, in scalar context the table; with a name that cookie.
sub fetch {
    my ($class, $r, @name) = @_;
    $r = Apache2::RequestUtil->request unless defined $r;
    my $request = $r->isa('APR::Request') ? $r : APR::Request::Apache2->handle($r);
    my $jar = $request->jar or return;
    $jar->cookie_class(ref $class || $class);
    return $jar->get($name[0]) if @name;
    return wantarray ? %$jar : $jar;
}

# One text, or several joined by "&".
sub freeze {
    my ($class, $value) = @_;
    die "Usage: Apache2::Cookie->freeze(\$value)\n" unless @_ == 2;
    return encode($value) unless ref $value;
    return join '&', map { encode($_) } @$value if UNIVERSAL::isa($value, 'ARRAY');
    return join '&', map { encode($_) } %$value if UNIVERSAL::isa($value, 'HASH');
    die "Can't freeze reference: $value\n";
}

sub thaw {
    my ($cookie, @raw) = @_;
    my @texts = map { decode($_) } split /&/, @raw ? $raw[0] : $cookie->raw_value;
    return wantarray ? @texts : $texts[0] // '';
}

sub value { return $_[0]->thaw }

# Puts it into the answer, errors included.
sub bake {
    my ($cookie, $r) = @_;
    ($r // $cookie->_row->{r} // Apache2::RequestUtil->request)->err_headers_out->add('Set-Cookie' => $cookie->as_string);
    return;
}

sub bake2 {
    my ($cookie, $r) = @_;
    die "Can't bake2 a Netscape cookie: $cookie\n" unless $cookie->version > 0;
    ($r // $cookie->_row->{r} // Apache2::RequestUtil->request)->err_headers_out->add('Set-Cookie2' => $cookie->as_string);
    return;
}

package Apache2::Cookie::Jar;
our @ISA = ('APR::Request::Apache2');

# new($r, VALUE_CLASS and the like => value)
sub new {
    my ($class, $r, %how) = @_;
    my $jar = $class->handle($r);
    for my $name (sort keys %how) {
        my $call = lc $name =~ s/\A-//r;
        $jar->$call($how{$name});
    }
    return $jar;
}

# cookies(): the names, in scalar context the table; (name): the first cookie of that name, all in list context.
sub cookies {
    my ($jar, @name) = @_;
    my $cookies = Apache2::Cookie->fetch($jar) or return;
    return $cookies->get($name[0]) if @name;
    return wantarray ? keys %$cookies : $cookies;
}

sub names { my $table = Apache2::Cookie->fetch($_[0]); return $table ? keys %$table : () }
sub get    { return scalar $_[0]->cookies($_[1]) }
sub status { return $_[0]->jar_status }

1;
