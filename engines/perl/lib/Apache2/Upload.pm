# Apache2::Upload: uploads of an Apache2::Request.
package Apache2::Upload;

use strict;
use warnings;

use APR::Request::Param ();

our $VERSION = '2.17';
our @ISA     = ('APR::Request::Param');

for my $call (qw(filename fh io link size slurp tempname type)) {
    no strict 'refs';
    *$call = \&{"APR::Request::Param::upload_$call"};
}
{ no warnings 'once'; *bb = \&APR::Request::Param::upload; }

sub Apache2::Request::upload { my ($self, @name) = @_; return $self->_uploads(__PACKAGE__, wantarray, @name) }

1;
