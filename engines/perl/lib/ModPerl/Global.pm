# ModPerl::Global: END blocks of a package, kept aside so that they can be run after each request. In C
# (glue/ends.c).
package ModPerl::Global;

use strict;
use warnings;

our $VERSION = '2.000012';

1;
