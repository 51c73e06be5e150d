#!/usr/bin/perl
# Shows the source of one part of the showcase. Parts are a closed list: no visitor names a file.
use strict;
use warnings;

my $site = "$ENV{DOCUMENT_ROOT}/..";

# Part => figures: [ caption, file, first line, last line ]; without lines the whole file.
my %parts = (
    static => [ [ 'httpd.conf', 'conf', qr/AddType text\/html/, qr/ExpiresByType image/ ] ],
    ssi    => [ [ 'htdocs/ssi/greeting.shtml', "$site/htdocs/ssi/greeting.shtml" ] ],
    cgi    => [
        [ 'cgi-bin/hello.sh', "$site/cgi-bin/hello.sh" ],
        [ 'httpd.conf',       'conf', qr/# CGI:/, qr/<\/Directory>/ ],
    ],
    registry => [
        [ 'perl/counter.pl', "$site/perl/counter.pl" ],
        [ 'httpd.conf',      'conf', qr/# Registry:/, qr/<\/Location>/ ],
    ],
    handler => [
        [ 'lib/Visitor.pm', "$site/lib/Visitor.pm" ],
        [ 'startup.pl',     "$site/startup.pl" ],
        [ 'httpd.conf',     'conf', qr/# Handlers:/, qr/<\/Location>/ ],
    ],
    psgi => [
        [ 'psgi/hello.psgi', "$site/psgi/hello.psgi" ],
        [ 'httpd.conf',      'conf', qr/# PSGI:/, qr/<\/Location>/ ],
    ],
    php => [
        [ 'php/hello.php', "$site/php/hello.php" ],
        [ 'httpd.conf',    'conf', qr/# PHP:/, qr/<\/Directory>/ ],
    ],
    python => [
        [ 'python/hello.wsgi', "$site/python/hello.wsgi" ],
        [ 'python/live.py',    "$site/python/live.py" ],
        [ 'httpd.conf',        'conf', qr/# Python: a WSGI/, qr/Header always set/ ],
    ],
    java => [
        [ 'java/index.jsp', "$site/java/index.jsp" ],
        [ 'httpd.conf',     'conf', qr/# Java: a page/, qr/ServletApp/ ],
    ],
    fastcgi => [
        [ 'fastcgi/visits.fcgi', "$site/fastcgi/visits.fcgi" ],
        [ 'httpd.conf',          'conf', qr/# FastCGI:/, qr/FcgidMaxProcesses/ ],
    ],
    balanced    => [ [ 'httpd.conf', 'conf', qr/# Balanced:/, qr/<\/Location>/ ] ],
    old         => [ [ 'httpd.conf', 'conf', qr/# mod_perl 1/, qr/PerlHandler Benchmark::Handler/ ] ],
    oldregistry => [
        [ 'perl/benchmarks/registry.pl', "$site/perl/benchmarks/registry.pl" ],
        [ 'startup.pl',                  "$site/startup.pl" ],
        [ 'httpd.conf',                  'conf', qr/Alias \/perl "/, qr/<\/Location>/ ],
    ],
    oldhandler => [
        [ 'lib/Benchmark/Handler.pm', "$site/lib/Benchmark/Handler.pm" ],
        [ 'httpd.conf',               'conf', qr/PerlModule Benchmark/, qr/<\/Location>/ ],
    ],
    isolation => [
        [ 'isolation/survivor.pl', "$site/isolation/survivor.pl" ],
        [ 'httpd.conf',            'conf', qr/<Location "\/isolation\/persistent/, qr/Isolation  exec/ ],
    ],
    guestbook => [
        [ 'perl/guestbook.pl, as CGI program and Registry script', "$site/perl/guestbook.pl" ],
        [ 'lib/GuestBook/Handler.pm, the handler',                 "$site/lib/GuestBook/Handler.pm" ],
        [ 'psgi/guestbook.psgi, the PSGI application',             "$site/psgi/guestbook.psgi" ],
        [ 'lib/GuestBook.pm, what they share',                     "$site/lib/GuestBook.pm" ],
        [ 'php/guestbook.php, the same in PHP',                    "$site/php/guestbook.php" ],
    ],
    rewriting => [
        [ 'htdocs/articles/.htaccess', "$site/htdocs/articles/.htaccess" ],
        [ 'httpd.conf',                'conf', qr/# Rewriting:/, qr/<\/Directory>/ ],
    ],
    status    => [ [ 'httpd.conf',              'conf', qr/# What the server does/, qr/<\/IfModule>/ ] ],
    users     => [ [ 'httpd.conf',              'conf', qr/# Another tenant/, qr/GUESTBOOK_DB/ ] ],
    access    => [ [ 'htdocs/members/.htaccess', "$site/htdocs/members/.htaccess" ] ],
    listing   => [ [ 'httpd.conf',              'conf', qr/# A listing/, qr/<\/Directory>/ ] ],
    errors    => [
        [ 'httpd.conf',              'conf', qr/ErrorDocument 403/, qr/ErrorDocument 404/ ],
        [ 'htdocs/errors/404.shtml', "$site/htdocs/errors/404.shtml" ],
    ],
    configuration => [ [ 'httpd.conf', 'conf' ] ],
);

sub lines_of {
    my ( $file, $first, $last ) = @_;
    $file = "$site/../../httpd.conf" if $file eq 'conf';
    open my $handle, '<', $file or return "(cannot read it: $!)\n";
    my @lines = <$handle>;
    close $handle;
    return @lines if !$first;
    shift @lines while @lines && $lines[0] !~ $first;
    my ($length) = grep { $lines[$_] =~ $last } 0 .. $#lines;
    # The end of the section that the last line is in.
    $length++ if defined $length && ( $lines[ $length + 1 ] // '' ) =~ m{^\s*</};
    @lines = @lines[ 0 .. $length // $#lines ];
    my ($indent) = $lines[0] =~ /^( *)/;
    return map { s/^$indent//r } @lines;
}

sub escaped {
    my ($line) = @_;
    my %entity = ( '&' => '&amp;', '<' => '&lt;', '>' => '&gt;' );
    $line =~ s/([&<>])/$entity{$1}/g;
    return $line =~ s{^(\s*#(?!!).*)$}{<span class="c">$1</span>}r;
}

print "Content-Type: text/html; charset=utf-8\n\n";
my ($name) = ( $ENV{QUERY_STRING} // '' ) =~ /^part=(\w+)$/;
for my $figure ( @{ $parts{ $name // '' } // [] } ) {
    my ( $caption, @source ) = @$figure;
    print "<figure><figcaption>$caption</figcaption><pre tabindex=\"0\"><code>",
        ( map { escaped($_) } lines_of(@source) ), "</code></pre></figure>\n";
}
