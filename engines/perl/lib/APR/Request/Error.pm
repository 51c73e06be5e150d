# APR::Request::Error: see APR::Request.
package APR::Request::Error;

use strict;
use warnings;

require APR::Request;
our $VERSION = '2.17';

1;
