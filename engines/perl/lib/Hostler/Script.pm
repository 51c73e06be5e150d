# Hostler::Script: a CGI script (Isolation fork) in a process forked from the warm interpreter. The process serves this
# one request and ends, so what is changed here is not put back.
package Hostler::Script;

use strict;
use warnings;

# The name by which require is told to load the script; it shows nowhere.
my $NAME = 'hostler-cgi-script';

# What reads descriptor 0 instead of the handle STDIN, or starts programs that do.
my $BY_NUMBER = qr/\b(?:sysread|system|exec|fork|qx|fileno|select|open|open2|open3|sysopen|syscall)\b|`/;

sub run {
    my ( $r, $suexec ) = @_;
    my $file = $r->filename;
    environment($r);
    @ARGV = arguments( $r->args );
    $0    = $file;
    my ($folder) = $file =~ m{\A(.*)/}s;
    chdir $folder or die "chdir $folder: $!\n";
    my $text = source( $file, $suexec );
    $^W = 1 if $text =~ /\A#!\S*perl[^\n]*\s-\w*w/;
    real_input() if $text =~ $BY_NUMBER && ( $ENV{CONTENT_LENGTH} || $ENV{HTTP_TRANSFER_ENCODING} );
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

# The request's body as descriptor 0, which programs inherit: a file that has no name.
sub real_input {
    open my $copy, '+>', undef or die "no temporary file: $!\n";
    binmode $copy;
    while ( read STDIN, my $piece, 65_536 ) {
        print {$copy} $piece or die "temporary file: $!\n";
    }
    seek $copy, 0, 0 or die "temporary file: $!\n";
    Hostler::Script::as_input( fileno $copy );
    open STDIN, '<&=', 0 or die "STDIN: $!\n";
    return;
}

# RFC 3875 §4.4: words of a query without "=".
sub arguments {
    my $query = shift;
    return if !defined $query || $query eq '' || $query =~ /=/;
    return map { s/%([0-9A-Fa-f]{2})/chr hex $1/ger } split /\+/, $query;
}

# Judged is the very file that is read, and the directory that the script runs in.
sub source {
    my ( $file, $suexec ) = @_;
    open my $in, '<:raw', $file or die "$file: $!\n";
    check( $file, $in ) if $suexec;
    local $/;
    return scalar <$in>;
}

# As suexec: nothing that others could have put here or changed.
sub check {
    my ( $file, $in ) = @_;
    my ( $mode, $owner ) = ( stat $in )[ 2, 4 ];
    die "$file is not run: it belongs to uid $owner, not to the site's uid $> or root: chown it\n"
        if $owner && $owner != $>;
    die sprintf "%s is not run: it is writable by group or others (mode %04o): chmod go-w it\n", $file, $mode & 07777
        if $mode & 022;
    my $folder = ( stat '.' )[2];
    die sprintf "%s is not run: its directory is writable by group or others (mode %04o): chmod go-w the directory\n",
        $file, $folder & 07777
        if $folder & 022;
    return;
}

# A script need not be true, and its __END__ opens DATA; what require loads must, and has __DATA__ for it.
sub prepared {
    my ( $file, $text ) = @_;
    $text =~ s/\r\n/\n/g;
    my $true = "\n;\n\n=pod\n\n=cut\n\n1;\n";
    $text =~ s/^__(?:END|DATA)__[ \t]*$/${true}__DATA__/m or $text .= $true;
    return qq(BEGIN { shift \@INC; delete \$INC{'$NAME'} } Hostler::Script::begin();\n#line 1 "$file"\n$text);
}

# The variables of package main that hold references; what they refer to ends if nobody else has it.
sub end_objects {
    no strict 'refs';
    for my $name ( grep { /\A[A-Za-z_]\w*\z/ && !/\A(?:_|ENV|INC|ARGV|SIG)\z/ } keys %main:: ) {
        next if ref \$main::{$name} ne 'GLOB';
        my $scalar = *{ $main::{$name} }{SCALAR};
        eval { undef ${$scalar}; 1 } if ref ${$scalar};
        for my $kind (qw(ARRAY HASH)) {
            my $many = *{ $main::{$name} }{$kind} or next;
            # What is read-only stays.
            eval { $kind eq 'ARRAY' ? ( @{$many} = () ) : ( %{$many} = () ); 1 };
        }
    }
    return;
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
