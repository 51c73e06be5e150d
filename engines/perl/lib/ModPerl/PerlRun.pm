# Scripts run as they are, compiled for each request, their package emptied after it.
package ModPerl::PerlRun;

use strict;
use warnings;
use ModPerl::RegistryCooker ();

our $VERSION = '1.99';
our @ISA     = ('ModPerl::RegistryCooker');

{
    no warnings 'once';
    *should_compile        = \&ModPerl::RegistryCooker::TRUE;
    *is_cached             = \&ModPerl::RegistryCooker::FALSE;
    *cache_it              = \&ModPerl::RegistryCooker::NOP;
    *should_reset_inc_hash = \&ModPerl::RegistryCooker::TRUE;
    *flush_namespace       = \&ModPerl::RegistryCooker::flush_namespace_normal;
}
Hostler::Registry::install(__PACKAGE__);

1;
