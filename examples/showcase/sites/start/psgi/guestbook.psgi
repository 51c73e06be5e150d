# The guest book as a PSGI application: a function from an environment to status, header fields and body.
use strict;
use warnings;
use GuestBook;

sub {
    my ($env) = @_;
    my $book = GuestBook->new( database => $env->{GUESTBOOK_DB}, home => $env->{SCRIPT_NAME} );
    my ( $status, $header, $page ) = $book->answer(
        method => $env->{REQUEST_METHOD},
        path   => $env->{PATH_INFO},
        host   => $env->{HTTP_HOST},
        origin => $env->{HTTP_ORIGIN},
        form   => GuestBook::form( body($env) ),
    );
    return [ $status, $header, [$page] ];
};

# The request's body, or undef if it is too large.
sub body {
    my ($env) = @_;
    my $length = $env->{CONTENT_LENGTH} || 0;
    return undef if $length > $GuestBook::LARGEST;
    my $body = '';
    $env->{'psgi.input'}->read( $body, $length ) if $length;
    return $body;
}
