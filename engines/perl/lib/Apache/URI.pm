# mod_perl 1's URI object: Apache::URI->parse($r, $text), $r->parsed_uri.
package Apache::URI;

use strict;
use warnings;
use APR::URI ();

our $VERSION = '1.00';
my @parts = qw(scheme hostinfo user password hostname port path query fragment);

# parse($r, $text): without a text, the request's own.
sub parse {
    my ($class, $r, $text) = @_;
    unless (defined $text) {
        my $port = $r->get_server_port;
        my $tls  = ($r->subprocess_env('HTTPS') || '') eq 'on';
        my $host = $r->get_server_name . ($port == ($tls ? 443 : 80) ? '' : ":$port");
        $text = ($tls ? 'https' : 'http') . "://$host" . ($r->unparsed_uri // $r->uri);
    }
    my $self = bless {}, $class;
    @$self{qw(scheme hostinfo path query fragment)}
        = $text =~ m{\A(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?\z}s;
    if (defined $self->{hostinfo}) {
        my ($login, $host, $port) = $self->{hostinfo} =~ /\A(?:(.*)\@)?(\[[^\]]*\]|[^:]*)(?::(\d*))?\z/s;
        @$self{qw(user password)} = split /:/, $login, 2 if defined $login;
        @$self{qw(hostname port)} = ($host =~ s/\A\[(.*)\]\z/$1/sr, length($port // '') ? $port : undef);
    }
    return $self;
}

for my $part (@parts) {
    no strict 'refs';
    *$part = sub {
        my $self = shift;
        return $self->{$part} unless @_;
        my $old = $self->{$part};
        $self->{$part} = shift;
        delete $self->{hostinfo} if $part =~ /^(?:user|password|hostname|port)$/;
        return $old;
    };
}

# The path behind the script's own, when the URI is that of a request.
sub path_info { my $r = Apache->request; return $r ? $r->path_info : undef }
sub rpath     { my $r = Apache->request; return $r ? substr $r->uri, 0, length($r->uri) - length($r->path_info // '') : undef }

# A password is left out where no flags say otherwise, as a port that is the scheme's usual one.
sub unparse { return APR::URI::unparse(@_) }

1;
