# Tables of libapreq2: what a form or a Cookie header had, in its order and with repetitions. They are read through the
# reference as a hash, or by get() and do(), and never changed. A key that keys() or each() gave leads to its own value.
package Hostler::FormTable;

use strict;
use warnings;

use Scalar::Util ();

# made(class of the table, class its objects must be of, objects ...): each a reference to a row, which has a name.
sub made {
    my ($class, $base, @rows) = @_;
    tie my %table, __PACKAGE__, { rows => \@rows, base => $base };
    return bless \%table, $class;
}

sub TIEHASH { my ($class, $state) = @_; return bless $state, $class }

# A key keeps its number, between two whole ones so that nobody takes a number for one.
sub _key {
    my ($self, $at) = @_;
    $self->{at} = $at;
    return $at < @{ $self->{rows} } ? Scalar::Util::dualvar($at + 0.5, $self->{rows}[$at]{name}) : undef;
}

sub FIRSTKEY { return $_[0]->_key(0) }
sub NEXTKEY  { return $_[0]->_key($_[0]{at} + 1) }

sub _numbered {
    my ($self, $key) = @_;
    no warnings 'numeric';
    my $at = $key - 0.5;
    return if $at < 0 || $at != int $at || $at >= @{ $self->{rows} };
    my $row = $self->{rows}[$at];
    return $row->{name} eq $key ? $row : undef;
}

# All values of a name, however it is written.
sub all {
    my ($self, $name) = @_;
    return map { $self->value($_) } grep { lc $_->{name} eq lc $name } @{ $self->{rows} };
}

# As programs see a value: an object, where they have named a class, or the text.
sub value {
    my ($self, $row) = @_;
    my $class = $self->{class} // return $self->{base}->_text($row);
    return $class->_object($row);
}

sub FETCH {
    my ($self, $key) = @_;
    if (my $row = _numbered(@_)) { return $self->value($row) }
    return ($self->all($key))[0];
}

sub EXISTS { my ($self, $key) = @_; return scalar grep { lc $_->{name} eq lc $key } @{ $self->{rows} } }
sub SCALAR { return scalar @{ $_[0]{rows} } }

sub _read_only { require Carp; Carp::croak('the tables of APR::Request are read-only') }
{ no warnings 'once'; *STORE = *DELETE = *CLEAR = \&_read_only; }

# class_of(table, [class]): what objects values are of. With a class the table itself.
sub class_of {
    my ($table, $called, @class) = @_;
    my $self = tied %$table;
    return $self->{class} unless @class;
    if (defined $class[0] && !$class[0]->isa($self->{base})) {
        require Carp;
        Carp::croak("Usage: $called(\$table, \$class): class $class[0] is not derived from $self->{base}");
    }
    $self->{class} = $class[0];
    return $table;
}

# What tables of parameters and of cookies have in common.
package Hostler::FormTable::Calls;

sub get {
    my ($table, $name) = @_;
    my @values = tied(%$table)->all($name);
    return wantarray ? @values : $values[0];
}

sub FETCH    { return scalar $_[0]->get($_[1]) }
sub EXISTS   { return tied(%{ $_[0] })->EXISTS($_[1]) }
sub FIRSTKEY { return tied(%{ $_[0] })->FIRSTKEY }
sub NEXTKEY  { return tied(%{ $_[0] })->NEXTKEY }

# do(code, names ...): with each name and value, until it says no.
sub do {
    my ($table, $code, @names) = @_;
    my $self = tied %$table;
    my %wanted = map { (lc $_ => 1) } @names;
    for my $row (@{ $self->{rows} }) {
        next if @names && !$wanted{ lc $row->{name} };
        $code->($row->{name}, $self->value($row)) or return 0;
    }
    return 1;
}

# A table of APR's with the same names and texts.
sub copy {
    my $self = tied %{ $_[0] };
    my $copy = APR::Table::make(undef, scalar(@{ $self->{rows} }) || 1);
    $copy->add($_->{name}, $self->{base}->_text($_)) for @{ $self->{rows} };
    return $copy;
}

{ no warnings 'once'; *add = *set = *merge = *unset = *clear = *STORE = *DELETE = *CLEAR = \&Hostler::FormTable::_read_only; }

package APR::Request::Param::Table;
our @ISA = ('Hostler::FormTable::Calls', 'APR::Table');

sub param_class { my ($table, @class) = @_; return Hostler::FormTable::class_of($table, __PACKAGE__ . '::param_class', @class) }

# Those that are uploads; a pool may be given.
sub uploads {
    my $self  = tied %{ $_[0] };
    my $found = Hostler::FormTable::made(ref $_[0], $self->{base}, grep { $_->{upload} } @{ $self->{rows} });
    tied(%$found)->{class} = $self->{class};
    return $found;
}

package APR::Request::Cookie::Table;
our @ISA = ('Hostler::FormTable::Calls', 'APR::Table');

sub cookie_class { my ($table, @class) = @_; return Hostler::FormTable::class_of($table, __PACKAGE__ . '::cookie_class', @class) }

1;
