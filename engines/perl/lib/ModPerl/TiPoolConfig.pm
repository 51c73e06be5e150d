# ModPerl::TiPoolConfig: not supported; its calls say so. See docs/perl-calls.md.
package ModPerl::TiPoolConfig;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

Hostler::Calls::refuse_all(qw(ModPerl::TiPoolConfig));

1;
