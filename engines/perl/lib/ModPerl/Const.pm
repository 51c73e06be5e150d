# Constants on demand: `use Apache2::Const -compile => qw(:common)`, `use ModPerl::Const qw(EXIT)`.
package ModPerl::Const;

use strict;
use warnings;

use Hostler::Constants ();

our $VERSION = '2.000012';

# ModPerl::EXIT stands in package ModPerl; the others in packages of the classes' own names.
sub import {
    my ($class, @wanted) = @_;
    my $where = @wanted && $wanted[0] =~ /\A-compile/ ? shift @wanted : caller;
    $class->compile($where, @wanted ? @wanted : ':common');
    return;
}

sub compile {
    my ($class, $where, @wanted) = @_;
    Hostler::Constants::take($class eq 'ModPerl::Const' ? 'ModPerl' : $class, $where, @wanted);
    return;
}

1;
