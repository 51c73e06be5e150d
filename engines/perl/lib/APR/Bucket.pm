# APR::Bucket: bytes on their way through filters in Perl, or a mark among them: the end, or a wish that all is sent.
package APR::Bucket;

use strict;
use warnings;

use Scalar::Util ();

our $VERSION = '0.009000';

sub data_bucket {
    my ($class, $text) = @_;
    return bless { kind => 'HEAP', data => $text }, $class;
}

# new(class, bucket_alloc, data, offset, length)
sub new {
    my ($class, undef, $data, $offset, $length) = @_;
    $data = '' unless defined $data;
    utf8::encode($data) if utf8::is_utf8($data) && !utf8::downgrade($data, 1);
    $offset ||= 0;
    die "APR::Bucket::new: the offset is outside of the buffer\n" if $offset > CORE::length $data;
    my $most = CORE::length($data) - $offset;
    if (($length || 0) > $most) {
        require Carp;
        Carp::croak("APR::Bucket::new: the length argument can't be bigger than the total buffer length minus offset");
    }
    my $bucket = bless { kind => 'mod_perl SV bucket', start => $offset, wanted => $length || $most }, ref $class || $class;
    $bucket->{data} = substr $data, $offset, $length || $most;
    $bucket->{of} = \$_[2] if @_ > 2 && !Scalar::Util::readonly($_[2]);
    return $bucket;
}

# As long as it is in no brigade, what its variable says now is its data.
sub _now {
    my $bucket = shift;
    my $of     = $bucket->{of} or return $bucket;
    my $data   = $$of // '';
    utf8::encode($data) if utf8::is_utf8($data) && !utf8::downgrade($data, 1);
    $bucket->{data} = $bucket->{start} <= CORE::length $data ? substr $data, $bucket->{start}, $bucket->{wanted} : '';
    return $bucket;
}

sub eos_create   { return bless { kind => 'EOS',   data => '' }, __PACKAGE__ }
sub flush_create { return bless { kind => 'FLUSH', data => '' }, __PACKAGE__ }

sub is_eos   { return $_[0]{kind} eq 'EOS'   ? 1 : '' }
sub is_flush { return $_[0]{kind} eq 'FLUSH' ? 1 : '' }
sub length   { return CORE::length $_[0]->_now->{data} }
sub start    { return $_[0]{start} || 0 }
sub data     { return $_[0]->_now->{data} }
sub type     { return bless { name => $_[0]{kind} }, 'APR::BucketType' }
sub setaside { delete $_[0]->_now->{of}; return 0 }

# read(buffer, block): the length.
sub read {
    my $bucket = shift->_now;
    $_[0] = $bucket->{data};
    Hostler::taint($_[0]) if ${^TAINT};
    return CORE::length $bucket->{data};
}

# Whose it is now.
sub belongs {
    my ($bucket, $bb) = @_;
    delete $bucket->_now->{of};
    Scalar::Util::weaken($bucket->{brigade} = $bb);
    return;
}

sub _of {
    my $bucket = shift;
    return $bucket->{brigade};
}

sub remove {
    my $bucket = shift;
    my $bb     = delete $bucket->{brigade} or return;
    @{ $bb->{buckets} } = grep { $_ != $bucket } @{ $bb->{buckets} };
    return;
}

sub delete  { $_[0]->remove; return }
sub destroy { return }

sub insert_after  { return _insert(@_, 1) }
sub insert_before { return _insert(@_, 0) }

# $given->insert_after($bucket): the bucket comes behind the one that is there.
sub _insert {
    my ($there, $bucket, $behind) = @_;
    my $bb = $there->{brigade} or die "the bucket is in no brigade\n";
    $bucket->remove;
    my $list = $bb->{buckets};
    my ($at) = grep { $list->[$_] == $there } 0 .. $#$list;
    splice @$list, $at + $behind, 0, $bucket;
    $bucket->belongs($bb);
    return;
}

1;
