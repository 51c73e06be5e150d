# An uploaded file of a form (libapreq 1). The file is removed when nobody holds it (Hostler::Form::File).
package Apache::Upload;

use strict;
use warnings;

our $VERSION = '1.34';

# Objects of what Hostler::Form found; each knows the next.
sub chain {
    my ($class, @found) = @_;
    my @uploads = map { bless {%$_}, $class } @found;
    $uploads[$_]{next} = $uploads[ $_ + 1 ] for 0 .. $#uploads - 1;
    return \@uploads;
}

# One that is still coming in, for a hook.
sub passing { my ($class, $found) = @_; return bless {%$found}, $class }

sub name     { return $_[0]{name} }
sub filename { return $_[0]{filename} }
sub size     { return $_[0]{size} }
sub type     { return $_[0]{type} }
sub tempname { return $_[0]{path} }
sub next     { return $_[0]{next} }

# A handle of its own, from the beginning; as long as it is open the same one. What is done with it is nothing to the file.
sub fh {
    my $self = shift;
    return $self->{own} if $self->{own} && defined fileno $self->{own};
    return $self->{handle} unless $self->{handle} && defined fileno $self->{handle};
    open my $own, '<', '/dev/fd/' . fileno $self->{handle} or return $self->{handle};
    binmode $own;
    return $self->{own} = $own;
}

# info($name): a header of the part; info(): the table of them.
sub info {
    my ($self, $name) = @_;
    my %info = map { @$_ } @{ $self->{info} };
    unless (defined $name) {
        require Apache::Table;
        my $table = Apache::Table->new(undef, 4);
        $table->add(@$_) for @{ $self->{info} };
        return wantarray ? %info : $table;
    }
    my ($found) = grep { lc eq lc $name } keys %info;
    return defined $found ? $info{$found} : undef;
}

# Gives the file a second name: it is kept.
sub link {
    my ($self, $path) = @_;
    return CORE::link($self->{path}, $path);
}

sub slurp {
    my $self = shift;
    seek $self->{handle}, 0, 0;
    local $/;
    my $text = readline $self->{handle};
    $_[0] = $text if @_;
    return @_ ? length $text : $text;
}

1;
