# APR::Request::Error: what is thrown where a query string, a body or cookies can't be read, and the numbers and words.
package APR::Request::Error;

use strict;
use warnings;

use APR::Error   ();
use Scalar::Util ();

use Exporter 'import';

our $VERSION = '2.17';
our @ISA     = ('APR::Error', 'APR::Request');

# libapreq2's numbers begin where APR leaves room for programs.
use constant FIRST => 120000;

my %known = (
    GENERAL   => [ 0,  'Internal apreq error' ],
    TAINTED   => [ 1,  'Attempt to perform unsafe action with tainted data' ],
    INTERRUPT => [ 2,  'Parsing interrupted' ],
    BADDATA   => [ 10, 'Malformed input data' ],
    BADCHAR   => [ 11, 'Invalid character' ],
    BADSEQ    => [ 12, 'Invalid byte sequence' ],
    BADATTR   => [ 13, 'Unrecognized attribute' ],
    BADHEADER => [ 14, 'Malformed header string' ],
    BADUTF8   => [ 15, 'Invalid utf8 encoding' ],
    NODATA    => [ 20, 'Missing input data' ],
    NOTOKEN   => [ 21, 'Expected token not present' ],
    NOATTR    => [ 22, 'Missing attribute' ],
    NOHEADER  => [ 23, 'Missing header' ],
    NOPARSER  => [ 24, 'Missing parser' ],
    MISMATCH  => [ 30, 'Conflicting information' ],
    OVERLIMIT => [ 31, 'Exceeds configured maximum limit' ],
    UNDERLIMIT => [ 32, 'Below configured minimum limit' ],
    NOTEMPTY  => [ 33, 'Setting already configured' ],
);
our @EXPORT_OK = ('strerror', keys %known);

my %words = map { (FIRST + $_->[0] => $_->[1]) } values %known;

# A number that reads as its words.
sub status { my $number = shift; return Scalar::Util::dualvar($number, strerror($number)) }

for my $name (keys %known) {
    my $value = Scalar::Util::dualvar(FIRST + $known{$name}[0], $known{$name}[1]);
    no strict 'refs';
    *$name = sub () { $value };
}

sub strerror {
    my $number = 0 + $_[-1];
    return $number ? $words{$number} // APR::Error::strerror($number) : 'Success';
}

# What says only that there was nothing to read is no error.
my %harmless = map { ($_ => 1) } 0, FIRST + 20, FIRST + 23, FIRST + 24;
sub is_error { return !$harmless{ 0 + $_[0] } }

# throw(request, number, function): blames who called, not Hostler's own modules.
sub throw {
    my ($request, $number, $function) = @_;
    my ($depth, $file, $line) = (0);
    do { (undef, $file, $line) = caller $depth++ } while defined $file && $file =~ m{\Ahostler/};
    die bless { rc => 0 + $number, func => $function, file => $file // '', line => $line // 0, _r => $request }, __PACKAGE__;
}

sub str {
    my $error = shift;
    return sprintf '%s: (%d) %s at %s line %d', @$error{qw(func rc)}, strerror($error->{rc}), @$error{qw(file line)};
}

1;
