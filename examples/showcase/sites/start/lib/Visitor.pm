package Visitor;

# A handler of mod_perl 2: a function that gets the request and answers it. It is loaded before the workers are
# forked (startup.pl), so they share its memory.
use strict;
use warnings;
use Apache2::RequestRec  ();
use Apache2::RequestIO   ();
use Apache2::RequestUtil ();
use Apache2::Connection  ();
use APR::Table           ();
use Apache2::Const -compile => 'OK';

sub handler {
    my ($r) = @_;
    my $agent = $r->headers_in->get('User-Agent') // 'something that says no name';
    $agent =~ s/([&<>])/sprintf '&#%d;', ord $1/ge;

    $r->content_type('text/html; charset=utf-8');
    $r->print( '<p>', $r->dir_config('Greeting'), ', ', $r->connection->client_ip, '!</p>' );
    $r->print("<p>You came with $agent, and worker $$ wrote this.</p>");
    return Apache2::Const::OK;
}

1;
