# Apache2::URI: URLs of this server, and of the request, as APR::URI objects.
package Apache2::URI;

use strict;
use warnings;

require Apache2::RequestRec;
require APR::URI;
our $VERSION = '2.000012';

# Decodes in place; the decoded text. What is no escape stays.
sub unescape_url {
    $_[0] =~ s{%([0-9A-Fa-f]{2})}{chr hex $1}ge;
    return $_[0];
}

package Apache2::RequestRec;

sub construct_server {
    my ($r, $name, $port) = @_;
    $name = $r->get_server_name unless defined $name;
    $port = $r->get_server_port unless defined $port;
    $name = "[$name]" if $name =~ /:/ && $name !~ /\A\[/;
    my $default = Hostler::Connection::is_tls($r) ? 443 : 80;
    return $port == $default ? $name : "$name:$port";
}

sub construct_url {
    my ($r, $path) = @_;
    $path = $r->uri unless defined $path;
    return (Hostler::Connection::is_tls($r) ? 'https://' : 'http://') . $r->construct_server . $path;
}

# The parts of another URL become this request's.
sub parse_uri {
    my ($r, $uri) = @_;
    my $parsed = APR::URI->parse($r->pool, $uri);
    $r->uri($parsed->path // '/');
    $r->args($parsed->query);
    $r->unparsed_uri($uri);
    $r->hostname($parsed->hostname) if defined $parsed->hostname;
    Hostler::Request::stash($r)->{parsed_uri} = $parsed;
    return;
}

# The port is the one of the Host field, without a name (ap_update_vhost_from_headers).
sub _parsed {
    my $r      = shift;
    my $parsed = APR::URI->parse($r->pool, $r->unparsed_uri);
    my ($port) = ($r->headers_in->get('Host') // '') =~ /:([0-9]+)\z/;
    $parsed->{port} = $port if defined $port && !defined $parsed->{port};
    return $parsed;
}

sub parsed_uri {
    my $r = shift;
    my $parsed = Hostler::Request::stash($r)->{parsed_uri} ||= _parsed($r);
    $parsed->{path_info} = $r->path_info;
    return $parsed;
}

1;
