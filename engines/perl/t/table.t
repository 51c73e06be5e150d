# APR::Table: apr_table_t's rules, and the hash.
use APR::Table ();
use APR::Const -compile => ':table';

my $t = APR::Table::make($r->pool, 4);
$t->add(a => 1);
$t->add(b => 2);
$t->add(A => 3);
is(scalar $t->get('A'), 1, 'names have no case; the first value');
is(join('|', $t->get('a')), '1|3', 'all values in list context');
is(join('|', keys %$t), 'a|b|A', 'keys in order, as they were written');
is(join('|', values %$t), '1|2|3', 'values of keys that come twice');
my @seen;
while (my ($key, $value) = each %$t) { push @seen, "$key=$value $t->{$key}" }
is(join('|', @seen), 'a=1 1|b=2 2|A=3 3', 'each stands at its entry');
is($t->{a}, 1, 'afterwards the first again');

$t->set(a => 4);
is(join('|', %$t), 'a|4|b|2', 'set leaves one');
$t->merge(a => 5);
is($t->{a}, '4, 5', 'merge');
$t->{new} = 'x';
ok(exists $t->{NEW}, 'exists');
delete $t->{new};
ok(!exists $t->{new}, 'delete');
$t->unset('b');
is(join('|', %$t), 'a|4, 5', 'unset');

my $copy = $t->copy($r->pool);
$copy->clear;
ok(!%$copy, 'an empty table is false');
is($t->{a}, '4, 5', 'a copy is one');

my $base = APR::Table::make($r->pool, 4);
$base->add(foo => 'one');
$base->add(foo => 'two');
$base->add(bar => 'beer');
my $over = APR::Table::make($r->pool, 4);
$over->set(foo => 'three');
my $both = $base->overlay($over, $r->pool);
is(join('|', $both->get('foo')), 'three|one|two', 'overlay');
$base->overlap($over, APR::Const::OVERLAP_TABLES_MERGE);
is($base->{foo}, 'one, two, three', 'overlap, merged');
$both->compress(APR::Const::OVERLAP_TABLES_SET);
is(join('|', $both->get('foo')), 'two', 'compress to the last');

my @done;
my $whole = $both->do(sub { push @done, "@_"; 1 });
is(join('|', @done), 'foo two|bar beer', 'do');
ok($whole, 'do says that all were seen');
@done = ();
ok(!$both->do(sub { push @done, $_[0]; 0 }), 'do ends when the code says so');
is("@done", 'foo', 'after the first');
@done = ();
$both->do(sub { push @done, $_[0]; 1 }, 'bar');
is("@done", 'bar', 'do for some names');
