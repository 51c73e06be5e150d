# mod_perl 1's server object: the same as Apache2::ServerRec.
package Apache::Server;

use strict;
use warnings;
use Apache2::Log        ();
use Apache2::ServerRec  ();
use Apache2::ServerUtil ();

our $VERSION = '1.01';

# Starting: 1 while programs are loaded, before there are requests (the engine sets it).
our $Starting;
our ($ReStarting, $AddPerlVersion) = (0, 1);
our $CWD = Apache2::ServerUtil::server_root();

{
    no strict 'refs';
    for my $name (
        qw(server_admin server_hostname port is_virtual names loglevel error_fname log_error warn log next
        dir_config push_handlers set_handlers get_handlers path keep_alive keep_alive_timeout add_config)
        )
    {
        my $code = "Apache2::ServerRec::$name";
        *$name = \&$code if defined &$code;
    }
}

# In seconds.
sub timeout { return int($_[0]->Apache2::ServerRec::timeout / 1_000_000) }

sub uid { return $> }
sub gid { return $) + 0 }

1;
