#!/usr/bin/perl
# A FastCGI program: what stands before the loop is done once, what stands in it for each request.
use strict;
use warnings;
use FCGI;

my ($name)   = $0 =~ /(\w+)\.fcgi$/;
my $requests = 0;

my $request = FCGI::Request();
while ( $request->Accept() >= 0 ) {
    $requests++;
    print "Content-Type: text/html; charset=utf-8\r\n\r\n",
        "<p>Program <strong>$name</strong>, process $$ of uid $>: its request no. <strong>$requests</strong>.</p>\n";
}
