# APR::URI: a URL's parts (RFC 3986), each of which can be read and set.
package APR::URI;

use strict;
use warnings;

our $VERSION = '0.009000';

my %port = (
    acap => 674, ftp => 21, gopher => 70, http => 80, https => 443, imap => 143, ldap => 389, nfs => 2049, nntp => 119,
    pop => 110, prospero => 191, rtsp => 554, sip => 5060, snews => 563, ssh => 22, telnet => 23, tip => 3372, wais => 210,
);

sub port_of_scheme { my $scheme = lc $_[-1]; return $port{$scheme} || 0 }

# parse(pool, text)
sub parse {
    my ($class, undef, $text) = @_;
    my $u = bless {}, $class;
    my ($scheme, $authority, $path, $query, $fragment)
        = $text =~ m{\A(?:([A-Za-z][A-Za-z0-9+.-]*):(?=//|[^0-9]))?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:\#(.*))?\z}s
        or die_of($text);
    ($u->{scheme}, $u->{query}, $u->{fragment}) = ($scheme, $query, $fragment);
    $u->{path} = $path if length $path;
    if (defined $authority) {
        $u->{hostinfo} = $authority;
        my ($info, $host) = $authority =~ /\A(?:(.*)@)?(.*)\z/s;
        ($u->{user}, $u->{password}) = split /:/, $info, 2 if defined $info;
        my ($name, $number) = $host =~ /\A(\[[^\]]*\]|[^:]*)(?::([0-9]*))?\z/ or die_of($text);
        $u->{hostname} = $name =~ s/\A\[(.*)\]\z/$1/r;
        $u->{port} = $number if defined $number && length $number;
    }
    return $u;
}

sub die_of {
    require APR::Error;
    APR::Error::throw(20014, 'APR::URI::parse');
}

for my $part (qw(scheme user password hostname port path query fragment hostinfo)) {
    no strict 'refs';
    *$part = sub {
        my ($u, @new) = @_;
        my $old = $u->{$part};
        $u->{$part} = $new[0] if @new;
        return $old;
    };
}

# The path's part before the path info of the request that it is the URI of (parsed_uri).
sub rpath {
    my $u = shift;
    return $u->{path} unless length($u->{path_info} // '') && defined $u->{path};
    return $u->{path} =~ s/\Q$u->{path_info}\E\z//r;
}

# Bits: 1 no host part, 2 no user, 4 no password, 8 show the password, 16 no path and what follows, 32 no query.
sub unparse {
    my ($u, $flags) = @_;
    $flags = 4 unless defined $flags;
    my $text = '';
    if (!($flags & 1) && (defined $u->{hostname} || defined $u->{user})) {
        $text .= "$u->{scheme}:" if defined $u->{scheme};
        $text .= '//' . _user_part($u, $flags) . _host_part($u);
    }
    elsif (!($flags & 1) && defined $u->{scheme}) { $text .= "$u->{scheme}:" }
    return $text if $flags & 16;
    my $path = $u->{path} // '';
    $path = "/$path" if length $text && length $path && $path !~ m{\A/} && defined $u->{hostname};
    $text .= $path;
    return $text if $flags & 32;
    $text .= "?$u->{query}"    if defined $u->{query};
    $text .= "#$u->{fragment}" if defined $u->{fragment};
    return $text;
}

sub _user_part {
    my ($u, $flags) = @_;
    my $user     = defined $u->{user}     && !($flags & 2) ? $u->{user} : undef;
    my $password = defined $u->{password} && !($flags & 4) ? ':' . ($flags & 8 ? $u->{password} : 'XXXXXXXX') : undef;
    return defined $user || defined $password ? ($user // '') . ($password // '') . '@' : '';
}

sub _host_part {
    my $u = shift;
    my $host = $u->{hostname} // '';
    $host = "[$host]" if $host =~ /:/;
    my $default = defined $u->{scheme} ? port_of_scheme($u->{scheme}) : 0;
    return defined $u->{port} && $u->{port} != $default ? "$host:$u->{port}" : $host;
}

1;
