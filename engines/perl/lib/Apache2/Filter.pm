# Apache2::Filter: the filters are the front's; Perl filters are not supported, and their calls say so.
package Apache2::Filter;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

Hostler::Calls::refuse_all(qw(Apache2::Filter Apache2::RequestRec));

# Filters mark their subs; a class of filters can be loaded, though it will not be called.
sub MODIFY_CODE_ATTRIBUTES { return grep { !/\AFilter/ } @_[ 2 .. $#_ ] }

1;
