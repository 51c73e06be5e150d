# Apache2::Request: a request object that also knows parameters, uploads and cookies (libapreq2).
package Apache2::Request;

use strict;
use warnings;

require Apache2::RequestRec;
require Apache2::RequestIO;
use APR::Request          ();
use APR::Request::Apache2 ();
use Apache2::Upload       ();

our $VERSION = '2.17';
our @ISA     = ('Apache2::RequestRec', 'APR::Request::Apache2');

# libapreq2's calls come before Apache2::RequestRec's of the same names (args).
for my $call (qw(args param body upload jar args_status body_status)) {
    no strict 'refs';
    *$call = \&{"APR::Request::$call"};
}

# new($r, POST_MAX => bytes, DISABLE_UPLOADS => 1, TEMP_DIR => path, UPLOAD_HOOK => code, HOOK_DATA => anything)
sub new {
    my ($class, $r, %how) = @_;
    $r = $r->{r} while ref $r && Scalar::Util::reftype($r) eq 'HASH' && $r->{r};
    my $self = bless { r => $r }, $class;
    my $kept = $self->_how;
    $kept->{ lc $_ } = $how{$_} for keys %how;
    return $self;
}

sub instance { my ($class, $r, %how) = @_; return $class->new($r, %how) }
sub env      { return $_[0]{r} }

# Reads the body now: its status.
sub parse { return $_[0]->body_status }

require Scalar::Util;

1;
