# mod_perl 1's connection object: the same as Apache2::Connection, with the user of the request, who was found there.
package Apache::Connection;

use strict;
use warnings;
use Apache2::Connection ();
use Apache2::RequestRec ();

our $VERSION = '1.00';

my %called = (
    (   map { $_ => "Apache2::Connection::$_" }
            qw(remote_ip remote_host remote_logname local_addr remote_addr aborted fileno local_ip local_host id
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

sub server { return Apache2::ServerUtil->server }

1;
