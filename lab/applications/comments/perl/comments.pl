#!/usr/bin/perl
# The comments as a Registry script: the same as the CGI program, but perl, DBI and the connection stay.
use strict;
use warnings;
use Lab::CommentsCgi ();

Lab::CommentsCgi::answer(\&Lab::Comments::with_connection);
