# mod_perl 1's log object: $r->log->warn(...), Apache->server->log->error(...). The same as Apache2::Log.
package Apache::Log;

use strict;
use warnings;
use Apache2::Log ();

our $VERSION = '1.00';

for my $class (qw(Apache2::RequestRec Apache2::ServerRec)) {
    my $log = "$class\::log";
    my $to = $class eq 'Apache2::RequestRec' ? 'Apache' : 'Apache::Server';
    no strict 'refs';
    *{"$to\::log"} = \&$log if defined &$log && !defined &{"$to\::log"};
}

1;
