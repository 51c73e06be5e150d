# Apache2::Command: not supported; its calls say so. See docs/perl-calls.md.
package Apache2::Command;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

Hostler::Calls::refuse_all(qw(Apache2::Command));

1;
