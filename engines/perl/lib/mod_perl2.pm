# mod_perl2: which mod_perl 2 the interface is that of.
package mod_perl2;

use strict;
use warnings;

our $VERSION         = '2.000012';
our $VERSION_TRIPLET = '2.0.12';
our $API_VERSION     = 2;

$mod_perl::VERSION = $VERSION if Hostler::settings()->{generation} == 2;
$INC{'mod_perl.pm'} ||= $INC{'mod_perl2.pm'};

1;
