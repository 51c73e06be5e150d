# mod_perl 1's table: APR::Table (glue/table.c) under its older name.
package Apache::Table;

use strict;
use warnings;
use APR::Pool  ();
use APR::Table ();

our $VERSION = '0.01';
our @ISA     = ('Apache::TieHashTable');

# The class that older programs ask the tied object for.
@Apache::TieHashTable::ISA = ('APR::Table');

# tie %hash, 'Apache::Table', $table: the hash is the table.
sub TIEHASH { my ($class, $table) = @_; return tied %$table || $table }

# new($r, $expected)
sub new {
    my ($class, $r, $expected) = @_;
    my $pool = ref $r && $r->can('pool') ? $r->pool : undef;
    $pool = Apache2::RequestRec::pool($r) if !$pool && ref $r && defined &Apache2::RequestRec::pool;
    return bless APR::Table::make($pool || APR::Pool->new, $expected || 10), $class;
}

1;
