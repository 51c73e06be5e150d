# Apache2::Directive: the configuration's tree is the front's. Programs look in it for the user they run as, and that can
# be told; a module's directive is told its own line (Apache2::CmdParms). The other calls are not supported and say so.
package Apache2::Directive;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

# Of a module's directive.
sub directive { return $_[0]{directive} }
sub args      { return $_[0]{args} }
sub filename  { return $_[0]{filename} }
sub line_num  { return $_[0]{line_num} }
sub as_string { return "$_[0]{directive} $_[0]{args}\n" }

sub conftree { return bless {}, __PACKAGE__ }

my %known = (
    user       => sub { scalar getpwuid $> },
    group      => sub { scalar getgrgid 0 + $) },
    serverroot => sub { Hostler::settings()->{server_root} },
    servername => sub { my ($s) = Apache2::ServerUtil::server(); $s && $s->server_hostname },
);

# lookup(directive): its argument; undef for what a worker does not know.
sub lookup {
    my ($tree, $name) = @_;
    my $answer = $known{ lc $name } or return;
    return $answer->();
}

Hostler::Calls::refuse_all('Apache2::Directive');

1;
