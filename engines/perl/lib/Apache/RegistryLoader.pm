# Compiles Apache::Registry scripts in the warm parent, so that all workers share them:
#
#     Apache::RegistryLoader->new->handler($uri, $file, $virtual_host);
package Apache::RegistryLoader;

use strict;
use warnings;
use Apache::Constants qw(DOCUMENT_FOLLOWS);
use Apache::Registry ();

our $VERSION = '1.91';

# new(trans => sub { file of a URI })
sub new {
    my $class = shift;
    return bless {@_}, ref $class || $class;
}

sub handler {
    my ($self, $uri, $filename, $host) = @_;
    defined $uri or die "Apache::RegistryLoader: the URI of the script is missing\n";
    unless (defined $filename) {
        $filename = ref $self->{trans} eq 'CODE' ? $self->{trans}->($uri) : Apache->server_root_relative($uri =~ s{^/+}{}r);
    }
    unless (defined $filename && -e $filename) {
        warn 'Apache::RegistryLoader: Cannot find ' . ($filename // "a file of $uri") . "\n";
        return;
    }
    my $package = 'Apache::ROOT' . Apache::Registry::escaped($uri eq '/' ? '/__INDEX__' : $uri,
        $Apache::Registry::NameWithVirtualHost ? $host : '');
    open my $file, '<', $filename or die "Apache::RegistryLoader: can't open $filename: $!\n";
    my $text = do { local $/; <$file> };
    close $file;
    require Cwd;
    require File::Basename;
    # The administrator has named the file: under taint checks, too, that is where its script is at home.
    my ($home, $folder) = map { /\A(.*)\z/s } Cwd::getcwd(), File::Basename::dirname($filename);
    chdir $folder or die "Apache::RegistryLoader: can't chdir to $folder: $!\n";
    my $good = Apache::Registry::compile($package, $text, $filename, undef);
    my $error = $@;
    chdir $home;
    die $error unless $good;
    return DOCUMENT_FOLLOWS;
}

1;
