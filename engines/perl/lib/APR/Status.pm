# APR::Status: what an error number means, whatever the system calls it.
package APR::Status;

use strict;
use warnings;

use Errno ();

our $VERSION = '0.009000';

sub is_EAGAIN       { return $_[0] == Errno::EAGAIN() }
sub is_EACCES       { return $_[0] == Errno::EACCES() }
sub is_ENOENT       { return $_[0] == Errno::ENOENT() }
sub is_ECONNABORTED { return $_[0] == Errno::ECONNABORTED() }
sub is_ECONNRESET   { return $_[0] == Errno::ECONNRESET() }
sub is_EOF          { return $_[0] == 70014 }
sub is_TIMEUP       { return $_[0] == 70007 || $_[0] == Errno::ETIMEDOUT() }

1;
