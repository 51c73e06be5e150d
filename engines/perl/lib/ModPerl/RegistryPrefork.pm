# ModPerl::Registry that runs each script in its own directory.
package ModPerl::RegistryPrefork;

use strict;
use warnings;
use ModPerl::Registry ();

our $VERSION = '0.01';
our @ISA     = ('ModPerl::Registry');

*chdir_file = \&ModPerl::RegistryCooker::chdir_file_normal;
Hostler::Registry::install(__PACKAGE__);

1;
