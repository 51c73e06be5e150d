package Lab::Comments;

# The table of comments as a page, and a new comment from its form: all that the Perl programs share. Text is bytes
# in UTF-8 throughout, as it comes from the database and from the browser.
use strict;
use warnings;
use DBI ();

# What a form may have at most.
our $LONGEST = 65_536;

my $HEAD = <<'HTML';
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Comments</title></head>
<body>
<h1>Comments</h1>
<table>
<tr><th>Name</th><th>Email</th><th>Comments</th></tr>
HTML

my $FOOT = <<'HTML';
</table>
<form method="post">
<p><label>Name <input name="name" required></label></p>
<p><label>Email <input name="email" type="email"></label></p>
<p><label>Comments <textarea name="comments" required></textarea></label></p>
<p><button>Send</button></p>
</form>
</body>
</html>
HTML

my $kept;

# A connection of this process. The next caller gets the same one; whoever forks does so before the first call.
sub connection {
    return $kept ||= connect_to($ENV{COMMENTS_DSN});
}

# A new connection.
sub connect_to {
    my $dsn = shift || die "COMMENTS_DSN does not name a database\n";
    my %options = (RaiseError => 1, PrintError => 0, AutoCommit => 1);
    $options{pg_enable_utf8} = 0 if $dsn =~ /^dbi:Pg:/;
    my $dbh = DBI->connect($dsn, undef, undef, \%options);
    $dbh->sqlite_busy_timeout(5000) if $dsn =~ /^dbi:SQLite:/;
    return $dbh;
}

# A kept connection may have been broken since: then it is made anew, once.
sub with_connection {
    my $work = shift;
    my @answer = eval { $work->(connection()) };
    return $answer[0] if !$@;
    die $@ if connection()->ping;
    undef $kept;
    return $work->(connection());
}

# The page as bytes, with all comments or with the first so many of them.
sub page {
    my ($dbh, $query) = @_;
    my $rows = ($query // '') =~ /(?:^|&)rows=([0-9]{1,9})(?:&|$)/ ? $1 : 999_999_999;

    # Without an order: both databases give the rows of this table as they were inserted.
    my $list = $dbh->prepare_cached('SELECT * FROM comments LIMIT ?');
    $list->execute($rows);
    $list->bind_columns(\my ($name, $email, $comments));

    # Escaping all values at once takes half the time of one by one. Until then a NUL and a letter stand for the tags:
    # no value has a NUL, since insert() refuses it.
    my $text = '';
    $text .= "\0r$name\0c$email\0c$comments\0e" while $list->fetch;
    for ($text) {
        s/&/&amp;/g;
        s/</&lt;/g;
        s/>/&gt;/g;
        s/"/&quot;/g;
        s/'/&#39;/g;
        s{\0r}{<tr><td>}g;
        s{\0c}{</td><td>}g;
        s{\0e}{</td></tr>\n}g;
    }
    return $HEAD . $text . $FOOT;
}

# Inserts what a form says. False if it is not one, or lacks a name or a comment.
sub insert {
    my ($dbh, $body) = @_;
    my %field = map { decoded($_) } map { /([^=]*)=?(.*)/s } split /&/, $body;
    for my $value (@field{qw(name email comments)}) {
        $value //= '';
        return 0 if $value =~ /\0/ || !utf8::decode(my $text = $value);
    }
    return 0 if $field{name} eq '' || $field{comments} eq '';
    my $insert = $dbh->prepare_cached('INSERT INTO comments (name, email, comments) VALUES (?, ?, ?)');
    $insert->execute(@field{qw(name email comments)});
    return 1;
}

# A word of a form without its percent signs.
sub decoded {
    my $text = shift;
    $text =~ tr/+/ /;
    $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
    return $text;
}

1;
