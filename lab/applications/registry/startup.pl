# Run once, before the first request: compiles the scripts, so that no worker has to do it.
use strict;
use warnings;
use File::Basename ();
use ModPerl::RegistryLoader ();

my $root   = File::Basename::dirname(__FILE__);
my $loader = ModPerl::RegistryLoader->new(package => 'ModPerl::Registry');
for my $script (qw(light heavy)) {
    $loader->handler("/perl/$script.pl", "$root/perl/$script.pl");
}

1;
