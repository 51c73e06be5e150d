# APR::BucketAlloc: where buckets come from in Apache; here a word that is handed on.
package APR::BucketAlloc;

use strict;
use warnings;

our $VERSION = '0.009000';

sub new     { return bless {}, ref $_[0] || $_[0] }
sub destroy { return }

1;
