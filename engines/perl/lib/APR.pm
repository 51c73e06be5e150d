# APR: the modules below this name are used one by one.
package APR;

use strict;
use warnings;

our $VERSION = '0.009000';

1;
