# APR::Request::Param: one parameter of a query string or a body, with its upload where it has one. An object is a
# reference to a reference to what is known of it; a class of a program's own may keep one in a hash as `p`.
package APR::Request::Param;

use strict;
use warnings;

use Scalar::Util ();

our $VERSION = '2.17';

use overload '""' => sub { $_[0]->value }, fallback => 1;

# The encodings that libapreq2 tells apart.
use constant { ASCII => 0, LATIN1 => 1, CP1252 => 2, UTF8 => 8 };

sub _object { my ($class, $row) = @_; return bless \$row, $class }

# What is known of a parameter.
sub _row {
    my $object = shift;
    $object = $object->{p} // $object->{_p} while ref $object && Scalar::Util::reftype($object) eq 'HASH';
    return $$object if ref $object;
    require Carp;
    Carp::croak('APR::Request::Param: there is no parameter in this object');
}

# A row's value: bytes from outside, or characters where a program has said that it trusts them.
sub _text {
    my (undef, $row) = @_;
    my $text = $row->{value};
    if ($row->{tainted}) { Hostler::taint($text) if ${^TAINT} }
    elsif (_charset($row) == UTF8) { utf8::decode($text) }
    return $text;
}

sub _charset {
    my $row = shift;
    return $row->{charset} //= do {
        my $text = $row->{value};
        $text !~ /[^\x00-\x7f]/ ? ASCII : utf8::decode($text) ? UTF8 : $text =~ /[\x80-\x9f]/ ? CP1252 : LATIN1;
    };
}

# make(pool, name, value)
sub make { my ($class, undef, $name, $value) = @_; return $class->_object({ name => "$name", value => "$value" }) }

sub name  { return $_[0]->_row->{name} }
sub value { return __PACKAGE__->_text($_[0]->_row) }

sub is_tainted {
    my ($param, @new) = @_;
    my $row = $param->_row;
    my $old = $row->{tainted} ? 1 : 0;
    $row->{tainted} = $new[0] ? 1 : 0 if @new;
    return $old;
}

sub charset {
    my ($param, @new) = @_;
    my $row = $param->_row;
    my $old = _charset($row);
    $row->{charset} = $new[0] if @new;
    return $old;
}

# The headers of a part of the body, a table.
sub info {
    my ($param, @new) = @_;
    my $row = $param->_row;
    return $row->{table} = $new[0] if @new;
    return $row->{table} ||= do {
        my @fields = @{ $row->{upload} ? $row->{upload}{info} : [] };
        my $table  = APR::Table::make(undef, scalar(@fields) || 1);
        $table->add(@$_) for @fields;
        $table;
    };
}

sub _upload {
    my ($param, $call) = @_;
    my $upload = $param->_row->{upload};
    return $upload if $upload;
    require Carp;
    Carp::croak("\$param->$call: param has no upload brigade");
}

# The upload as a brigade; nothing where there is none.
sub upload {
    my ($param, @new) = @_;
    my $row = $param->_row;
    return $row->{brigade} = $new[0] if @new;
    return unless $row->{upload};
    return $row->{brigade} ||= do {
        require APR::Brigade;
        my $handle = _opened($row->{upload});
        my $all = APR::Brigade->new(undef, undef);
        while (read $handle, my $piece, 64 << 10) { $all->insert_tail(APR::Bucket->data_bucket($piece)) }
        $all;
    };
}

sub upload_filename { my $row = $_[0]->_row; return $row->{upload} ? __PACKAGE__->_text($row) : undef }
sub upload_size     { return $_[0]->_upload('upload_size()')->{size} }
sub upload_tempname { return $_[0]->_upload('upload_tempname()')->{path} }
sub upload_fh       { return _opened($_[0]->_upload('upload_fh()')) }

sub upload_type {
    my $param = shift;
    $param->_upload('upload_type()');
    my $type = $param->info->get('Content-Type');
    unless (defined $type) { require Carp; Carp::croak("\$param->upload_type: can't find Content-Type header") }
    return $type =~ s/;.*//sr;
}

