# Apache2::ServerRec: a virtual host. The fields are in C (glue/api_server.c).
package Apache2::ServerRec;

use strict;
use warnings;

our $VERSION = '2.000012';

sub process       { return bless \my $nothing, 'Apache2::Process' }
sub server_scheme { return $_[0]->port == 443 ? 'https' : 'http' }
sub wild_names    { return [ grep { /[*?]/ } @{ $_[0]->names } ] }

require Apache2::Process;

1;
