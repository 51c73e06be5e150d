# A PSGI application: a function that gets a request's environment and returns status, header fields and body.
# Below /drip it streams: it asks for a writer, and sends one line after the other.
use strict;
use warnings;

my $requests = 0;

my $hello = sub {
    my ($env) = @_;
    $requests++;
    my $mounted = $env->{SCRIPT_NAME} || '/';
    my $version = join '.', @{ $env->{'psgi.version'} };
    my $page    = "<p>Request $requests of worker $$, mounted at <code>$mounted</code>, PSGI $version.</p>";
    return [ 200, [ 'Content-Type' => 'text/html; charset=utf-8' ], [$page] ];
};

my $drip = sub {
    my ($respond) = @_;
    my $writer = $respond->( [ 200, [ 'Content-Type' => 'text/plain; charset=utf-8' ] ] );
    for my $drop ( 1 .. 10 ) {
        $writer->write( "Line $drop, written at " . localtime() . "\n" );
        select undef, undef, undef, 0.3;
    }
    $writer->close;
};

sub { my ($env) = @_; return $env->{PATH_INFO} eq '/drip' ? $drip : $hello->($env) };
