# Apache2::Command: a directive that a module has added (Apache2::Module).
package Apache2::Command;

use strict;
use warnings;

our $VERSION = '2.000012';

sub name         { return $_[0]{name} }
sub args_how     { return $_[0]{args_how} }
sub errmsg       { return $_[0]{errmsg} }
sub req_override { return $_[0]{req_override} }

# The next directive of the same module.
sub next { return $_[0]{next} }

1;
