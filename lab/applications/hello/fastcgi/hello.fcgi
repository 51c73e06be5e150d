#!/usr/bin/perl
# A word from a FastCGI program. Without arguments it listens at descriptor 0, as who starts it has it; `hello.fcgi SOCKET
# NUMBER` makes the socket itself, and so many processes.
use strict;
use warnings;
use FCGI ();

my $request = @ARGV ? at_a_socket(@ARGV) : FCGI::Request();
while ($request->Accept >= 0) {
    print "Content-Type: text/plain\r\n\r\nHello";
}

sub at_a_socket {
    my ($path, $number) = @_;
    my $socket = FCGI::OpenSocket($path, 4096);
    my @children;
    while (@children < $number - 1) {
        my $child = fork // die "cannot fork: $!";
        if (!$child) {
            @children = ();
            last;
        }
        push @children, $child;
    }
    if (@children) {
        ## no critic (RequireLocalizedPunctuationVars) It holds as long as the program.
        $SIG{TERM} = sub { kill TERM => @children; exit };
    }
    return FCGI::Request(\*STDIN, \*STDOUT, \*STDERR, \%ENV, $socket);
}
