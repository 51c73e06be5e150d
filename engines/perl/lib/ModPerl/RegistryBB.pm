# Scripts run as they are, compiled once ("bare bones"): a changed file is not noticed.
package ModPerl::RegistryBB;

use strict;
use warnings;
use ModPerl::RegistryCooker ();

our $VERSION = '1.99';
our @ISA     = ('ModPerl::RegistryCooker');

Hostler::Registry::install(__PACKAGE__);

1;
