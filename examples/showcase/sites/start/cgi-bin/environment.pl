#!/usr/bin/perl
# Shows what a CGI program is told: its meta-variables (RFC 3875 section 4.1) and the request's fields.
use strict;
use warnings;

sub escaped {
    my ($text) = @_;
    my %entity = ( '&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;' );
    return $text =~ s/([&<>"])/$entity{$1}/gr;
}

my $rows = join '', map { sprintf "<tr><th><code>%s</code></th><td>%s</td></tr>\n", escaped($_), escaped( $ENV{$_} ) }
    sort keys %ENV;

print <<"PAGE";
Content-Type: text/html; charset=utf-8

<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What a program is told</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main class="page">
<a class="back" href="/#cgi">← Showcase</a>
<h1>What a program is told</h1>
<p>The environment of this CGI program. Change the address, behind the program’s name too, and look again.</p>
<div class="scroll"><table>
$rows</table></div>
</main>
</body>
</html>
PAGE
