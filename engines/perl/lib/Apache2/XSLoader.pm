# Apache2::XSLoader: nothing is to be loaded, the calls are in the engine.
package Apache2::XSLoader;

use strict;
use warnings;

sub BOOTSTRAP () { 0 }
sub load      { return }

1;
