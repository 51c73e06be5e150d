# APR::ThreadRWLock: a lock for readers and writers among the threads of a process. There is one thread: APR::ThreadMutex.
package APR::ThreadRWLock;

use strict;
use warnings;

our $VERSION = '0.009000';

# new(class, pool)
sub new       { my ($class, $pool) = @_; return bless { pool => $pool }, ref $class || $class }
sub rdlock    { return 0 }
sub wrlock    { return 0 }
sub tryrdlock { return 0 }
sub trywrlock { return 0 }
sub unlock    { return 0 }
sub pool_get  { return $_[0]{pool} }

1;
