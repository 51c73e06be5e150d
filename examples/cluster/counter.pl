#!/usr/bin/perl
# A FastCGI program for several machines: it counts how often a visitor has come, and keeps that in Valkey (or Redis), so
# that it makes no difference which of the programs is asked. Sessions are named by a cookie.
#
#   counter.pl ADDRESS:PORT     FastCGI at this address
#   SESSIONS=HOST:PORT          where Valkey is
use strict;
use warnings;
use FCGI;
use IO::Socket::INET;

my $address  = shift or die "usage: counter.pl ADDRESS:PORT\n";
my $sessions = $ENV{SESSIONS} or die "SESSIONS has to say where Valkey is\n";
my $valkey;

# FCGI.pm accepts what comes at descriptor 0, wherever that listens.
my $listener =
  IO::Socket::INET->new( LocalAddr => $address, Listen => 100, ReuseAddr => 1, Proto => 'tcp' )
  or die "no socket at $address: $!\n";
open STDIN, '<&', $listener or die "no descriptor: $!\n";

# One word of Valkey's protocol (RESP): a command, and its answer's number.
sub ask {
    my @words = @_;
    for my $attempt ( 1, 2 ) {
        $valkey ||= IO::Socket::INET->new( PeerAddr => $sessions, Timeout => 2 ) or next;
        my $said = print {$valkey} '*' . @words . "\r\n", map { '$' . length($_) . "\r\n$_\r\n" } @words;
        my $answer = $said ? readline $valkey : undef;
        return $1 if defined $answer && $answer =~ /^:(\d+)/;
        undef $valkey;
    }
    return;
}

my %env;
my $request = FCGI::Request( \*STDIN, \*STDOUT, \*STDERR, \%env );
while ( $request->Accept() >= 0 ) {
    my ($session) = ( $env{HTTP_COOKIE} // q{} ) =~ /\bSESSION=([0-9a-f]{16,64})/;
    my $new = !$session;
    if ($new) {
        open my $random, '<', '/dev/urandom' or die "no random numbers: $!\n";
        read $random, my $bytes, 16;
        close $random;
        $session = unpack 'H*', $bytes;
    }
    my $count = ask( 'INCR', "counter:$session" );
    if ( !defined $count ) {
        print "Status: 503 No sessions\r\nContent-Type: text/plain\r\n\r\nThe sessions can't be reached.\n";
        next;
    }
    ask( 'EXPIRE', "counter:$session", 86_400 );
    print "Content-Type: text/plain\r\n";
    print "Set-Cookie: SESSION=$session; HttpOnly; SameSite=Lax; Path=/\r\n" if $new;
    print "\r\nYou have come $count times. Process $$ at $address has told you.\n";
}
