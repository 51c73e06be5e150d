# Apache2::Connection: who is at the other end. The fields are in C (glue/api_server.c).
package Apache2::Connection;

use strict;
use warnings;

our $VERSION = '2.000012';

# Apache's remote_ip is the peer's; the front has put the client's there where RemoteIPHeader says so.
# Neither goes by way of the other: Apache2::compat makes its remote_addr of client_addr.
sub client_addr { require APR::SockAddr; return APR::SockAddr->of($_[0]->client_ip, $_[0]->remote_port) }
sub local_addr  { require APR::SockAddr; return APR::SockAddr->of($_[0]->local_ip,  $_[0]->local_port) }
*remote_addr = \&client_addr;

# HostnameLookups is off: the name is not known.
sub remote_host { my $unknown;       return $unknown }
sub local_host  { return remote_host() }

# get_remote_host(type): REMOTE_HOST 0: only a name; REMOTE_NAME 1 (the default) and REMOTE_NOLOOKUP 2: the address.
sub get_remote_host {
    my ($c, $type) = @_;
    $type = 1 unless defined $type;
    return $type == 0 || $type == 3 ? undef : $c->remote_ip;
}

sub pool { return Hostler::Request::current()->pool->parent_get }

# The output filters of a connection are the front's: a true value for those who only look whether it is there.
sub outgoing { return 1 }

# The socket is the front's: an object for those who pass it on, whose calls say that they are not supported.
sub client_socket { require APR::Socket; return bless \my $nothing, 'APR::Socket' }

# An object to pass on: modules written in C keep theirs in it.
sub conn_config { return bless \my $nothing, 'Apache2::ConfVector' }

sub bucket_alloc { return bless {}, 'APR::BucketAlloc' }
sub log_id   { return Hostler::Request::current()->log_id }

# Forgets what pnotes holds.
sub pnotes_kill { %{ $_[0]->pnotes } = (); return }

1;
