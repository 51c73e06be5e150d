# APR::IpSubnet: whether an address lies in a network.
package APR::IpSubnet;

use strict;
use warnings;

use Socket ();

our $VERSION = '0.009000';

# APR's numbers: what is no address, and no mask.
use constant { EBADIP => 20016, EBADMASK => 20017, EINVAL => 22 };

sub _throw {
    require APR::Error;
    return APR::Error::throw(shift, 'APR::IpSubnet::new');
}

# "10." or "10.1": the network of all addresses that begin so; (octets, bits).
sub _beginning {
    my $address = shift;
    return unless $address =~ /\A(?:[0-9]{1,3}\.){0,2}[0-9]{1,3}\.?\z/;
    my @octets = split /\./, $address;
    _throw(EBADIP) if grep { $_ > 255 } @octets;
    return (pack('C4', (@octets, 0, 0, 0)[ 0 .. 3 ]), pack 'C4', ((255) x @octets, 0, 0, 0)[ 0 .. 3 ]);
}

sub _mask {
    my ($family, $length, $mask) = @_;
    if ($mask =~ /\A[0-9]+\z/) {
        _throw(EBADMASK) if $mask < 1 || $mask > $length;
        return pack "B$length", '1' x $mask . '0' x ($length - $mask);
    }
    my $bits = $family == Socket::AF_INET() ? Socket::inet_pton($family, $mask) : undef;
    return $bits // _throw(EBADMASK);
}

# new(pool, address or its beginning, mask or number of bits). Dies with an APR::Error on what is neither: a program that
# guards something with it must not go on with another network than it means.
sub new {
    my ($class, undef, $address, $mask) = @_;
    _throw(EINVAL) unless defined $address && $address =~ /\A[0-9A-Fa-f.:]+\z/;
    my $family = $address =~ /:/ ? Socket::AF_INET6() : Socket::AF_INET();
    my ($bytes, $bits) = defined $mask ? () : _beginning($address);
    if (!defined $bytes) {
        $bytes = Socket::inet_pton($family, $address) // _throw(EBADIP);
        $bits  = _mask($family, 8 * length $bytes, $mask // 8 * length $bytes);
    }
    return bless { family => $family, bytes => $bytes & $bits, mask => $bits }, $class;
}

# test(APR::SockAddr)
sub test {
    my ($net, $address) = @_;
    my $bytes = Socket::inet_pton($net->{family}, $address->ip_get);
    return defined $bytes && ($bytes & $net->{mask}) eq $net->{bytes} ? 1 : 0;
}

1;
