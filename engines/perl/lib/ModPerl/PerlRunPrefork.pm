# ModPerl::PerlRun that runs each script in its own directory.
package ModPerl::PerlRunPrefork;

use strict;
use warnings;
use ModPerl::PerlRun ();

our $VERSION = '0.01';
our @ISA     = ('ModPerl::PerlRun');

*chdir_file = \&ModPerl::RegistryCooker::chdir_file_normal;
Hostler::Registry::install(__PACKAGE__);

1;
