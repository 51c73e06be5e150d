# ModPerl::Interpreter: not supported; its calls say so. See docs/perl-calls.md.
package ModPerl::Interpreter;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

Hostler::Calls::refuse_all(qw(ModPerl::Interpreter));

1;
