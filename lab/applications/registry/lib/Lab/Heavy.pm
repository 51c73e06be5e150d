package Lab::Heavy;

# The heavy program as a handler: the same after 10,001 logarithms.
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO  ();
use Apache2::Const -compile => 'OK';

sub handler {
    my $r = shift;
    $r->content_type('text/plain');

    # A variable, since perl would compute log(100 ** 100) when it compiles.
    my $x = 100;
    my $y;
    $y = log($x ** 100) for 0 .. 10_000;
    $r->print('Hello');
    return Apache2::Const::OK;
}

1;
