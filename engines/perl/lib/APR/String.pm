# APR::String: sizes for people.
package APR::String;

use strict;
use warnings;

our $VERSION = '0.009000';

# Four characters: 987, 1.2K, 35M.
sub format_size {
    my $size = shift;
    return '  - ' if $size < 0;
    return sprintf '%3d ', $size if $size < 973;
    for my $unit (qw(K M G T P E)) {
        my $rest = $size % 1024;
        $size = int $size / 1024;
        next if $size >= 973;
        if ($size < 9 || ($size == 9 && $rest < 973)) {
            $rest = int(($rest * 5 + 256) / 512);
            ($size, $rest) = ($size + 1, 0) if $rest >= 10;
            return "$size.$rest$unit";
        }
        $size++ if $rest >= 512;
        return sprintf '%3d%s', $size, $unit;
    }
    return '****';
}

1;
