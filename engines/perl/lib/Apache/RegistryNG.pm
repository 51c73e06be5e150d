# Apache::Registry whose steps are methods, and whose packages are named by files instead of URIs (mod_perl 1).
package Apache::RegistryNG;

use strict;
use warnings;
use Apache ();
use Apache::Constants qw(OK);
use Apache::PerlRun  ();
use Apache::Registry ();

our $VERSION = '1.00';
our @ISA     = ('Apache::PerlRun');

sub handler ($$) {
    my ($class, $r) = @_ >= 2 ? @_ : (__PACKAGE__, @_);
    my $self = ref $class ? $class : $class->new($r);
    my $rc   = $self->can_compile;
    return $rc if $rc != OK;
    my $package = $self->namespace;
    my $file    = $r->filename;
    my $warn    = $^W;
    $self->chdir_file;
    if (Apache::Registry::compiled($package, $r, $file)
        || Apache::Registry::compile($package, $self->readscript, $file, $r))
    {
        my $code = do { no strict 'refs'; \&{"$package\::handler"} };
        $rc = Apache::Registry::run($r, $package, $code);
    }
    else { $rc = $self->xlog_error($@) }
    $self->chdir_file(Apache->server_root_relative(''));
    $^W = $warn;
    return $rc;
}

sub namespace {
    my $self = shift;
    return $self->{namespace} = 'Apache::ROOT' . Apache::Registry::escaped('/' . $self->{_r}->filename);
}

1;
