# Compiles Registry scripts in the warm parent, so that all workers share them:
#
#     ModPerl::RegistryLoader->new(package => 'ModPerl::Registry')->handler($uri, $file, $virtual_host);
#
# The object stands for the request while the script is compiled; nothing is run.
package ModPerl::RegistryLoader;

use strict;
use warnings;

use ModPerl::RegistryCooker ();
use Apache2::Const -compile => qw(OK HTTP_OK OPT_EXECCGI);
use APR::Const -compile     => qw(FINFO_MIN);
use APR::Finfo          ();
use APR::Pool           ();
use Apache2::Log        ();
use Apache2::ServerUtil ();
use Carp                ();

our $VERSION = '1.99';
our @ISA;

sub new {
    my $class = shift;
    my $self  = bless {@_}, ref $class || $class;
    $self->{package} ||= 'ModPerl::Registry';
    $self->{pool} = APR::Pool->new;
    $self->load_package($self->{package});
    return $self;
}

sub load_package {
    my ($self, $package) = @_;
    defined $package or Carp::croak("package to load wasn't specified");
    (my $file = "$package.pm") =~ s{::}{/}g;
    require $file;
    return;
}

sub handler {
    my ($self, $uri, $filename, $host) = @_;
    @ISA = ($self->{package});
    return $self->warn('uri is a required argument') unless defined $uri;
    $filename = $self->_file_of($uri, $filename);
    return unless defined $filename;
    my $stand_in = bless { uri => $uri, filename => $filename, package => $self->{package} }, ref $self;
    $stand_in->{trans}    = $self->{trans} if $self->{trans};
    $stand_in->{virthost} = $host if defined $host;
    my $new = $self->{package}->can('new');
    return $new->(__PACKAGE__, $stand_in)->default_handler;
}

# The file of a URI: as given, as translated, or below the ServerRoot; undef (and a warning) if there is none.
sub _file_of {
    my ($self, $uri, $filename) = @_;
    my $trouble = 'Cannot find';
    if (!defined $filename && ref $self->{trans} eq 'CODE') {
        $filename = $self->{trans}->($uri);
        $trouble  = 'Cannot find a translated from uri';
    }
    elsif (!defined $filename) {
        $self->warn('Trying to guess filename based on uri') if $self->{debug};
        ($filename = $uri) =~ s{^/*}{Apache2::ServerUtil::server_root() . '/'}e;
        $trouble = 'Cannot find guessed file';
    }
    $self->warn("*** uri=$uri, filename=" . ($filename // '')) if $self->{debug};
    return $filename if defined $filename && -e $filename;
    $self->warn("$trouble: " . ($filename // ''));
    return;
}

# ---- the request's side ----

sub uri             { return $_[0]{uri} }
sub filename        { return $_[0]{filename} }
sub path_info       { return }
sub status          { return Apache2::Const::HTTP_OK }
sub server          { return $_[0] }
sub is_virtual      { return exists $_[0]{virthost} }
sub get_server_name { return $_[0]{virthost} }
sub pool            { return $_[0]{pool} ||= APR::Pool->new }
sub finfo { return $_[0]{finfo} ||= APR::Finfo::stat($_[0]{filename}, APR::Const::FINFO_MIN, $_[0]->pool) }

# Whether it may run is for the request to say.
sub allow_options { return Apache2::Const::OPT_EXECCGI }

sub slurp_filename {
    my $self = shift;
    open my $handle, '<', $self->{filename} or die "can't open $self->{filename}: $!";
    local $/;
    my $text = <$handle>;
    $text = '' unless defined $text;
    ($text) = $text =~ /(.*)/s unless @_ && !$_[0] && !${^TAINT};
    return \$text;
}

sub log_error {
    my $self = shift;
    die @_ if $@;
    warn @_;
    return;
}

# ---- the class's side ----

sub run { return Apache2::Const::OK }

# The script belongs to the class that will run it, not to this one.
sub namespace_root {
    my $self = shift;
    return join '::', ModPerl::RegistryCooker::NAMESPACE_ROOT(), $self->{REQ}{package};
}

sub warn {
    my $self = shift;
    Apache2::Log->warn(__PACKAGE__ . ": @_\n");
    return;
}

1;
