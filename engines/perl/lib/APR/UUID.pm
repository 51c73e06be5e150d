# APR::UUID: random identifiers (RFC 9562 §5.4).
package APR::UUID;

use strict;
use warnings;

our $VERSION = '0.009000';

sub new {
    my $class = shift;
    open my $source, '<:raw', '/dev/urandom' or die "APR::UUID: /dev/urandom: $!\n";
    my $bytes = '';
    sysread $source, $bytes, 16;
    substr($bytes, 6, 1) = chr(ord(substr $bytes, 6, 1) & 0x0f | 0x40);
    substr($bytes, 8, 1) = chr(ord(substr $bytes, 8, 1) & 0x3f | 0x80);
    return bless \$bytes, $class;
}

sub format { return join '-', unpack 'H8 H4 H4 H4 H12', ${ $_[0] } }

sub parse {
    my $text = pop;
    my $bytes = pack 'H*', $text =~ tr/-//dr;
    return bless \$bytes, __PACKAGE__;
}

1;
