# Apache2::MPM: a process serves one request at a time: what Apache calls prefork.
package Apache2::MPM;

use strict;
use warnings;

our $VERSION = '2.000012';

# By Apache2::Const::MPMQ_ numbers: forked, with as many processes as the pool may have; no threads.
my %answer = (1 => 0, 2 => 0, 3 => 2, 4 => 0, 6 => 1, 13 => 0);

sub query       { return $answer{ $_[-1] } }    # undef for what it has no number for
sub show        { return 'prefork' }
sub is_threaded { return 0 }

1;
