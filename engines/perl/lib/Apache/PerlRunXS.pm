# Apache::PerlRun under the name that mod_perl 1 gave to its form in C.
package Apache::PerlRunXS;

use strict;
use warnings;
use Apache             ();
use Apache::PerlRun    ();
use Apache::RegistryXS ();

our $VERSION = '0.03';
our @ISA     = ('Apache::PerlRun');

sub handler ($$) {
    my ($class, $r) = @_ >= 2 ? @_ : (__PACKAGE__, @_);
    return $class->SUPER::handler($r);
}

1;
