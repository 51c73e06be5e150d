# APR::PerlIO: the layer `:APR` of open(), which takes a pool behind the file's name. The layer is in C (glue/tie.c).
package APR::PerlIO;

use strict;
use warnings;

our $VERSION = '0.009000';

use constant PERLIO_LAYERS_ARE_ENABLED => 1;

1;
