#!/usr/bin/perl
# What is left of the requests before? One file, reached by three URLs with three kinds of isolation.
use strict;
use warnings;

my $loaded = keys %INC;    # Before this script loads anything of its own.
our $requests;             # A global: nobody sets it to 0.
$requests++;
require CGI;

print "Content-Type: text/html; charset=utf-8\n\n";
print '<p>Process <strong>', $$, '</strong></p>';
print "<p>its request no. <strong>$requests</strong></p>";
print "<p><strong>$loaded</strong> modules were there before the script began</p>";
