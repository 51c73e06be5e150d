package Lab::CommentsCgi;

# The comments with CGI's variables, standard input and standard output; under CGI, Registry and FastCGI alike.
# Whoever calls it says which connection to use.
use strict;
use warnings;
use Lab::Comments ();

sub answer {
    my $with_connection = shift;
    binmode STDOUT;
    return insert($with_connection) if $ENV{REQUEST_METHOD} eq 'POST';
    my $page = $with_connection->(sub { Lab::Comments::page($_[0], $ENV{QUERY_STRING}) });
    print "Content-Type: text/html; charset=utf-8\nContent-Length: ", length $page, "\n\n", $page;
    return;
}

sub insert {
    my $with_connection = shift;
    my $length = $ENV{CONTENT_LENGTH} || 0;
    return refuse('413 Content Too Large') if $length > $Lab::Comments::LONGEST;
    my $body = '';
    while (length $body < $length) {
        read STDIN, $body, $length - length $body, length $body or last;
    }
    $with_connection->(sub { Lab::Comments::insert($_[0], $body) }) or return refuse('400 Bad Request');
    print "Status: 303 See Other\nLocation: $ENV{SCRIPT_NAME}\nContent-Type: text/plain\n\nThank you\n";
    return;
}

sub refuse {
    my $status = shift;
    print "Status: $status\nContent-Type: text/plain\n\n$status\n";
    return;
}

1;
