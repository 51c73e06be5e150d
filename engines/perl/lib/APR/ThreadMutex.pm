# APR::ThreadMutex: a lock between the threads of a process. There is one thread, so it is always free for it.
package APR::ThreadMutex;

use strict;
use warnings;

our $VERSION = '0.009000';

# new(class, pool)
sub new      { my ($class, $pool) = @_; return bless { pool => $pool }, ref $class || $class }
sub lock     { return 0 }
sub trylock  { return 0 }
sub unlock   { return 0 }
sub pool_get { return $_[0]{pool} }

1;
