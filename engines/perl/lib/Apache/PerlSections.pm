# mod_perl 1's Apache::PerlSections, for files that load it. What becomes of the variables of sections is Hostler::Configure's.
package Apache::PerlSections;

use strict;
use warnings;
use Hostler::Calls ();

our $VERSION = '1.61';

# Of what is kept: nothing.
sub dump  { return "package Apache::ReadConfig;\n\n1;\n__END__\n" }
sub store { return Hostler::Calls::refuse('Apache::PerlSections::store') }

1;
