#!/usr/bin/perl
# The guest book, as a CGI program and as a Registry script: the same file, reached by two URLs (httpd.conf).
use strict;
use warnings;
use CGI qw(-utf8);
use GuestBook;

$CGI::POST_MAX        = $GuestBook::LARGEST;
$CGI::DISABLE_UPLOADS = 1;

my $cgi  = CGI->new;
my $book = GuestBook->new( database => $ENV{GUESTBOOK_DB}, home => $ENV{SCRIPT_NAME} );

my ( $status, $header, $page ) = $book->answer(
    method => $cgi->request_method,
    path   => $cgi->path_info // '',
    host   => scalar $cgi->http('Host'),
    origin => scalar $cgi->http('Origin'),
    form   => $cgi->cgi_error ? undef : { map { $_ => scalar $cgi->param($_) } qw(name words) },
);

binmode STDOUT;
print "Status: $status\n";
while ( my ( $name, $value ) = splice @$header, 0, 2 ) { print "$name: $value\n" }
print "\n", $page;
