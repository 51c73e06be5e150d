# mod_perl 1's Apache::File: files of a handler's own, and the methods that it adds to the request.
package Apache::File;

use strict;
use warnings;
use Apache ();
use IO::File ();

our $VERSION = '1.01';
our @ISA     = ('IO::File');
my @left;    # of before the first request

# new($path): opened for reading, or as open() is told.
sub new {
    my ($class, @how) = @_;
    my $self = bless IO::File->new, $class;
    if (@how) { $self->open(@how) or return }
    return $self;
}

sub open {
    my ($self, @how) = @_;
    return @how == 1 && $how[0] =~ /^\s*[<>+|]|\|\s*$/ ? CORE::open($self, $how[0]) : $self->SUPER::open(@how);
}

# tmpfile(): (path, handle) of a file that is removed after the request; in scalar context the handle.
sub tmpfile {
    require File::Temp;
    my ($handle, $path) = File::Temp::tempfile('hostler-XXXXXXXX', DIR => File::Spec->tmpdir);
    my $file = bless IO::File->new_from_fd($handle, 'r+'), 'Apache::File';
    my $r    = Apache->request;
    $r ? $r->register_cleanup(sub { unlink $path; 0 }) : push @left, $path;
    return wantarray ? ($path, $file) : $file;
}


END { unlink @left if @left }

sub gensym { return Apache->gensym }

1;
