# ModPerl::InterpPool: not supported; its calls say so. See docs/perl-calls.md.
package ModPerl::InterpPool;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

Hostler::Calls::refuse_all(qw(ModPerl::InterpPool));

1;
