# mod_perl 1's Apache::ModuleConfig: the objects that a module's own directives have made. Modules with directives of
# their own need PerlLoadModule and Apache2::Module; without that there is nothing to get.
package Apache::ModuleConfig;

use strict;
use warnings;

our $VERSION = '0.02';

sub get {
    my ($class, $r, $module) = @_;
    $module = caller unless defined $module;
    return unless ref $r;
    require Apache2::Module;
    return eval { Apache2::Module::get_config($module, $r->server, $r->can('per_dir_config') ? $r->per_dir_config : ()) };
}

sub bootstrap { return 1 }

1;
