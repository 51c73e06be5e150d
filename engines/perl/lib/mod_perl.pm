# mod_perl: what programs of either generation ask for the version.
package mod_perl;

use strict;
use warnings;

our $VERSION = Hostler::settings()->{generation} == 1 ? '1.31' : '2.000012';

# Every hook that can be had.
sub hook { return 1 }

sub import { return }

1;
