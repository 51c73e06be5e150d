# APR::BucketType: what kind a bucket is of.
package APR::BucketType;

use strict;
use warnings;

our $VERSION = '0.009000';

sub name { return $_[0]{name} }

1;