# A handle of one's own upon the file, from its beginning.
sub _opened {
    my $upload = shift;
    open my $own, '<', '/dev/fd/' . fileno $upload->{handle} or die "an upload can't be opened: $!\n";
    binmode $own;
    return $own;
}

# upload_slurp($into): how many bytes
sub upload_slurp {
    my $param  = $_[0];
    my $handle = _opened($param->_upload('upload_slurp($data)'));
    local $/;
    $_[1] = readline($handle) // '';
    Hostler::taint($_[1]) if ${^TAINT} && $param->is_tainted;
    return length $_[1];
}

# The file gets this name as well; a copy if that stands on another file system.
sub upload_link {
    my ($param, $path) = @_;
    my $upload = $param->_upload('upload_link($file)');
    return 1 if link $upload->{path}, $path;
    return if -e $path;
    require File::Copy;
    return File::Copy::copy(_opened($upload), $path) ? 1 : undef;
}

# A handle to be read once.
sub upload_io {
    my $handle = _opened($_[0]->_upload('upload_io()'));
    require Symbol;
    my $io = bless Symbol::gensym(), 'APR::Request::Brigade::IO';
    tie *$io, 'APR::Request::Brigade', $handle;
    return $io;
}

# Reads a brigade, or an upload's file, once.
package APR::Request::Brigade;
our @ISA = ('APR::Brigade');

sub new { my ($class, @given) = @_; return $class->TIEHANDLE(@given) }

# Of a brigade a copy, so that it stays as it is.
sub TIEHANDLE {
    my ($class, $source) = @_;
    require APR::Brigade;
    return bless { buckets => [], handle => $source }, $class if ref $source eq 'GLOB';
    my $copy = $class->of([]);
    $copy->insert_tail(APR::Bucket->data_bucket($_->{data})) for @{ $source->{buckets} };
    return $copy;
}

# READ($into, [length, [offset]]): without a length what comes next.
sub READ {
    my ($self, undef, $length, $offset) = @_;
    my $text = '';
    if (my $handle = $self->{handle}) { read $handle, $text, defined $length && $length >= 0 ? $length : 64 << 10 }
    else {
        while (my $bucket = shift @{ $self->{buckets} }) {
            $text .= $bucket->{data};
            last if !defined $length || $length < 0;
            next if CORE::length $text < $length;
            my $rest = substr $text, $length, CORE::length($text), '';
            unshift @{ $self->{buckets} }, APR::Bucket->data_bucket($rest) if CORE::length $rest;
            last;
        }
    }
    $_[1] = '' unless defined $_[1];
    $offset //= 0;
    $_[1] .= "\0" x ($offset - CORE::length $_[1]) if $offset > CORE::length $_[1];
    substr $_[1], $offset, CORE::length($_[1]), $text;
    return CORE::length $text;
}

# Lines end with a line feed, whatever $/ says.
sub READLINE {
    my $self = shift;
    local $/ = "\n";
    if (my $handle = $self->{handle}) { return wantarray ? readline $handle : scalar readline $handle }
    my @lines;
    while (@{ $self->{buckets} }) {
        my $line = '';
        while (my $bucket = shift @{ $self->{buckets} }) {
            my ($first, $rest) = $bucket->{data} =~ /\A([^\n]*\n?)(.*)\z/s;
            $line .= $first;
            unshift @{ $self->{buckets} }, APR::Bucket->data_bucket($rest) if CORE::length $rest;
            last if $line =~ /\n\z/;
        }
        return $line unless wantarray;
        push @lines, $line;
    }
    return wantarray ? @lines : undef;
}

package APR::Request::Brigade::IO;

sub read { my $io = shift; return tied(*$io)->READ(@_) }
sub readline { my $io = shift; return tied(*$io)->READLINE }

1;
