# A Registry script: written like a CGI program, but compiled once and
# run again and again by warm workers.
use strict;
use warnings;

our $count;    # A global stays for the worker's life.
$count++;

print "Content-Type: text/html; charset=utf-8\n\n";
print "<p>Worker $$ has run this script $count times, as uid $>.</p>";
print "<p>It sees $ENV{MOD_PERL}.</p>" if $ENV{MOD_PERL};
