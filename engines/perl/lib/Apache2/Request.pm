# Apache2::Request: a request object that also knows parameters, uploads and cookies (libapreq2).
package Apache2::Request;

use strict;
use warnings;

require Apache2::RequestRec;
require Apache2::RequestIO;
use APR::Request::Apache2 ();
use APR::Request::Param   ();
use Apache2::Upload       ();

our $VERSION = '2.17';
our @ISA     = ('Apache2::RequestRec', 'APR::Request::Apache2');

# new($r, POST_MAX => bytes, DISABLE_UPLOADS => 1, TEMP_DIR => path, UPLOAD_HOOK => code, HOOK_DATA => anything)
sub new {
    my ($class, $r, %how) = @_;
    my $self = $class->APR::Request::Apache2::handle($r);
    for my $name (sort keys %how) {
        my $call = lc $name =~ s/\A-//r;
        $self->$call($how{$name});
    }
    return $self;
}
{ no warnings 'once'; *instance = \&new; }

sub env { return $_[0]{r} }

# A parameter of the query string; without a name the query string, as of any request.
sub args { my $self = shift; return @_ ? $self->APR::Request::args(@_) : $self->Apache2::RequestRec::args }

# Of no use where uploads were disabled before.
sub disable_uploads { my ($self, $off) = @_; return $off ? $self->APR::Request::disable_uploads : undef }

1;
