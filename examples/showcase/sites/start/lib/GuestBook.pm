package GuestBook;

# The guest book without a server: parts of a request in, an answer out. A CGI program, a Registry script, a
# handler and a PSGI application use it; each of them only says how its technique reads and answers.
use strict;
use warnings;
use utf8;
use DBI;
use Encode qw(decode encode);

# What a form may have at most, in octets.
our $LARGEST = 16_384;

# Where the same book is found in each technique.
my @techniques = (
    [ '/guestbook'          => 'CGI program' ],
    [ '/perl/guestbook.pl'  => 'Registry script' ],
    [ '/handler/guestbook'  => 'Handler' ],
    [ '/psgi/guestbook'     => 'PSGI application' ],
    [ '/php/guestbook.php'  => 'PHP script' ],
);

# These belong to the process: a CGI program has them new for each request, a warm worker keeps them.
my $connection;
my $requests = 0;

# GuestBook->new( database => FILE, home => PATH )
sub new { my ( $class, %book ) = @_; return bless {%book}, $class }

# Answers one request: method, path below the book, host, origin, and what came with a form as { name, words },
# or undef if that was too much. Returns the status, the header fields as a list of pairs, and the page's octets.
sub answer {
    my ( $book, %request ) = @_;
    $requests++;
    return $book->latest if $request{path} eq '/latest';
    return $book->sign(%request) if $request{method} eq 'POST';
    return $book->page(200);
}

sub sign {
    my ( $book, %request ) = @_;
    my $form = $request{form} or return $book->page( 413, 'That was too much to read.' );

    # A form on somebody else's page may not sign in the visitor's name.
    return $book->page( 403, 'Please use the form below.', $form )
        if defined $request{origin} && $request{origin} !~ m{^https?://\Q$request{host}\E$};

    my ( $name, $words ) = map { trimmed( $form->{$_} ) } qw(name words);
    return $book->page( 422, 'Please give a name and a few words.', $form )
        if $name eq '' || $words eq '' || length $name > 60 || length $words > 1000;

    # Bound, never pasted: whatever a visitor writes stays a value.
    $book->database->do( 'INSERT INTO entry (name, words) VALUES (?, ?)', undef, $name, $words );
    return ( 303, [ Location => $book->{home} ], '' );
}

sub entries {
    my ( $book, $count ) = @_;
    my $newest = 'SELECT name, words, written FROM entry ORDER BY id DESC LIMIT ?';
    return @{ $book->database->selectall_arrayref( $newest, undef, $count ) };
}

# Opened by the first request of a process, so that no two processes share a connection.
sub database {
    my ($book) = @_;
    return $connection if $connection;
    my %options = ( RaiseError => 1, AutoCommit => 1, sqlite_unicode => 1 );
    $connection = DBI->connect( "dbi:SQLite:dbname=$book->{database}", '', '', \%options );
    $connection->do(<<'SQL');
CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, words TEXT NOT NULL,
    written TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M', 'now'))
)
SQL
    return $connection;
}

# The newest entries, as a fragment for the start page.
sub latest {
    my ($book) = @_;
    my $items = join '', map { '<li><strong>' . escaped( $_->[0] ) . '</strong>: ' . escaped( short( $_->[1] ) ) . '</li>' }
        $book->entries(3);
    return html( 200, $items ? "<ul>$items</ul>" : '<p>Nobody has signed yet.</p>' );
}

sub page {
    my ( $book, $status, $problem, $form ) = @_;
    my $kept    = $connection ? 'was open already' : 'was opened for it';
    my $notice  = $problem    ? qq(<p class="problem" role="alert">$problem</p>) : '';
    my ( $name, $words ) = map { escaped( trimmed( $form->{$_} ) ) } qw(name words);
    my $tabs    = join '', map { tab( $book, @$_ ) } @techniques;
    my $entries = join '', map {
        sprintf qq(<article class="entry"><strong>%s</strong> <time>%s</time><p>%s</p></article>\n),
            map { escaped($_) } @{$_}[ 0, 2, 1 ]
    } $book->entries(100);
    return html( $status, <<"PAGE");
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Guest book</title>
<link rel="icon" href="/icons/folder.svg">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main class="page">
<a class="back" href="/#guestbook">← Showcase</a>
<h1>Guest book</h1>
<nav class="tabs" aria-label="The same book as">$tabs</nav>
<p class="soft">This is request $requests of process $$. The database $kept.</p>
$notice
<form method="post" action="$book->{home}">
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

sub tab {
    my ( $book, $home, $title ) = @_;
    my $here = $home eq $book->{home} ? ' aria-current="page"' : '';
    return qq(<a href="$home"$here>$title</a>);
}

sub html {
    my ( $status, $text ) = @_;
    return ( $status, [ 'Content-Type' => 'text/html; charset=utf-8' ], encode( 'UTF-8', $text ) );
}

# What a browser sends of a form (application/x-www-form-urlencoded), as strings; undef stays undef.
sub form {
    my ($octets) = @_;
    return undef if !defined $octets;
    my %form;
    for my $pair ( split /[&;]/, $octets ) {
        my ( $name, $value ) = map { decode( 'UTF-8', tr/+/ /r =~ s/%([0-9A-Fa-f]{2})/chr hex $1/egr ) } split /=/, $pair, 2;
        $form{$name} = $value if defined $name;
    }
    return \%form;
}

sub trimmed { my ($text) = @_; return ( $text // '' ) =~ s/^\s+|\s+$//gr }
sub short   { my ($text) = @_; return length $text > 80 ? substr( $text, 0, 79 ) . '…' : $text }

sub escaped {
    my ($text) = @_;
    my %entity = ( '&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;' );
    return $text =~ s/([&<>"])/$entity{$1}/gr;
}

1;
