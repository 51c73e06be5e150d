# Run once, before the first request: compiles the script, so that no worker has to do it.
use strict;
use warnings;
use File::Basename ();
use ModPerl::RegistryLoader ();

my $root = File::Basename::dirname(__FILE__);
ModPerl::RegistryLoader->new(package => 'ModPerl::Registry')->handler('/perl/comments.pl', "$root/perl/comments.pl");

1;
