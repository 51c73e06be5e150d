#!/usr/bin/perl
# The heavy work without any server, for so many seconds of processor time, or by the clock. Prints how often it was
# done in a second by the clock, and the processor time in seconds that one took.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID);

sub heavy {
    my $x = 100;
    my $y;
    $y = log($x ** 100) for 0 .. 10_000;
    return;
}

my $seconds = shift || 2;
my $bound   = (shift // 'processor') eq 'clock' ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
heavy() for 1 .. 20;
my %begin = map { $_ => clock_gettime($_) } CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID;
my $count = 0;
do {
    heavy();
    $count++;
} while clock_gettime($bound) - $begin{$bound} < $seconds;
printf "%.3f %.9f\n", $count / (clock_gettime(CLOCK_MONOTONIC) - $begin{+CLOCK_MONOTONIC}),
    (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $begin{+CLOCK_PROCESS_CPUTIME_ID}) / $count;
