# Apache2::FilterRec: what kind of filter one is.
package Apache2::FilterRec;

use strict;
use warnings;

our $VERSION = '2.000012';

sub name { return $_[0]{name} }

1;
