# The table of calls says the truth: what it says is there is there, and what is not dies with its name.
require Hostler::Calls;
my $table = Hostler::Calls::table();
my %modules;
$modules{ $_->[0] }++ for map { values %$_ } values %$table;
for my $module (sort keys %modules) { ok(eval "require $module; 1", "$module: $@") }
for my $class (sort keys %$table) {
    for my $call (sort keys %{ $table->{$class} }) {
        my ($module, $supported) = @{ $table->{$class}{$call} };
        if ($supported) { ok($class->can($call), "$class\::$call is there") }
        elsif (my $code = $class->can($call)) {
            eval { $code->($r) };
            like($@, qr/docs\/perl-calls\.md/, "$class\::$call dies with a reference");
        }
    }
}
eval { $r->lookup_dirent('x') };
like($@, qr/^Apache2::RequestRec::lookup_dirent is not supported by Hostler: see docs\/perl-calls\.md at/, 'a refusal');
eval { $r->no_such_call };
like($@, qr/^Can't locate object method "no_such_call" via package "Apache2::RequestRec" at/, 'an unknown method');
