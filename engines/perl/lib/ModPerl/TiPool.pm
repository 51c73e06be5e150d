# ModPerl::TiPool: not supported; its calls say so. See docs/perl-calls.md.
package ModPerl::TiPool;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

Hostler::Calls::refuse_all(qw(ModPerl::TiPool));

1;
