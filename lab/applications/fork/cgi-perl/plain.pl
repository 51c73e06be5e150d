#!/usr/bin/perl
# A process for each request: perl starts, compiles this, and ends.
use strict;
use warnings;

print "Content-Type: text/plain\n\n";
print 'Hello';
