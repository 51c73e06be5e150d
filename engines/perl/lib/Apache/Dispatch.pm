# Apache::Dispatch: URIs are turned into methods. `PerlSetVar DispatchPrefix Foo`, `SetHandler perl-script`,
# `PerlHandler Apache::Dispatch` in <Location /Foo> makes /Foo/bar call Foo->dispatch_bar($r), /Foo Foo->dispatch_index.
package Apache::Dispatch;

use strict;
use warnings;
use Apache ();
use Hostler::Dispatch ();

our $VERSION = '0.12';

sub handler { return Hostler::Dispatch::dispatch($_[-1], 1) }

1;
