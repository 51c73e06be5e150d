# APR::Bucket: not supported; its calls say so. See docs/perl-calls.md.
package APR::Bucket;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

Hostler::Calls::refuse_all(qw(APR::Bucket));

1;
