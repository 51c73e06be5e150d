package GuestBook::Handler;

# The guest book as a handler of mod_perl 2 (PerlResponseHandler GuestBook::Handler).
use strict;
use warnings;
use Apache2::RequestRec  ();
use Apache2::RequestIO   ();
use Apache2::RequestUtil ();
use APR::Table           ();
use Apache2::Const -compile => 'OK';
use GuestBook;

sub handler {
    my ($r) = @_;
    my $home = $r->location;
    my $book = GuestBook->new( database => $r->dir_config('GuestBook'), home => $home );

    my ( $status, $header, $page ) = $book->answer(
        method => $r->method,
        path   => substr( $r->uri, length $home ),
        host   => scalar $r->headers_in->get('Host'),
        origin => scalar $r->headers_in->get('Origin'),
        form   => GuestBook::form( body($r) ),
    );

    $r->status($status);
    while ( my ( $name, $value ) = splice @$header, 0, 2 ) {
        if   ( $name eq 'Content-Type' ) { $r->content_type($value) }
        else                             { $r->headers_out->set( $name => $value ) }
    }
    $r->print($page);
    return Apache2::Const::OK;
}

# The request's body, or undef if it is too large.
sub body {
    my ($r) = @_;
    my $body = '';
    while ( $r->read( my $piece, 4096 ) ) {
        $body .= $piece;
        return undef if length $body > $GuestBook::LARGEST;
    }
    return $body;
}

1;
