# Apache2::SubRequest: what another URL maps to, its answer as part of this one's, and internal redirects.
package Apache2::SubRequest;

use strict;
use warnings;

require Apache2::RequestRec;
our @ISA     = ('Apache2::RequestRec');
our $VERSION = '2.000012';

# Sends the answer to the client; its status.
sub run { return Hostler::Request::run($_[0]) }

package Apache2::RequestRec;

# A relative URL is meant in the folder of this request's.
sub _full {
    my ($base, $target) = @_;
    return $target if $target =~ m{\A/};
    return $base =~ s{[^/]*\z}{}r . $target;
}

sub _look_up {
    my ($r, $method, $target, $file) = @_;
    my $sub = Hostler::Request::look_up($r, $method, $target, $file);
    return $sub if defined $sub;
    require Carp;
    Carp::croak("the server did not say what $target maps to");
}

sub lookup_uri        { my ($r, $uri) = @_; return _look_up($r, 'GET', _full($r->uri, $uri), 0) }
sub lookup_method_uri { my ($r, $method, $uri) = @_; return _look_up($r, $method, _full($r->uri, $uri), 0) }
sub lookup_file       { my ($r, $file) = @_; return _look_up($r, 'GET', _full($r->filename, $file), 1) }

sub internal_redirect {
    my ($r, $uri) = @_;
    Hostler::Request::go_on($r, $uri);
    return;
}

sub internal_redirect_handler { return &internal_redirect }

sub internal_fast_redirect {
    my ($r, $sub) = @_;
    my $args = $sub->args;
    Hostler::Request::redirect($r, $sub->uri . (defined $args && length $args ? "?$args" : ''));
    return;
}

1;
