# APR::Request::Param: see APR::Request; parameters are plain strings here.
package APR::Request::Param;

use strict;
use warnings;

use APR::Request ();

our $VERSION = '2.17';

1;
