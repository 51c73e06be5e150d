# mod_perl 1's Apache::SIG, which let a child of Apache survive clients that go away. Here no worker writes to a client, so there
# is nothing to do; configurations name it all the same (PerlFixupHandler Apache::SIG, Apache::SIG->set).
package Apache::SIG;

use strict;
use warnings;

our $VERSION = '1.91';

sub handler { return -1 }    # DECLINED
sub set     { return }

1;
