# mod_perl 1's Apache::Include: another URL's answer as part of this one.
package Apache::Include;

use strict;
use warnings;
use Apache ();
use Apache::Constants qw(OK);

our $VERSION = '1.00';

sub handler ($$) {
    my ($class, $r) = @_ >= 2 ? @_ : (__PACKAGE__, @_);
    return $class->virtual($r->uri, $r);
}

# virtual($uri, $r): its status.
sub virtual {
    my ($class, $uri, $r) = @_;
    $r ||= Apache->request;
    my $sub = $r->lookup_uri($uri);
    return $sub->status if $sub->status >= 400;
    return $sub->run;
}

1;
