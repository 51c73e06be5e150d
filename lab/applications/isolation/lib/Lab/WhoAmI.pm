package Lab::WhoAmI;

# Says which host was asked and which user answers.
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO  ();
use Apache2::Const -compile => 'OK';

sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print('This is ', $r->hostname, ", served by user $>.\n");
    return Apache2::Const::OK;
}

1;
