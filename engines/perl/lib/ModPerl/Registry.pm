# Scripts run as they are, compiled once and again when their file changed.
package ModPerl::Registry;

use strict;
use warnings;
use ModPerl::RegistryCooker ();

our $VERSION = '1.99';
our @ISA     = ('ModPerl::RegistryCooker');

{
    no warnings 'once';
    *should_compile = \&ModPerl::RegistryCooker::should_compile_if_modified;
}
Hostler::Registry::install(__PACKAGE__);

1;
