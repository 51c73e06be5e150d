# ModPerl::Global: END blocks of a package, kept aside and run when a program asks (xs/registry.xs).
package ModPerl::Global;

use strict;
use warnings;

our $VERSION = '2.000012';

sub special_list_register { my ($list, $package) = @_; Hostler::Registry::ends_register($package) if $list eq 'END'; return 1 }
sub special_list_clear    { my ($list, $package) = @_; Hostler::Registry::ends_clear($package) if $list eq 'END'; return 1 }
sub special_list_call     { my ($list, $package) = @_; Hostler::Registry::ends_run($package) if $list eq 'END'; return 1 }

1;
