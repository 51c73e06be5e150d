# ModPerl::MethodLookup: which module a method comes from.
package ModPerl::MethodLookup;

use strict;
use warnings;

use Hostler::Calls ();
use Exporter 'import';

our @EXPORT  = qw(print_method print_module print_object);
our $VERSION = '2.000012';

sub lookup_method {
    my ($name, $object) = @_;
    my $table   = Hostler::Calls::table();
    my @classes = sort grep { $table->{$_}{$name} } keys %$table;
    @classes = grep { ref $object ? $object->isa($_) : $_ eq $object } @classes if defined $object;
    my %seen;
    my @modules = grep { !$seen{$_}++ } map { $table->{$_}{$name}[0] } @classes;
    return ("don't know anything about method '$name'\n") unless @modules;
    return ("To use method '$name' add:\n" . join('', map { "\tuse $_ ();\n" } @modules), @modules);
}

sub _calls {
    my $matches = shift;
    my $table   = Hostler::Calls::table();
    my @found   = map { my $class = $_; map { [ $class, $_ ] } grep { $matches->($class, $table->{$class}{$_}[0]) } sort keys %{ $table->{$class} } } sort keys %$table;
    return (join('', map { "$_->[1] ($_->[0])\n" } @found), map { $_->[1] } @found);
}

sub lookup_module { my $wanted = shift; return _calls(sub { $_[1] eq $wanted }) }
sub lookup_object { my $wanted = ref $_[0] || $_[0]; return _calls(sub { $_[0] eq $wanted }) }

sub print_method { print +(lookup_method(@_ ? @_ : @ARGV))[0]; return }
sub print_module { print +(lookup_module(@_ ? @_ : @ARGV))[0]; return }
sub print_object { print +(lookup_object(@_ ? @_ : @ARGV))[0]; return }

sub preload_all_modules {
    for my $module (sort map { map { $_->[0] } values %$_ } values %{ Hostler::Calls::table() }) {
        (my $file = "$module.pm") =~ s{::}{/}g;
        eval { require $file };
    }
    return;
}

sub avail_methods         { my %name; $name{$_}++ for map { keys %$_ } values %{ Hostler::Calls::table() }; return sort keys %name }
sub avail_modules         { my %name; $name{$_->[0]}++ for map { values %$_ } values %{ Hostler::Calls::table() }; return sort keys %name }
sub avail_objects         { return sort keys %{ Hostler::Calls::table() } }
sub avail_methods_flat    { return avail_methods() }

# For Apache2::porting: the methods that mod_perl 2 no longer has; their replacements are not told here.
sub avail_methods_compat { return }

1;
