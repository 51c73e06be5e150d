# APR::Util: passwords and file names.
package APR::Util;

use strict;
use warnings;

our $VERSION = '0.009000';

sub filepath_name_get { return $_[0] =~ m{([^/]*)\z} ? $1 : '' }

# Whether the password is the one of this hash: crypt's kinds, {SHA}; APR's own MD5 ($apr1$) as well.
sub password_validate {
    my ($password, $hash) = @_;
    if ($hash =~ /\A\{SHA\}(.*)\z/) {
        require Digest::SHA;
        return Digest::SHA::sha1_base64($password) . '=' eq $1 ? 1 : 0;
    }
    return _apr1($password, $1) eq $hash ? 1 : 0 if $hash =~ /\A\$apr1\$([^\$]{0,8})\$/;
    my $made = crypt $password, $hash;
    return defined $made && $made eq $hash ? 1 : 0;
}

# The scheme of FreeBSD's MD5 crypt with another magic: a thousand rounds over salt and password in changing order.
sub _apr1 {
    my ($password, $salt) = @_;
    require Digest::MD5;
    my $first = Digest::MD5::md5($password . $salt . $password);
    my $text  = $password . '$apr1$' . $salt;
    for (my $left = length $password; $left > 0; $left -= 16) { $text .= substr $first, 0, $left > 16 ? 16 : $left }
    for (my $bits = length $password; $bits; $bits >>= 1) { $text .= $bits & 1 ? "\0" : substr $password, 0, 1 }
    my $digest = Digest::MD5::md5($text);
    for my $round (0 .. 999) {
        my $next = $round & 1 ? $password : $digest;
        $next .= $salt     if $round % 3;
        $next .= $password if $round % 7;
        $next .= $round & 1 ? $digest : $password;
        $digest = Digest::MD5::md5($next);
    }
    my @letters = ('.', '/', 0 .. 9, 'A' .. 'Z', 'a' .. 'z');
    my @bytes   = unpack 'C*', $digest;
    my $made    = '';
    for my $three ([ 0, 6, 12 ], [ 1, 7, 13 ], [ 2, 8, 14 ], [ 3, 9, 15 ], [ 4, 10, 5 ], [11]) {
        my $value = 0;
        $value = $value << 8 | $bytes[$_] for @$three;
        for (1 .. (@$three == 1 ? 2 : 4)) { $made .= $letters[ $value & 63 ]; $value >>= 6 }
    }
    return "\$apr1\$$salt\$$made";
}

1;
