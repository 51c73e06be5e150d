# APR::OS: there are no threads.
package APR::OS;

use strict;
use warnings;

our $VERSION = '0.009000';

sub current_thread_id { return $$ }

1;
