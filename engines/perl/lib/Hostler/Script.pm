# CGI scripts (Isolation fork) in a process forked from the warm interpreter: what only some of them need. The rest is
# done in script.c, without a page of memory more than it takes.
package Hostler::Script;

use strict;
use warnings;

# What reads descriptor 0 instead of the handle STDIN, or starts programs that do.
my $BY_NUMBER = qr/\b(?:sysread|system|exec|fork|qx|fileno|select|open|open2|open3|sysopen|syscall|ARGV)\b|`|<>|<<>>/;

# RFC 3875 §4.4: words of a query without "=".
sub set_arguments {
    my $r = shift;
    @ARGV = map { s/%([0-9A-Fa-f]{2})/chr hex $1/ger } split /\+/, $r->args;
    return;
}

# The request's body as descriptor 0, which programs inherit: a file that has no name. Only for scripts that may use it.
sub offer_input {
    my $r = shift;
    open my $in, '<:raw', $r->filename or die "$0: $!\n";
    local $/;
    real_input() if <$in> =~ $BY_NUMBER;
    return;
}

sub real_input {
    open my $copy, '+>', undef or die "no temporary file: $!\n";
    binmode $copy;
    while ( read STDIN, my $piece, 65_536 ) {
        print {$copy} $piece or die "temporary file: $!\n";
    }
    seek $copy, 0, 0 or die "temporary file: $!\n";
    Hostler::Script::as_input( fileno $copy );
    open STDIN, '<&=', 0 or die "STDIN: $!\n";
    return;
}

1;
