# What Apache::Dispatch and Apache2::Dispatch do: from a URI to a method, as PerlSetVar says.
#
#   DispatchPrefix Foo         what the Location (or DispatchLocation) stands for
#   DispatchLocation /path     the Location, where it can't be told from the section
#   DispatchUpperCase On       /foo/bar_baz is Foo::BarBaz's, each segment's first letter a capital
#   DispatchRequire On         loads the class
#   DispatchStat On | ISA      loads it again when its file changed; and the files of its ancestors
#   DispatchAUTOLOAD On        AUTOLOAD may answer
#   DispatchISA Foo Bar        more ancestors for the class
#   DispatchExtras Pre Post Error   pre_dispatch($r), post_dispatch($r), error_dispatch($r, $@, $rc)
#   DispatchFilter On          (needs Apache::Filter: refused)
package Hostler::Dispatch;

use strict;
use warnings;

use constant { OK => 0, DECLINED => -1, SERVER_ERROR => 500 };

my %mtime;

sub dispatch {
    my ($r, $generation) = @_;
    my ($class, $method) = target($r) or return DECLINED;
    my $rc = eval {
        load($r, $class) or return DECLINED;
        ancestors($r, $class);
        my $code = resolve($r, $class, $method) or return DECLINED;
        call($r, $class, $method, $code);
    };
    return $rc unless my $error = $@;
    return OK if Hostler::Registry::exited($error);
    $r->log_error("$class->$method: $error");
    return SERVER_ERROR;
}

sub set { my ($r, $name) = @_; return $r->dir_config("Dispatch$name") // '' }
sub on  { return lc set(@_) eq 'on' }

# The class and the method that the URI names; nothing if it can't name one.
sub target {
    my $r   = shift;
    my $uri = $r->uri;
    return if $uri =~ m{[^\w/-]};
    my $location = set($r, 'Location') || $r->location || '';
    my $prefix   = set($r, 'Prefix');
    $location =~ s{/+\z}{};
    $uri =~ s{\A\Q$location\E(?=/|\z)}{} or return if length $location;
    my @segments = grep { length } split m{/+}, $uri;
    my $name     = @segments ? pop @segments : 'index';
    if ($r->uri =~ m{/\z} && $name ne 'index') { push @segments, $name; $name = 'index' }
    return if $name =~ /\W/ || grep {/\W/} @segments;
    if (on($r, 'UpperCase')) {
        s/(?:\A|_)([a-z])/\U$1/g for @segments;
    }
    my $class = join '::', grep { length } $prefix, @segments;
    return unless length $class && $class =~ /\A[A-Za-z_]\w*(?:::\w+)*\z/;
    return ($class, "dispatch_$name");
}

sub load {
    my ($r, $class) = @_;
    my $file = ($class =~ s{::}{/}gr) . '.pm';
    my $stat = uc set($r, 'Stat');
    if ($stat eq 'ON' || $stat eq 'ISA') {
        no strict 'refs';
        refresh($_) for $class, $stat eq 'ISA' ? @{"$class\::ISA"} : ();
    }
    if (on($r, 'Require')) {
        return 1 if eval { require $file; 1 };
        return 0 if $@ =~ /\ACan't locate \Q$file\E /;
        die $@;
    }
    return 1;
}

# Loads a module again whose file is newer than what is loaded.
sub refresh {
    my $file = ($_[0] =~ s{::}{/}gr) . '.pm';
    my $path = $INC{$file} or return;
    my $mtime = (stat $path)[9] or return;
    my $known = $mtime{$path} || $^T;
    $mtime{$path} = $mtime;
    return if $mtime <= $known;
    delete $INC{$file};
    no warnings 'redefine';
    require $file;
    return;
}

sub ancestors {
    my ($r, $class) = @_;
    no strict 'refs';
    for my $more (grep { length } split /[\s,]+/, set($r, 'ISA')) {
        push @{"$class\::ISA"}, $more unless $class->isa($more);
    }
    return;
}

sub resolve {
    my ($r, $class, $method) = @_;
    my $code = $class->can($method);
    return $code if $code;
    return unless on($r, 'AUTOLOAD');
    return $class->can('AUTOLOAD') && sub { my $self = shift; $self->$method(@_) };
}

sub call {
    my ($r, $class, $method, $code) = @_;
    my %extra = map { uc $_ => 1 } split /[\s,]+/, set($r, 'Extras');
    die "DispatchFilter needs Apache::Filter, which is not supported\n" if on($r, 'Filter');
    $class->pre_dispatch($r) if $extra{PRE} && $class->can('pre_dispatch');
    my $rc = eval { $code->($class, $r) };
    my $error = $@;
    die $error if Hostler::Registry::exited($error);
    if (($error || (defined $rc && $rc =~ /\A\d+\z/ && $rc >= 400)) && $extra{ERROR} && $class->can('error_dispatch')) {
        return $class->error_dispatch($r, $error, $rc);
    }
    die $error if $error;
    $class->post_dispatch($r) if $extra{POST} && $class->can('post_dispatch');
    return $rc;
}

1;
