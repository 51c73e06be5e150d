# mod_perl 1's sub-requests; the class itself is in Apache.pm.
package Apache::SubRequest;

use strict;
use warnings;
use Apache ();

our $VERSION = '1.00';

1;
