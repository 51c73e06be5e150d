#!/usr/bin/perl
# The comments as a CGI program: perl, DBI and the connection for one request.
use strict;
use warnings;
use File::Basename ();
use lib File::Basename::dirname(__FILE__) . '/../lib';
use Lab::CommentsCgi ();

Lab::CommentsCgi::answer(sub { $_[0]->(Lab::Comments::connect_to($ENV{COMMENTS_DSN})) });
