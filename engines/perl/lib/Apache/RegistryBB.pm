# Apache::Registry without its questions ("bare bones"): no look at ExecCGI, at the x bits or at changes, no chdir.
package Apache::RegistryBB;

use strict;
use warnings;
use Apache::Constants qw(NOT_FOUND);
use Apache::Registry ();

our $VERSION = '1.01';

use constant HOW => 1 | 2 | 4;    # once, by URI, mod_perl 1

Hostler::Registry::install(__PACKAGE__);

sub cook {
    my ($class, $r) = @_;
    my $filename = $r->filename;
    my $package  = Apache::Registry::package_of($r);
    unless ($Apache::Registry->{$package}) {
        my $text = eval { $r->slurp_filename };
        return NOT_FOUND unless ref $text;
        return Apache::Registry::failed($r, $@) unless Apache::Registry::compile($package, $text, $filename, $r);
    }
    my $code = do { no strict 'refs'; \&{"$package\::handler"} };
    Hostler::Registry::remember($class, $r, $code, $package, HOW, undef);
    return Apache::Registry::run($r, $package, $code);
}

*script_failed = \&Apache::Registry::script_failed;

1;
