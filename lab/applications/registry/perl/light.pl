#!/usr/bin/perl
# The light program as a script.
use strict;
use warnings;

print "Content-Type: text/plain\n\n";
print 'Hello';
