# Apache2::Dispatch: as Apache::Dispatch, for mod_perl 2.
package Apache2::Dispatch;

use strict;
use warnings;
use Apache2::Log         ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Hostler::Dispatch    ();

our $VERSION = '0.12';

sub handler { return Hostler::Dispatch::dispatch($_[-1], 2) }

1;
