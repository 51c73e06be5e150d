# mod_perl 1's Apache::Status, in short: what the interpreter that answers has loaded.
package Apache::Status;

use strict;
use warnings;
use Apache ();
use Apache::Constants qw(OK);
use Apache::Util ();

our $VERSION = '2.03';

my %page = (
    inc     => 'Loaded Modules',
    rgysubs => 'Compiled Registry Scripts',
    env     => 'Environment',
    sig     => 'Signal Handlers',
    version => 'Perl',
);
my %of = (
    inc     => sub { [ map { [ $_, $INC{$_} ] } sort keys %INC ] },
    rgysubs => sub { [ map { [ $_, scalar localtime $Apache::Registry->{$_}{mtime} ] } sort keys %{ $Apache::Registry || {} } ] },
    env     => sub { [ map { [ $_, $ENV{$_} ] } sort keys %ENV ] },
    sig     => sub { [ map { [ $_, $SIG{$_} ] } sort grep { $SIG{$_} } keys %SIG ] },
    version => sub { [ [ Perl => sprintf '%vd', $^V ], [ process => $$ ], [ server => Apache->server_version ] ] },
);

# menu_item($name => $title, sub { my ($r, $q) = @_; [lines] })
sub menu_item {
    my ($class, $name, $title, $lines) = @_;
    $page{$name} = $title;
    $of{$name}   = sub { my $r = shift; [ map { [$_] } @{ $lines->($r, $r) } ] };
    return;
}

sub handler {
    my $r    = shift;
    my $name = $r->args // '';
    $r->send_http_header('text/html');
    return OK if $r->header_only;
    my $title = $page{$name} // 'Perl in this worker';
    $r->print("<html><head><title>$title</title></head><body><h1>$title</h1>\n");
    if ($of{$name}) {
        $r->print("<table>\n");
        for my $row (@{ $of{$name}->($r) }) {
            $r->print('<tr>', (map { '<td>' . Apache::Util::escape_html(defined $_ ? "$_" : '') . '</td>' } @$row), "</tr>\n");
        }
        $r->print("</table>\n");
    }
    else {
        $r->print('<ul>', (map {qq(<li><a href="?$_">$page{$_}</a></li>\n)} sort keys %page), '</ul>');
    }
    $r->print('</body></html>');
    return OK;
}

1;
