# APR::Const: the constants are in Hostler::Constants.
package APR::Const;

use strict;
use warnings;

require ModPerl::Const;
our @ISA     = ('ModPerl::Const');
our $VERSION = '0.009000';

1;
