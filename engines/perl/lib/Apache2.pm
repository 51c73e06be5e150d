# Apache2: in mod_perl 2.0 a place for modules; nothing needs it.
package Apache2;

use strict;
use warnings;

our $VERSION = '2.000012';

sub request { require Apache2::RequestUtil; return Apache2::RequestUtil->request(@_[ 1 .. $#_ ]) }

1;
