package Lab::CommentsHandler;

# The comments as a mod_perl handler: the connection is kept, and the page goes to the server in one piece.
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO  ();
use APR::Table          ();
use Apache2::Const -compile => qw(OK HTTP_SEE_OTHER HTTP_BAD_REQUEST HTTP_REQUEST_ENTITY_TOO_LARGE M_POST);
use Lab::Comments ();

sub handler {
    my $r = shift;
    return insert($r) if $r->method_number == Apache2::Const::M_POST;
    my $page = Lab::Comments::with_connection(sub { Lab::Comments::page($_[0], scalar $r->args) });
    $r->content_type('text/html; charset=utf-8');
    $r->set_content_length(length $page);
    $r->print($page);
    return Apache2::Const::OK;
}

sub insert {
    my $r    = shift;
    my $body = '';
    while ($r->read(my $piece, 16_384)) {
        $body .= $piece;
        return Apache2::Const::HTTP_REQUEST_ENTITY_TOO_LARGE if length $body > $Lab::Comments::LONGEST;
    }
    Lab::Comments::with_connection(sub { Lab::Comments::insert($_[0], $body) })
        or return Apache2::Const::HTTP_BAD_REQUEST;
    $r->headers_out->set(Location => $r->uri);
    return Apache2::Const::HTTP_SEE_OTHER;
}

1;
