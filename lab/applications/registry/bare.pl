#!/usr/bin/perl
# The heavy work without any server: how often a second one processor can do it. Prints that figure.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

sub heavy {
    my $x = 100;
    my $y;
    $y = log($x ** 100) for 0 .. 10_000;
    return;
}

my $seconds = shift || 2;
heavy() for 1 .. 20;
my ($begin, $count, $used) = (clock_gettime(CLOCK_PROCESS_CPUTIME_ID), 0, 0);
while ($used < $seconds) {
    heavy();
    $count++;
    $used = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $begin;
}
printf "%.2f\n", $count / $used;
