# APR::Error: what calls of APR, of Apache and exit() throw: a number, the function, the place.
package APR::Error;

use strict;
use warnings;

our $VERSION = '0.009000';

use overload
    'bool'   => sub { $_[0]->str },
    '""'     => sub { $_[0]->str },
    '0+'     => sub { $_[0]{rc} },
    '=='     => sub { $_[0]{rc} == (ref $_[1] && ref $_[1] eq __PACKAGE__ ? $_[1]{rc} : $_[1]) },
    '!='     => sub { $_[0]{rc} != (ref $_[1] && ref $_[1] eq __PACKAGE__ ? $_[1]{rc} : $_[1]) },
    nomethod => sub { die __PACKAGE__ . ": Can't handle '$_[3]'" };

# Numbers of APR's own; those below 20000 are the system's.
my %text = (
    20014  => 'Internal error (specific information not available)',
    20016  => 'The specified IP address is invalid.',
    20017  => 'The specified network mask is invalid.',
    70007  => 'The timeout specified has expired',
    70008  => 'Partial results are valid but processing is incomplete',
    70014  => 'End of file found',
    70023  => 'This function has not been implemented on this platform',
    120000 => 'exit was called',
);

sub strerror {
    my $number = $_[-1];
    return $text{$number} if $text{$number};
    return 'Success' unless $number;
    return "Error string not specified yet" if $number >= 20000;
    local $! = $number;
    return "$!";
}

sub new { my ($class, %fields) = @_; return bless \%fields, $class }

# throw(number, function): blames whoever called the function, not Hostler's own modules.
sub throw {
    my ($number, $function) = @_;
    my ($depth, $file, $line) = (0);
    do { (undef, $file, $line) = caller $depth++ } while defined $file && $file =~ m{\Ahostler/};
    die bless { rc => $number, func => $function, file => $file // '', line => $line // 0 }, __PACKAGE__;
}

sub str {
    my $error = shift;
    return sprintf '%s: (%d) %s at %s line %d', $error->{func}, $error->{rc}, strerror($error->{rc}), $error->{file}, $error->{line};
}

sub num     { return $_[0]{rc} }
sub cluck   { require Carp; Carp::cluck(ref $_[0] eq __PACKAGE__ ? $_[0]->str : @_) }
sub confess { require Carp; Carp::confess(ref $_[0] eq __PACKAGE__ ? $_[0]->str : @_) }

# Perl does not even call a destructor that is empty; without one it would look for AUTOLOAD each time. This file is
# loaded before any program.
for my $class (qw(Apache2::RequestRec Apache2::SubRequest Apache2::Connection Apache2::ServerRec APR::Table)) {
    no warnings 'redefine';
    eval "package $class; sub DESTROY { } 1" or die $@;
}

1;
