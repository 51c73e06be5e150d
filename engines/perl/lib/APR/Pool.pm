# APR::Pool: what is to be done when a request, the process, or a program's own pool ends. Memory is Perl's business.
package APR::Pool;

use strict;
use warnings;

use Scalar::Util ();

our $VERSION = '0.009000';

my $of_process;

# new(class): a pool of its own, which ends when nobody holds it, below the process's as far as programs can see; (pool):
# one that also ends with that pool.
sub new {
    my $above = shift;
    my $pool  = bless { cleanups => [], below => {}, process => $$ }, ref $above || $above;
    if (!ref $above || !$above->{cleanups}) {
        $pool->{above} = of_process();
        return $pool;
    }
    $pool->{above} = $above;
    Scalar::Util::weaken($above->{below}{ Scalar::Util::refaddr($pool) } = $pool);
    return $pool;
}

# A request's lies in its connection's, and that in the process's, as far as programs can see.
sub of_request {
    my $connection = bless { cleanups => [], below => {}, process => $$, shared => 1, above => of_process() }, __PACKAGE__;
    return bless { cleanups => [], below => {}, process => $$, shared => 1, above => $connection }, __PACKAGE__;
}

sub of_process { return $of_process ||= bless { cleanups => [], below => {}, process => $$, shared => 1 }, __PACKAGE__ }

sub _alive {
    my $pool = shift;
    return if ref $pool && Scalar::Util::blessed($pool) && $pool->{cleanups};
    require Carp;
    Carp::croak('invalid pool object (already destroyed?)');
}

# cleanup_register(code or name, argument); a name without a package is one of the caller's.
sub cleanup_register {
    my ($pool, $code, @argument) = @_;
    _alive($pool);
    $code = caller . "::$code" if defined $code && !ref $code && $code !~ /::|'/;
    push @{ $pool->{cleanups} }, [ $code, @argument ? $argument[0] : () ];
    return;
}

sub _run {
    my $pool = shift;
    for my $below (values %{ $pool->{below} }) { $below->destroy if $below }    # those below end, not only their cleanups
    $pool->{below} = {};
    while (my $next = pop @{ $pool->{cleanups} }) {
        my ($code, @argument) = @$next;
        no strict 'refs';
        eval { &$code(@argument); 1 } or _complain($@);
    }
    return;
}

sub _complain {
    my $error = shift;
    return if ref $error eq 'APR::Error' && $error->{rc} == 120000;
    my $text = "APR::Pool: cleanup died: $error";
    $SIG{__WARN__} ? warn $text : Hostler::log(3, 1, $text);
    return;
}

sub clear { my $pool = shift; _alive($pool); $pool->_run; return }

# One that is gone already stays so, and so do those that are not a program's own.
sub destroy {
    my $pool = shift;
    return if $pool->{shared} || !$pool->{cleanups};
    _alive($pool);
    $pool->_run;
    delete $pool->{cleanups};
    delete $pool->{above}{below}{ Scalar::Util::refaddr($pool) } if $pool->{above};
    return;
}

# A forked child must not run what its parent has registered.
sub DESTROY {
    my $pool = shift;
    return if $pool->{shared} || !$pool->{cleanups} || $pool->{process} != $$;
    local ($@, $!);
    $pool->destroy;
    return;
}

sub end_of_request {
    my $pool = shift;
    # A worker sees of a connection no more than one request, so what is registered for its end is due, too.
    for my $ends ($pool, $pool->{above}) {
        $ends->_run while @{ $ends->{cleanups} } || %{ $ends->{below} };
        delete $ends->{cleanups};
    }
    return;
}

sub parent_get { my $pool = shift; _alive($pool); return $pool->{above} }

sub is_ancestor {
    my ($pool, $other) = @_;
    for (; $other; $other = $other->{above}) { return 1 if $other == $pool }
    return 0;
}

sub tag              { my ($pool, $name) = @_; $pool->{tag} = $name; return }
sub cleanup_for_exec { return }

END { $of_process->_run if $of_process }

1;
