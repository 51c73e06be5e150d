#!/usr/bin/perl
# The heavy program as a script.
use strict;
use warnings;

print "Content-Type: text/plain\n\n";
my $x = 100;
my $y;
$y = log($x ** 100) for 0 .. 10_000;
print 'Hello';
