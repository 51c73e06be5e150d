# Apache2::Cookie: cookies, with libapreq2's names; the work is APR::Request::Cookie's.
package Apache2::Cookie;

use strict;
use warnings;

require Apache2::RequestUtil;
use APR::Request::Cookie ();

our $VERSION = '2.17';
our @ISA     = ('APR::Request::Cookie');

# fetch($r): a hash of name => cookie; a reference that is also a table in scalar context.
sub fetch {
    my ($class, $r) = @_;
    $r = Apache2::RequestUtil->request unless defined $r;
    my %cookies;
    for my $pair (APR::Request::Cookie::pairs($r->headers_in->get('Cookie'))) {
        $cookies{ $pair->[0] } //= $class->_parsed($r, @$pair);
    }
    return wantarray ? %cookies : %cookies ? bless(\%cookies, 'APR::Request::Cookie::Table') : undef;
}

package Apache2::Cookie::Jar;

# new($r)
sub new {
    my ($class, $r) = @_;
    my @order;
    my %cookies;
    for my $pair (APR::Request::Cookie::pairs($r->headers_in->get('Cookie'))) {
        push @order, $pair->[0] unless $cookies{ $pair->[0] };
        push @{ $cookies{ $pair->[0] } }, Apache2::Cookie->_parsed($r, @$pair);
    }
    return bless { r => $r, order => \@order, cookies => \%cookies }, $class;
}

# cookies(): the names; (name): the first cookie of that name, all in list context.
sub cookies {
    my ($jar, @name) = @_;
    if (@name) {
        my @found = @{ $jar->{cookies}{ $name[0] } || [] };
        return wantarray ? @found : $found[0];
    }
    return @{ $jar->{order} } if wantarray;
    return { map { ($_ => $jar->{cookies}{$_}[0]) } @{ $jar->{order} } };
}

sub names  { return @{ $_[0]{order} } }
sub get    { return scalar $_[0]->cookies($_[1]) }
sub status { return 0 }

1;
