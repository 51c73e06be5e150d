# Compiles the script before the workers are forked.
use File::Basename qw(dirname);
use lib dirname(__FILE__) . '/lib';
use Apache::RegistryLoader ();

Apache::RegistryLoader->new->handler(
    "/perl/benchmarks/registry.pl",
    dirname(__FILE__) . "/perl/benchmarks/registry.pl"
);
1;
