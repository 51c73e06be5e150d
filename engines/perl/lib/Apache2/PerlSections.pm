# Apache2::PerlSections: what sections ask while they are run. What becomes of their variables is Hostler::Configure's.
package Apache2::PerlSections;

use strict;
use warnings;

require Apache2::ServerRec;
require Apache2::ServerUtil;
use Hostler::Calls ();

our $VERSION = '2.00';

# Whether variables stay after their section. Here they never do, and nothing is told of them later.
our $Save;

sub server { return Apache2::ServerUtil->server }
sub save   { return $Save }
sub saved  { return }

# Of what is kept: nothing.
sub dump  { return "package Apache2::ReadConfig;\n\n1;\n__END__\n" }
sub store { return Hostler::Calls::refuse('Apache2::PerlSections::store') }

1;
