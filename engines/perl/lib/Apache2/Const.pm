# Apache2::Const: the constants are in Hostler::Constants.
package Apache2::Const;

use strict;
use warnings;

require ModPerl::Const;
our @ISA     = ('ModPerl::Const');
our $VERSION = '2.000012';

1;
