# Hostler::Script: a CGI script (Isolation fork) in a process forked from the warm interpreter. The process serves this
# one request and ends, so what is changed here is not put back.
package Hostler::Script;

use strict;
use warnings;

# The name by which require is told to load the script; it shows nowhere.
my $NAME = 'hostler-cgi-script';

sub run {
    my $r    = shift;
    my $file = $r->filename;
    environment($r);
    @ARGV = arguments( $r->args );
    $0    = $file;
    my ($folder) = $file =~ m{\A(.*)/}s;
    chdir $folder or die "chdir $folder: $!\n";
    my $text = source($file);
    $^W = 1 if $text =~ /\A#!\S*perl[^\n]*\s-\w*w/;
    hide_frames() if $text =~ /\bcaller\b/;
    $text = prepared( $file, $text );
    open my $code, '<', \$text or die "$file: $!\n";
    unshift @INC, sub { return $code };
    undef $r;
    package main;
    require $NAME;
    return;
}

# %ENV as CGI has it, for the script and for the programs that it starts.
sub environment {
    my $r = shift;
    $r->subprocess_env;
    delete @ENV{qw(MOD_PERL MOD_PERL_API_VERSION)};
    $ENV{GATEWAY_INTERFACE} = 'CGI/1.1';
    # Assigning is what hands a variable on to programs; a value assigned to itself is not.
    $ENV{$_} = "$ENV{$_}" for keys %ENV;
    return;
}

# RFC 3875 §4.4: words of a query without "=".
sub arguments {
    my $query = shift;
    return if !defined $query || $query eq '' || $query =~ /=/;
    return map { s/%([0-9A-Fa-f]{2})/chr hex $1/ger } split /\+/, $query;
}

sub source {
    my $file = shift;
    open my $in, '<:raw', $file or die "$file: $!\n";
    local $/;
    return scalar <$in>;
}

# A script need not be true, and its __END__ opens DATA; what require loads must, and has __DATA__ for it.
sub prepared {
    my ( $file, $text ) = @_;
    $text =~ s/\r\n/\n/g;
    my $true = "\n;\n\n=pod\n\n=cut\n\n1;\n";
    $text =~ s/^__(?:END|DATA)__[ \t]*$/${true}__DATA__/m or $text .= $true;
    return qq(BEGIN { shift \@INC; delete \$INC{'$NAME'} } Hostler::Script::begin();\n#line 1 "$file"\n$text);
}

# `run() unless caller`: to its own eyes a script was not called by anybody.
sub hide_frames {
    no warnings 'once';
    *CORE::GLOBAL::caller = sub (;$) {
        my $level = defined $_[0] ? $_[0] : 0;
        package DB;    # so that @DB::args are set for who wants them
        my @frame = CORE::caller( $level + 1 );
        return if !@frame || ( $frame[7] && defined $frame[6] && $frame[6] eq $NAME );
        return $frame[0] if !wantarray;
        return @_ ? @frame : @frame[ 0 .. 2 ];
    };
    return;
}

1;
