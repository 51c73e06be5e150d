# Apache2::Directive: the tree of the configuration, as far as this pool's programs may see it: the lines of their own virtual
# hosts and those of the main server that apply to them, as they were when the pool's processes were started. Secrets are
# "(hidden)". A module's directive gets its own line (Apache2::CmdParms).
package Apache2::Directive;

use strict;
use warnings;

use Scalar::Util ();

our $VERSION = '2.000012';

sub directive   { return $_[0]{directive} }
sub args        { return $_[0]{args} }
sub filename    { return $_[0]{filename} }
sub line_num    { return $_[0]{line_num} }
sub first_child { return $_[0]{first_child} }
sub next        { return $_[0]{next} }
sub parent      { return $_[0]{parent} }

my @all;    # every node, made at the first call

# The first line of all; the others are its next ones. Where there are none, a node without a name that knows the user.
sub conftree {
    @all = _read(Hostler::configuration() // '') unless @all;
    @all = bless { directive => '', args => '', filename => '', line_num => 0 }, __PACKAGE__ unless @all;
    return $all[0];
}

sub _read {
    my @fields = split /\0/, shift, -1;
    my (@nodes, @open);    # all, and the last one of each depth
    while (@fields >= 5) {
        my ($depth, $line, $file, $name, $args) = splice @fields, 0, 5;
        my $node = bless { directive => $name, args => $args, filename => $file, line_num => $line }, __PACKAGE__;
        my $before = $open[$depth];
        if ($depth && !$before) { $open[ $depth - 1 ]{first_child} = $node }
        $before->{next} = $node if $before;
        push @nodes, $node;
        Scalar::Util::weaken($node->{parent} = $open[ $depth - 1 ]) if $depth;
        splice @open, $depth, @open - $depth, $node;
    }
    return @nodes;
}

# What a module's directive was read as; of a section its lines, each section in it as its first line.
sub as_string {
    my $self = shift;
    return "$self->{directive} $self->{args}\n" if $self->{is_line};
    my $text = '';
    for (my $node = $self->{first_child}; $node; $node = $node->{next}) { $text .= "$node->{directive} $node->{args}\n" }
    return $text;
}

# Names and arguments without the brackets of a section; the hash of what is in it, undef of a line.
sub _parts {
    my $self = shift;
    return ($self->{directive}, $self->{args}) unless $self->{directive} =~ /\A</;
    return (substr($self->{directive}, 1), $self->{args} =~ s/>\z//r, $self->{first_child} ? $self->{first_child}->as_hash : {});
}

# This line and the ones after it, as <Perl> sections have them.
sub as_hash {
    my $self = shift;
    my %all;
    for (my $node = $self; $node; $node = $node->{next}) {
        my ($name, $args, $inside) = $node->_parts;
        if    ($inside)             { $all{$name}{$args} = $inside }
        elsif (!exists $all{$name}) { $all{$name} = $args }
        elsif (ref $all{$name})     { push @{ $all{$name} }, $args }
        else                        { $all{$name} = [ $all{$name}, $args ] }
    }
    return \%all;
}

# What programs ask for and the lines do not say as it is for them.
my %known = (
    user       => sub { scalar getpwuid $> },
    group      => sub { scalar getgrgid 0 + $) },
    serverroot => sub { Hostler::settings()->{server_root} },
);

# lookup(directive, args): among this line and the ones after it. A line's arguments, a section's hash; as a list all of them.
sub lookup {
    my ($self, $wanted, $with) = @_;
    if (my $answer = $known{ lc $wanted }) { return $answer->() }
    my @found;
    for (my $node = $self; $node; $node = $node->{next}) {
        my ($name, $args, $inside) = $node->_parts;
        next if lc $name ne lc $wanted;
        next if defined $with && $args ne $with && $args ne qq("$with");
        push @found, $inside // $args;
    }
    return wantarray ? @found : $found[0];
}

1;
