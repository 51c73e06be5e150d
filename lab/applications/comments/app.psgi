# The comments as a PSGI application: the connection is kept, and the page goes to the server in one piece.
use strict;
use warnings;
use File::Basename ();
use lib File::Basename::dirname(__FILE__) . '/lib';
use Lab::Comments ();

my @TEXT = ('Content-Type' => 'text/plain');

sub insert {
    my $env    = shift;
    my $length = $env->{CONTENT_LENGTH} || 0;
    return [413, [@TEXT], ["413 Content Too Large\n"]] if $length > $Lab::Comments::LONGEST;
    my $body = '';
    while (length $body < $length) {
        $env->{'psgi.input'}->read($body, $length - length $body, length $body) or last;
    }
    Lab::Comments::with_connection(sub { Lab::Comments::insert($_[0], $body) })
        or return [400, [@TEXT], ["400 Bad Request\n"]];
    return [303, [Location => $env->{SCRIPT_NAME} . $env->{PATH_INFO}, @TEXT], ["Thank you\n"]];
}

sub {
    my $env = shift;
    return insert($env) if $env->{REQUEST_METHOD} eq 'POST';
    my $page = Lab::Comments::with_connection(sub { Lab::Comments::page($_[0], $env->{QUERY_STRING}) });
    return [200, ['Content-Type' => 'text/html; charset=utf-8', 'Content-Length' => length $page], [$page]];
};
