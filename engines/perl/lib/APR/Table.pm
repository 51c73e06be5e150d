# APR::Table: in C (glue/api_table.c).
package APR::Table;

use strict;
use warnings;

our $VERSION = '0.009000';

1;
