# APR::Brigade: a list of buckets, for filters in Perl.
package APR::Brigade;

use strict;
use warnings;

use APR::Bucket ();

our $VERSION = '0.009000';

# new(class, pool, bucket_alloc)
sub new {
    my ($class, $pool, $alloc) = @_;
    return bless { buckets => [], pool => $pool, alloc => $alloc }, ref $class || $class;
}

# One of these buckets.
sub of {
    my ($class, $buckets) = @_;
    my $bb = bless { buckets => [@$buckets] }, $class;
    $_->belongs($bb) for @$buckets;
    return $bb;
}

sub _place {
    my ($bb, $bucket) = @_;
    my $list = $bb->{buckets};
    my ($at) = grep { $list->[$_] == $bucket } 0 .. $#$list;
    return $at;
}

sub pool         { return $_[0]{pool} }
sub bucket_alloc { return $_[0]{alloc} || bless {}, 'APR::BucketAlloc' }
sub first        { return $_[0]{buckets}[0] }
sub last         { return $_[0]{buckets}[-1] }
sub is_empty     { return @{ $_[0]{buckets} } ? '' : 1 }

sub next {
    my ($bb, $bucket) = @_;
    my $at = _place($bb, $bucket);
    return defined $at ? $bb->{buckets}[ $at + 1 ] : undef;
}

sub prev {
    my ($bb, $bucket) = @_;
    my $at = _place($bb, $bucket);
    return $at ? $bb->{buckets}[ $at - 1 ] : undef;
}

sub insert_tail {
    my ($bb, $bucket) = @_;
    $bucket->remove;
    push @{ $bb->{buckets} }, $bucket;
    $bucket->belongs($bb);
    return;
}

sub insert_head {
    my ($bb, $bucket) = @_;
    $bucket->remove;
    unshift @{ $bb->{buckets} }, $bucket;
    $bucket->belongs($bb);
    return;
}

sub concat {
    my ($bb, $other) = @_;
    my @moved = splice @{ $other->{buckets} };
    push @{ $bb->{buckets} }, @moved;
    $_->belongs($bb) for @moved;
    return;
}

# From this bucket on they are another brigade.
sub split {
    my ($bb, $bucket) = @_;
    my $at   = _place($bb, $bucket);
    my @tail = defined $at ? splice @{ $bb->{buckets} }, $at : ();
    my $new  = (ref $bb)->of(\@tail);
    $new->{alloc} = $bb->{alloc};
    $_->belongs($new) for @tail;
    return $new;
}

sub cleanup { $_[0]{buckets} = []; return 0 }
sub destroy { $_[0]{buckets} = []; return 0 }

sub length {
    my $bb = shift;
    my $length = 0;
    $length += $_->length for grep { $_->length > 0 } @{ $bb->{buckets} };
    return $length;
}

# flatten(buffer, wanted): the bytes of all buckets, or so many of them; they stay.
sub flatten {
    my ($bb, undef, $wanted) = @_;
    if (!ref $bb || @_ < 2) {
        require Carp;
        Carp::croak('usage: $bb->flatten($buf, [$wanted])');
    }
    my $text = join '', map { $_->{data} } @{ $bb->{buckets} };
    $text = substr $text, 0, $wanted if defined $wanted && $wanted >= 0 && $wanted < CORE::length $text;
    $_[1] = $text;
    Hostler::taint($_[1]) if ${^TAINT};
    return CORE::length $text;
}

1;
