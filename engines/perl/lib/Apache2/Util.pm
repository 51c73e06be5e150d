# Apache2::Util: escaping paths and writing times.
package Apache2::Util;

use strict;
use warnings;

require APR::Date;
our $VERSION = '2.000012';

# escape_path(path, pool, partial = 1): a path with a colon in its first segment gets ./ before it, unless partial is 1.
sub escape_path {
    my ($path, undef, $partial) = @_;
    $partial = 1 unless defined $partial;
    my $escaped = $path =~ s{([^A-Za-z0-9\$\-_.+!*'(),:;@&=/~])}{sprintf '%%%02x', ord $1}ger;
    $escaped = "./$escaped" if !$partial && $path =~ m{\A[^/]*:};
    return $escaped;
}

# ht_time(pool, seconds = now, format, GMT = 1)
sub ht_time {
    my (undef, $time, $format, $gmt) = @_;
    $time = time unless defined $time;
    $gmt  = 1    unless defined $gmt;
    return APR::Date::http($time) if !defined $format && $gmt;
    require POSIX;
    $format = '%a, %d %b %Y %H:%M:%S %Z' unless defined $format;
    $format =~ s/%Z/GMT/g if $gmt;
    return POSIX::strftime($format, $gmt ? gmtime $time : localtime $time);
}

1;
