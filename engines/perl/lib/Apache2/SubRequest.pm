# Apache2::SubRequest: what another URL maps to, its answer as part of this one's, and internal redirects.
package Apache2::SubRequest;

use strict;
use warnings;

require Apache2::RequestRec;
our @ISA     = ('Apache2::RequestRec');
our $VERSION = '2.000012';

# Sends the answer to the client, past the filters of the request that it is a part of, unless `lookup_...` was given where
# in their chain it begins; its status.
sub run {
    my $sub = shift;
    if (Hostler::Request::stash($sub)->{'is for filters'}) {
        require Carp;
        Carp::croak("run: what another request answers cannot go through this one's filters in Perl");
    }
    return Hostler::Request::run($sub);
}

package Apache2::RequestRec;

# A relative URL is meant in the folder of this request's.
sub _full {
    my ($base, $target) = @_;
    return $target if $target =~ m{\A/};
    return $base =~ s{[^/]*\z}{}r . $target;
}

sub _look_up {
    my ($r, $method, $target, $uri_of_file, $first_filter) = @_;
    my $sub = Hostler::Request::look_up($r, $method, $target, $uri_of_file);
    if (!defined $sub) {
        require Carp;
        Carp::croak("the server did not say what $target maps to");
    }
    # Behind those in Perl only the server's own are left.
    Hostler::Request::stash($sub)->{'is for filters'} = 1
        if ref $first_filter && $first_filter->{at} < @{ $first_filter->{chain} };
    return $sub;
}

sub lookup_uri {
    my ($r, $uri, $first_filter) = @_;
    return _look_up($r, 'GET', _full($r->uri, $uri), undef, $first_filter);
}

sub lookup_method_uri {
    my ($r, $method, $uri, $first_filter) = @_;
    return _look_up($r, $method, _full($r->uri, $uri), undef, $first_filter);
}

# A file beside this request's has a URL beside this request's; another has none (ap_sub_req_lookup_file).
sub lookup_file {
    my ($r, $file, $first_filter) = @_;
    my $full   = _full($r->filename, $file);
    my $folder = $r->filename =~ s{[^/]*\z}{}r;
    my $uri    = index($full, $folder) == 0 ? _full($r->uri, substr $full, length $folder) : '';
    return _look_up($r, 'GET', $full, $uri, $first_filter);
}

sub internal_redirect {
    my ($r, $uri) = @_;
    Hostler::Request::go_on($r, $uri, 0);
    return;
}

# The other request begins with this one's content type.
sub internal_redirect_handler {
    my ($r, $uri) = @_;
    Hostler::Request::go_on($r, $uri, 1);
    return;
}

sub internal_fast_redirect {
    my ($r, $sub) = @_;
    my $args = $sub->args;
    Hostler::Request::redirect($r, $sub->uri . (defined $args && length $args ? "?$args" : ''));
    return;
}

1;
