# Apache::Registry under the name that mod_perl 1 gave to its form in C; here the usual one is fast already.
package Apache::RegistryXS;

use strict;
use warnings;
use Apache::Registry ();

our $VERSION = '0.03';

sub handler { return Apache::Registry->handler($_[-1]) }

1;
