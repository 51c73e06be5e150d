# Apache2::ServerRec: a virtual host. The fields are in C (glue/api_server.c).
package Apache2::ServerRec;

use strict;
use warnings;

our $VERSION = '2.000012';

sub process       { return bless \my $nothing, 'Apache2::Process' }
sub server_scheme { return $_[0]->port == 443 ? 'https' : 'http' }
# Objects to pass on: the addresses have nothing in them, the settings are those outside of all sections.
sub addrs           { return bless \my $nothing, 'Apache2::ServerAddr' }
sub lookup_defaults { return bless { layers => undef, server => Hostler::Server::id($_[0]) }, 'Apache2::ConfVector' }

sub module_config { return $_[0]->lookup_defaults }

sub wild_names    { return [ grep { /[*?]/ } @{ $_[0]->names } ] }

require Apache2::Process;

1;
