# APR::Brigade: not supported; its calls say so. See docs/perl-calls.md.
package APR::Brigade;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

Hostler::Calls::refuse_all(qw(APR::Brigade));

1;
