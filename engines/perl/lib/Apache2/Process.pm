# Apache2::Process: the process as programs see it: a name, and pools that end with it.
package Apache2::Process;

use strict;
use warnings;

our $VERSION = '2.000012';

sub pool       { require APR::Pool; return APR::Pool::of_process() }
sub pconf      { return $_[0]->pool }
sub short_name { return 'hostler-perl' }

1;
