#!/usr/bin/perl
# The same with CGI.pm, as many old programs begin: most of the time is spent on loading it.
use strict;
use warnings;
use CGI ();

my $q = CGI->new;
print $q->header(-type => 'text/plain', -charset => 'utf-8');
print 'Hello';
