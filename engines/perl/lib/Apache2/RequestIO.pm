# Apache2::RequestIO: what a request prints and reads is in C (glue/api_io.c); here are the calls of mod_perl 1's time.
package Apache2::RequestIO;

use strict;
use warnings;

require Apache2::RequestRec;
our $VERSION = '2.000012';

package Apache2::RequestRec;

sub setup_client_block  { return 0 }
sub should_client_block { return $_[0]->headers_in->get('Content-Length') || $_[0]->headers_in->get('Transfer-Encoding') ? 1 : 0 }

# get_client_block($buffer, $length): how much was read
sub get_client_block {
    my ($r, undef, $length) = @_;
    return $r->read($_[1], $length);
}

1;
