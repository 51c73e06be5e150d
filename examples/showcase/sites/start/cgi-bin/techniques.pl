#!/usr/bin/perl
# Each technique of the showcase on one page: what it answers just now, how long that takes, what keeps its requests apart, and its
# source. Nothing here is made up: this program asks each page, as a visitor would, and takes the time.
use strict;
use warnings;
use IO::Socket::IP ();
use Time::HiRes    ();

# How often a page is asked after its first time, and how many seconds a page may take.
my $times    = 9;
my $patience = 12;

# Title, what it is for, page, what its answer has, part of source.pl, what a request runs in, what is missing where it is not here.
my @techniques = (
    [ 'A file', 'what is the same for everybody', '/houses.svg', qr/<svg/, 'static', 'no program: a process of the site’s user opens it', '' ],
    [   'Server-side includes', 'pages with parts in common', '/ssi/greeting.shtml', qr/you come\s+from/, 'ssi',
        'no program: the front puts the page together', ''
    ],
    [   'CGI, a shell script', 'programs in any language, called now and then', '/cgi-bin/hello.sh', qr/Hello from process/, 'cgi',
        'a process of its own, which is started for it', ''
    ],
    [   'CGI, Perl, Isolation fork', 'programs in Perl that must find nothing of the request before', '/isolation/fork/survivor.pl',
        qr/request no/, 'isolation', 'a process of its own, forked from a warm one', 'libperl-dev'
    ],
    [   'Perl: Registry', 'CGI programs in Perl, called often', '/perl/counter.pl', qr/mod_perl/, 'registry',
        'a warm worker, which keeps what the script leaves', 'libperl-dev'
    ],
    [   'Perl: a handler', 'new programs, for this server and mod_perl', '/handler/visitor', qr/Good to see you/, 'handler',
        'the same worker, without the script', 'libperl-dev'
    ],
    [ 'Perl: PSGI', 'new programs, for any server', '/psgi/hello', qr/mounted at/, 'psgi', 'the same worker', 'libperl-dev' ],
    [   'PHP', 'applications in PHP', '/php/hello.php', qr/PHP/, 'php',
        'a warm worker, in which PHP leaves nothing of a request', 'libphp8.2-embed and php8.2-dev'
    ],
    [   'Python: WSGI', 'applications that answer and are done', '/python/hello', qr/./, 'python',
        'a warm worker, which keeps the application', 'python3'
    ],
    [   'Python: ASGI', 'applications that keep connections open', '/python/live/status', qr/./, 'python',
        'a warm worker with an event loop, together with other requests', 'python3'
    ],
    [   'Java: JSP', 'applications in Java', '/java/', qr/answers GET/, 'java', 'a thread of the site’s own virtual machine',
        'openjdk-17-jdk-headless, libtomcat10-embed-java, libtomcat10-java and libeclipse-jdt-core-java'
    ],
    [   'FastCGI', 'programs in any language that stay', '/fastcgi/visits.fcgi', qr/./, 'fastcgi',
        'a program that stays, with a request at a time', 'libfcgi-perl'
    ],
    [   'Another server', 'what runs already, here or elsewhere', '/balanced', qr/./, 'balanced',
        'what that server does; here, one of two FastCGI programs', 'libfcgi-perl'
    ],
);

print "Content-Type: text/html; charset=utf-8\nCache-Control: no-store\n\n", head();
my ( @parts, %titles );
for my $technique (@techniques) {
    my ( $title, $for, $page, $has, $part, $runs_in, $needs ) = @{$technique};
    my $first = asked( $page, $has );
    my $cells = $first ? times_of( $first, $page, $has ) : absent($needs);
    print qq{<tr><th><a href="$page">$title</a><span>$for</span></th>$cells<td>$runs_in</td>},
        qq{<td class="to"><a href="#$part">source</a></td></tr>\n};
    push @parts, $part if !$titles{$part};
    push @{ $titles{$part} }, $title;
}
print "</table>\n<h2>The sources</h2>\n";
for my $part (@parts) {
    my $source = body("/cgi-bin/source.pl?part=$part");
    my $title  = join ' and ', @{ $titles{$part} };
    print qq{<section class="source" id="$part"><h3>$title</h3>\n$source</section>\n};
}
print "</main>\n</body>\n</html>\n";

# Milliseconds that a page took, if its answer is what it should be.
sub asked {
    my ( $page, $has ) = @_;
    my $begin  = Time::HiRes::time();
    my $answer = answer($page);
    my $took   = ( Time::HiRes::time() - $begin ) * 1000;
    my ( $head, $text ) = split /\r\n\r\n/, $answer, 2;
    return ( $head // '' ) =~ m{^HTTP/1[.][01] 200 } && ( $text // '' ) =~ $has ? $took : undef;
}

sub times_of {
    my ( $first, $page, $has ) = @_;
    my @warm = sort { $a <=> $b } map { asked( $page, $has ) // () } 1 .. $times;
    return @warm
        ? sprintf '<td class="time">%.1f ms</td><td class="time">%.1f ms</td>', $first, $warm[ $#warm / 2 ]
        : sprintf '<td class="time">%.1f ms</td><td>does not answer again</td>', $first;
}

sub absent {
    my ($needs) = @_;
    my $why = $needs eq '' ? 'does not answer' : "not here, or not ready: it needs $needs";
    return "<td colspan=\"2\">$why</td>";
}

sub body {
    my ($page) = @_;
    my ( undef, $text ) = split /\r\n\r\n/, answer($page), 2;
    return $text // '';
}

# What this server answers, on a connection of its own; empty if it does not in time. HTTP/1.0: no chunks.
sub answer {
    my ($page) = @_;
    my $text = '';
    local $SIG{ALRM} = sub { die "too slow\n" };
    my $done = eval {
        alarm $patience;
        my $server = IO::Socket::IP->new( PeerAddr => $ENV{SHOWCASE_LISTEN} ) or die "$@\n";
        print {$server} "GET $page HTTP/1.0\r\nHost: localhost\r\n\r\n";
        while ( $server->sysread( $text, 65_536, length $text ) ) { }
        1;
    };
    alarm 0;
    return $done ? $text : '';
}

sub head {
    return <<"PAGE";
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>All techniques, side by side</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main class="page">
<a class="back" href="/">← Showcase</a>
<h1>All techniques, side by side</h1>
<p>This program has just asked each page, as you would: once, when its worker may have had to start, and $times times more, of which the
middle one is told. On a busy machine all are slower; reload to measure again. Each technique runs as the site’s own user, apart
from all other sites; what keeps two requests of this site apart differs.</p>
<table class="times">
<thead><tr><th>technique, and what it is for</th><th class="time">first time</th><th class="time">then</th><th>a request runs in</th><th></th></tr></thead>
PAGE
}
