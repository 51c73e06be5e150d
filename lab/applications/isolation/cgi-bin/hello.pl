#!/usr/bin/perl
# Says which host was asked and which user answers.
use strict;
use warnings;

print "Content-Type: text/plain\n\n";
print "This is $ENV{SERVER_NAME}, served by user $>.\n";
