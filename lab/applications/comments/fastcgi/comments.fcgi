#!/usr/bin/perl
# The comments as a FastCGI program: a process that takes one request after the other, and keeps its connection.
use strict;
use warnings;
use File::Basename ();
use lib File::Basename::dirname(__FILE__) . '/../lib';
use FCGI             ();
use Lab::CommentsCgi ();

my $request = FCGI::Request();
while ($request->Accept >= 0) {
    Lab::CommentsCgi::answer(\&Lab::Comments::with_connection);
}
