# APR::Request::Apache2: libapreq2's view of a request of this server.
package APR::Request::Apache2;

use strict;
use warnings;

use APR::Request ();

our @ISA     = ('APR::Request');
our $VERSION = '2.17';

# handle($r), where $r may be a request or an object around one.
sub handle {
    my ($class, $r) = @_;
    my ($known, $request) = APR::Request::_found($r);
    return bless { r => $request // $r }, ref $class || $class;
}
{ no warnings 'once'; *new = \&handle; }

1;
