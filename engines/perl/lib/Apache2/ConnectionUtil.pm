# Apache2::ConnectionUtil: pnotes of a connection; see Apache2::Connection.
package Apache2::ConnectionUtil;

use strict;
use warnings;

require Apache2::Connection;
our $VERSION = '2.000012';

1;
