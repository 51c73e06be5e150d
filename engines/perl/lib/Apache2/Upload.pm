# Apache2::Upload: uploads of an Apache2::Request; written in APR::Request.
package Apache2::Upload;

use strict;
use warnings;

require APR::Request;
our $VERSION = '2.17';

1;
