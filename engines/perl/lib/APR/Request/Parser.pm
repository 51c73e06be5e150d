# APR::Request::Parser: how a body is taken apart, for APR::Request::Custom.
package APR::Request::Parser;

use strict;
use warnings;

use APR::Request ();

our $VERSION = '2.17';

# urlencoded(pool, bucket_alloc, content type, [bytes in memory, [directory, [hook]]]), and the other kinds.
for my $kind (qw(urlencoded multipart headers generic default)) {
    no strict 'refs';
    *$kind = sub {
        my ($class, undef, undef, $type, undef, $directory) = @_;
        return bless { kind => $kind, type => $type, directory => $directory }, ref $class || $class;
    };
}

my %type = (urlencoded => qr{\Aapplication/x-www-form-urlencoded\b}i, multipart => qr{\Amultipart/}i);

# What a body of this type is, for Hostler::Form; nothing where there is no parser for it.
sub _kind {
    my ($kind, $type) = @_;
    return $kind unless $kind eq 'default';
    return (grep { ($type // '') =~ $type{$_} } sort keys %type)[0];
}

1;
