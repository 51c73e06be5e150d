# Run once by the warm parent of this site's Perl workers, as the site's user: what is loaded here, the workers share.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__) . '/lib';

# The guest book needs modules that perhaps are not installed; then only the guest book fails.
for my $module (qw(CGI.pm DBI.pm DBD/SQLite.pm GuestBook.pm)) {
    eval { require $module } or warn "startup.pl: $@";
}
require Visitor;
1;
