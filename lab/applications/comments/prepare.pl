#!/usr/bin/perl
# Makes the table and fills it, the same rows each time: prepare.pl DSN. Nobody in it exists. Each row is 500 bytes
# of the page, whatever has to be escaped in it.
use strict;
use warnings;
use File::Basename ();
use lib File::Basename::dirname(__FILE__) . '/lib';
use Lab::Comments ();

my $ROWS  = 389;
my $BYTES = 500;
my @WORDS = qw(page server request answer table form reader program process worker cache header line body socket file);

# Some words that have to be escaped, and some that are not ASCII.
my @SPECIAL = ('a < b & c > d', '"quoted"', "it's", '<script>alert(1)</script>', "na\xC3\xAFve", "\xE2\x82\xAC 5");

# Not perl's rand, which is another one elsewhere: Park and Miller's minimal standard generator.
my $state = 20021;
sub random { my $below = shift; $state = $state * 16_807 % 2_147_483_647; return $state % $below; }

# How long a text is on the page.
sub shown {
    my $text = shift;
    $text =~ s/&/&amp;/g;
    $text =~ s/[<>]/&lt;/g;
    $text =~ s/"/&quot;/g;
    $text =~ s/'/&#39;/g;
    return length $text;
}

my $dbh = Lab::Comments::connect_to(shift);
$dbh->do('CREATE TABLE comments (name VARCHAR(200), email VARCHAR(200), comments TEXT)');
my $insert = $dbh->prepare('INSERT INTO comments (name, email, comments) VALUES (?, ?, ?)');
$dbh->begin_work;
for my $number (1 .. $ROWS) {
    my ($name, $email) = ("Reader $number", "reader$number\@mail.invalid");
    my $room     = $BYTES - length "<tr><td>$name</td><td>$email</td><td></td></tr>\n";
    my $comments = $SPECIAL[random(scalar @SPECIAL)];
    while (shown($comments) + 9 < $room) { $comments .= ' ' . $WORDS[random(scalar @WORDS)]; }
    $comments .= '.' x ($room - shown($comments));
    $insert->execute($name, $email, $comments);
}
$dbh->commit;
