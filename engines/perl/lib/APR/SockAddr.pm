# APR::SockAddr: an address and a port.
package APR::SockAddr;

use strict;
use warnings;

our $VERSION = '0.009000';

sub of     { my ($class, $ip, $port) = @_; return bless { ip => $ip, port => $port }, $class }
sub ip_get { return $_[0]{ip} }
sub port   { return $_[0]{port} }
sub equal  { return $_[0]{ip} eq $_[1]{ip} }

1;
