# APR::Request::CGI: libapreq2's view of what a CGI program finds in its environment and at its standard input.
package APR::Request::CGI;

use strict;
use warnings;

use APR::Request ();

our @ISA     = ('APR::Request');
our $VERSION = '2.17';

# handle(pool)
sub handle {
    my ($class, $pool) = @_;
    my %source = (
        pool    => $pool,
        query   => $ENV{QUERY_STRING},
        cookies => $ENV{HTTP_COOKIE},
        type    => $ENV{CONTENT_TYPE},
        length  => $ENV{CONTENT_LENGTH},
    );
    my $left = $source{length} || 0;
    $source{read} = sub {
        my $wanted = $_[0] < $left ? $_[0] : $left;
        return '' unless $wanted && read(STDIN, my $piece, $wanted);
        $left -= length $piece;
        return $piece;
    };
    return bless { known => { how => {}, source => \%source } }, ref $class || $class;
}
{ no warnings 'once'; *new = \&handle; }

1;
