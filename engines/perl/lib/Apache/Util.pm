# mod_perl 1's Apache::Util: escaping, dates, sizes, passwords.
package Apache::Util;

use strict;
use warnings;

our $VERSION   = '1.02';
our @EXPORT_OK = qw(escape_html escape_uri unescape_uri unescape_uri_info parsedate ht_time size_string
    validate_password);
our %EXPORT_TAGS = (all => \@EXPORT_OK);
use Exporter 'import';

my %entity = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;');

sub escape_html {
    my $text = shift;
    return unless defined $text;
    $text =~ s/([&<>"])/$entity{$1}/g;
    return $text;
}

# As a path within a URI (ap_os_escape_path with partial set).
sub escape_uri {
    my $text = shift;
    return unless defined $text;
    utf8::encode($text) if utf8::is_utf8($text);
    $text =~ s{([^A-Za-z0-9\$\-_.+!*'(),:\@&=/~])}{sprintf '%%%02x', ord $1}ge;
    return $text;
}

sub unescape_uri {
    my $text = shift;
    return unless defined $text;
    $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
    return $text;
}

sub unescape_uri_info {
    my $text = shift;
    return unless defined $text;
    $text =~ tr/+/ /;
    return unescape_uri($text);
}

my @months = qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec);
my @days   = qw(Sun Mon Tue Wed Thu Fri Sat);
my %month  = map { $months[$_] => $_ } 0 .. 11;

# Seconds of a date of HTTP, in each of its three forms (RFC 9110 §5.6.7); 0 if it is none.
sub parsedate {
    my $text = shift // return 0;
    my ($day, $month, $year, $hour, $minute, $second);
    if ($text =~ /^\s*\w+,\s+(\d+)[ -](\w{3})[ -](\d{2,4})\s+(\d+):(\d+):(\d+)/) {
        ($day, $month, $year, $hour, $minute, $second) = ($1, $2, $3, $4, $5, $6);
        $year += $year < 70 ? 2000 : 1900 if $year < 100;
    }
    elsif ($text =~ /^\s*\w{3}\s+(\w{3})\s+(\d+)\s+(\d+):(\d+):(\d+)\s+(\d{4})/) {
        ($month, $day, $hour, $minute, $second, $year) = ($1, $2, $3, $4, $5, $6);
    }
    return 0 unless defined $month && exists $month{$month};
    require Time::Local;
    return eval { Time::Local::timegm($second, $minute, $hour, $day, $month{$month}, $year) } || 0;
}

# ht_time($seconds, $format, $gmt): as HTTP writes it, unless told otherwise.
sub ht_time {
    my ($time, $format, $gmt) = @_;
    $time = time unless defined $time;
    $gmt  = 1 unless defined $gmt;
    my @parts = $gmt ? gmtime $time : localtime $time;
    if (!defined $format || $format eq '%a, %d %b %Y %H:%M:%S %Z' || $format eq '%a, %d %b %Y %T %Z') {
        return sprintf '%s, %02d %s %04d %02d:%02d:%02d GMT', $days[ $parts[6] ], $parts[3], $months[ $parts[4] ],
            $parts[5] + 1900, @parts[ 2, 1, 0 ] if $gmt;
    }
    require POSIX;
    $format = '%a, %d %b %Y %H:%M:%S %Z' unless defined $format;
    $format =~ s/%Z/GMT/g if $gmt;
    return POSIX::strftime($format, @parts);
}

sub size_string {
    my $size = shift;
    return '    -' if !defined $size || $size == -1;
    return '   0k' if $size == 0;
    return '   1k' if $size < 1024;
    return sprintf '%4dk', ($size + 512) / 1024 if $size < 1_048_576;
    return sprintf '%4.1fM', $size / 1_048_576 if $size < 103_809_024;
    return sprintf '%4dM', ($size + 524_288) / 1_048_576;
}

# Whether a password is the one that was hashed: crypt(3)'s forms, {SHA}, and plain apr1 and bcrypt as far as crypt(3)
# knows them.
sub validate_password {
    my ($password, $hash) = @_;
    return 0 unless defined $password && defined $hash;
    if ($hash =~ /^\{SHA\}(.*)/s) {
        require Digest::SHA;
        return $1 =~ s/=+\z//r eq Digest::SHA::sha1_base64($password) ? 1 : 0;
    }
    return apr1($password, $1) eq $hash ? 1 : 0 if $hash =~ /^\$apr1\$([^\$]{0,8})\$/;
    my $made = crypt $password, $hash;
    return defined $made && $made eq $hash ? 1 : 0;
}

my $digits = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

# Apache's MD5 hash of passwords (htpasswd -m): a thousand rounds.
sub apr1 {
    my ($password, $salt) = @_;
    require Digest::MD5;
    my $length = length $password;
    my $final  = Digest::MD5::md5($password . $salt . $password);
    my $first  = $password . '$apr1$' . $salt . substr $final x (1 + $length / 16), 0, $length;
    for (my $i = $length; $i; $i >>= 1) { $first .= $i & 1 ? "\0" : substr $password, 0, 1 }
    $final = Digest::MD5::md5($first);
    for my $i (0 .. 999) {
        my $text = $i & 1 ? $password : $final;
        $text .= $salt     if $i % 3;
        $text .= $password if $i % 7;
        $text .= $i & 1 ? $final : $password;
        $final = Digest::MD5::md5($text);
    }
    my @bytes = unpack 'C*', $final;
    my $made  = '';
    for my $group ([ 0, 6, 12 ], [ 1, 7, 13 ], [ 2, 8, 14 ], [ 3, 9, 15 ], [ 4, 10, 5 ]) {
        $made .= sextets($bytes[ $group->[0] ] << 16 | $bytes[ $group->[1] ] << 8 | $bytes[ $group->[2] ], 4);
    }
    return "\$apr1\$$salt\$$made" . sextets($bytes[11], 2);
}

sub sextets {
    my ($number, $count) = @_;
    return join '', map { substr $digits, $number >> 6 * $_ & 63, 1 } 0 .. $count - 1;
}

1;
