# APR::Pool: what is done at an end, in which order, and what is not.
use APR::Pool ();

my @done;
{
    my $pool = APR::Pool->new;
    $pool->cleanup_register(sub { push @done, "first @_" }, 1);
    $pool->cleanup_register(sub { push @done, 'second' });
    is("@done", '', 'not before the end');
}
is(join('|', @done), 'second|first 1', 'last come, first done, when nobody holds the pool');

@done = ();
my $above = APR::Pool->new;
my $below = $above->new;
$below->cleanup_register(sub { push @done, 'below' });
$above->cleanup_register(sub { push @done, 'above' });
is($below->parent_get, $above, 'parent_get');
ok($above->is_ancestor($below), 'is_ancestor');
$above->destroy;
is(join('|', @done), 'below|above', 'a pool ends with the one above it');
eval { $above->cleanup_register(sub { }) };
like($@, qr/invalid pool object/, 'afterwards it is none');

@done = ();
my $cleared = APR::Pool->new;
$cleared->cleanup_register(sub { push @done, 1 });
$cleared->clear;
$cleared->clear;
is("@done", '1', 'clear does it once');

my $warning = '';
{
    local $SIG{__WARN__} = sub { $warning .= $_[0] };
    my $dies = APR::Pool->new;
    $dies->cleanup_register(sub { die "here\n" });
}
is($warning, "APR::Pool: cleanup died: here\n", 'a program is warned of one that dies');

$r->pool->cleanup_register(sub { Hostler::log(3, 1, "cleanup of @_") }, 'the request');
$r->pool->cleanup_register(sub { die "in a cleanup\n" });
