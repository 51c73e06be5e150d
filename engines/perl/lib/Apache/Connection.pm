# mod_perl 1's connection object: the same as Apache2::Connection, with the user of the request, who was found there.
package Apache::Connection;

use strict;
use warnings;
use Apache2::Connection ();
use Apache2::RequestRec ();

our $VERSION = '1.00';

my %called = (
    (   map { $_ => "Apache2::Connection::$_" }
            qw(remote_ip remote_host remote_logname aborted fileno local_ip local_host id
            get_remote_host)
    ),
    user      => 'Apache2::RequestRec::user',
    auth_type => 'Apache2::RequestRec::ap_auth_type',
);
{
    no strict 'refs';
    $called{remote_ip} = 'Apache2::Connection::client_ip' unless defined &Apache2::Connection::remote_ip;
    for my $name (keys %called) {
        my $code = $called{$name};
        *$name = \&$code if defined &$code;
    }
}

# As the system's calls have them: Socket's unpack_sockaddr_in takes them apart.
sub _packed {
    my ($ip, $port) = @_;
    require Socket;
    return Socket::pack_sockaddr_in($port, Socket::inet_aton($ip)) if $ip !~ /:/;
    return Socket::pack_sockaddr_in6($port, Socket::inet_pton(Socket::AF_INET6(), $ip));
}

sub remote_addr { my $c = shift; return _packed($c->remote_ip, Apache2::Connection::remote_port($c)) }
sub local_addr  { my $c = shift; return _packed(Apache2::Connection::local_ip($c), Apache2::Connection::local_port($c)) }

sub server { return Apache2::ServerUtil->server }

1;
