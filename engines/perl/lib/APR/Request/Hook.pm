# APR::Request::Hook: see APR::Request's upload_hook and disable_uploads.
package APR::Request::Hook;

use strict;
use warnings;

use APR::Request ();
our $VERSION = '2.17';

1;
