# APR::Request::Apache2: libapreq2's view of a request of this server.
package APR::Request::Apache2;

use strict;
use warnings;

use APR::Request ();

our @ISA     = ('APR::Request');
our $VERSION = '2.17';

sub handle { my ($class, $r) = @_; return bless { r => ref $r eq 'HASH' || !Hostler::Request::is($r) ? $r->{r} : $r }, $class }

1;
