# APR::IpSubnet: whether an address lies in a network.
package APR::IpSubnet;

use strict;
use warnings;

use Socket ();

our $VERSION = '0.009000';

# new(pool, address, mask or number of bits)
sub new {
    my ($class, undef, $address, $mask) = @_;
    ($address, $mask) = split m{/}, $address, 2 if !defined $mask && $address =~ m{/};
    my $family = $address =~ /:/ ? Socket::AF_INET6() : Socket::AF_INET();
    my $bytes  = Socket::inet_pton($family, $address) // die "APR::IpSubnet: $address is not an address\n";
    my $length = 8 * length $bytes;
    $mask = $length unless defined $mask;
    my $bits = $mask =~ /\A\d+\z/ ? pack "B$length", '1' x $mask . '0' x ($length - $mask) : Socket::inet_pton($family, $mask);
    return bless { family => $family, bytes => $bytes & $bits, mask => $bits }, $class;
}

# test(APR::SockAddr)
sub test {
    my ($net, $address) = @_;
    my $bytes = Socket::inet_pton($net->{family}, $address->ip_get);
    return defined $bytes && ($bytes & $net->{mask}) eq $net->{bytes} ? 1 : 0;
}

1;
