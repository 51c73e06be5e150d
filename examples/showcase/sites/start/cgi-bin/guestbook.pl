#!/usr/bin/perl
# The guest book: /guestbook shows the form and the entries, POST adds one, /guestbook/latest is a fragment
# for the start page. Where the database lies is said in httpd.conf (SetEnv GUESTBOOK_DB).
use strict;
use warnings;
use utf8;
use CGI qw(-utf8);
use DBI;

binmode STDOUT, ':encoding(UTF-8)';
$CGI::POST_MAX        = 16_384;
$CGI::DISABLE_UPLOADS = 1;

my $cgi = CGI->new;
my $dbh = open_database();

if    ( $cgi->request_method eq 'POST' )         { sign() }
elsif ( ( $cgi->path_info || '' ) eq '/latest' ) { show_latest() }
else                                             { show_page('') }

sub open_database {
    my $dbh = DBI->connect( "dbi:SQLite:dbname=$ENV{GUESTBOOK_DB}", '', '',
        { RaiseError => 1, AutoCommit => 1, sqlite_unicode => 1 } );
    $dbh->do(<<'SQL');
CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, words TEXT NOT NULL,
    written TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M', 'now'))
)
SQL
    return $dbh;
}

sub sign {
    return show_page( 'That was too much to read.', '413 Content Too Large' ) if $cgi->cgi_error;

    # A form on somebody else's page may not sign in the visitor's name.
    my $origin = $cgi->http('Origin');
    return show_page( 'Please use the form below.', '403 Forbidden' )
        if defined $origin && $origin !~ m{^https?://\Q$ENV{HTTP_HOST}\E$};

    my ( $name, $words ) = map { trimmed( scalar $cgi->param($_) ) } qw(name words);
    return show_page( 'Please give a name and a few words.', '422 Unprocessable Content' )
        if $name eq '' || $words eq '' || length $name > 60 || length $words > 1000;

    # Bound, never pasted: whatever a visitor writes stays a value.
    $dbh->do( 'INSERT INTO entry (name, words) VALUES (?, ?)', undef, $name, $words );
    print $cgi->redirect( -uri => '/guestbook', -status => '303 See Other' );
}

sub entries {
    my ($count) = @_;
    return @{ $dbh->selectall_arrayref( 'SELECT name, words, written FROM entry ORDER BY id DESC LIMIT ?',
            undef, $count ) };
}

sub show_latest {
    print $cgi->header( -type => 'text/html', -charset => 'utf-8' );
    my @entries = entries(3);
    print '<p>Nobody has signed yet.</p>' if !@entries;
    print '<ul>', ( map { '<li><strong>' . escaped( $_->[0] ) . '</strong>: ' . escaped( short( $_->[1] ) ) . '</li>' } @entries ), '</ul>'
        if @entries;
}

sub show_page {
    my ( $problem, $status ) = @_;
    print $cgi->header( -type => 'text/html', -charset => 'utf-8', -status => $status // '200 OK' );
    my $notice  = $problem ? qq(<p class="problem" role="alert">$problem</p>) : '';
    my ( $name, $words ) = $problem ? map { escaped( trimmed( scalar $cgi->param($_) ) ) } qw(name words) : ( '', '' );
    my $entries = join '', map {
        sprintf qq(<article class="entry"><strong>%s</strong> <time>%s</time><p>%s</p></article>\n),
            map { escaped($_) } @{$_}[ 0, 2, 1 ]
    } entries(100);
    print <<"PAGE";
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Guest book</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main class="page">
<a class="back" href="/#guestbook">← Showcase</a>
<h1>Guest book</h1>
$notice
<form method="post" action="/guestbook">
<label>Your name <input name="name" maxlength="60" required autocomplete="name" value="$name"></label>
<label>Your words <textarea name="words" maxlength="1000" required>$words</textarea></label>
<button>Sign</button>
</form>
$entries
</main>
</body>
</html>
PAGE
}

sub trimmed { my ($text) = @_; return ( $text // '' ) =~ s/^\s+|\s+$//gr }
sub short   { my ($text) = @_; return length $text > 80 ? substr( $text, 0, 79 ) . '…' : $text }
sub escaped { my ($text) = @_; return $cgi->escapeHTML($text) }
