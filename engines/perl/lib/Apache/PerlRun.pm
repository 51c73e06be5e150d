# Scripts run as they are, compiled for each request, their package emptied after it (mod_perl 1). The steps are
# methods; Apache::RegistryNG replaces some.
package Apache::PerlRun;

# Compiles and runs in a scope of its own.
sub _evaluate { eval ${ $_[0] } }

use strict;
use warnings;
use Apache ();
use Apache::Constants qw(OK DECLINED FORBIDDEN NOT_FOUND SERVER_ERROR);
use Apache::Registry ();
use File::Basename   ();
use ModPerl::Util    ();

our $VERSION = '1.15';
our ($Debug, $NameWithVirtualHost) = (0, 1);

sub new {
    my ($class, $r) = @_;
    return bless { r => $r, _r => $r }, $class;
}

sub handler ($$) {
    my ($class, $r) = @_ >= 2 ? @_ : (__PACKAGE__, @_);
    $r = Apache->request unless ref $r;
    my $self = ref $class ? $class : $class->new($r);
    my $rc   = $self->can_compile;
    return $rc if $rc != OK;

    my $package = $self->namespace;
    my $code    = $self->readscript;
    my $warn    = $^W;
    $self->parse_cmdline($code);
    local $0 = $0;
    $self->set_script_name;
    $self->chdir_file;
    my $before = $r->status;
    $rc = $self->execute($package, $code);
    $self->chdir_file(Apache->server_root_relative(''));
    $^W = $warn;
    my $status = $r->status($before);
    $r->child_terminate if lc($r->dir_config('PerlRunOnce') // '') eq 'on';
    return $rc != OK || $status == 200 || $r->sent_header ? $rc : $status;
}

# Compiles, runs and forgets the script.
sub execute {
    my ($self, $package, $code) = @_;
    my $mark = $self->mark_line;
    my %before = %INC;
    Hostler::Registry::ends_register($package);
    Hostler::Registry::ends_clear($package);
    my $rc = $self->compile(\"package $package;use Apache qw(exit);$mark$$code\n");
    Hostler::Registry::ends_run($package);
    $rc = $self->error_check if $rc == OK;
    delete @INC{ grep { !$before{$_} && !/\.pm\z/ } keys %INC };
    $self->flush_namespace($package);
    return $rc;
}

sub r { return $_[0]{_r} }

sub can_compile {
    my $self = shift;
    return Apache::Registry::refusal($self->{_r}, $self->{_r}->filename) || OK;
}

sub namespace {
    my ($self, $root) = @_;
    my $package = Apache::Registry::package_of($self->{_r});
    $package =~ s/^Apache::ROOT/$root/ if defined $root;
    return $self->{namespace} = $package;
}

sub readscript {
    my $self = shift;
    return $self->{code} = $self->{_r}->slurp_filename;
}

sub parse_cmdline {
    my ($self, $code) = @_;
    my ($line) = $$code =~ /\A#!\S*perl\S*(.*)/ or return;
    $^W = 1 if $line =~ /\s-\w*w/;
    return;
}

sub set_script_name { $0 = $_[0]{_r}->filename; return }
sub mark_line       { return $Apache::Registry::MarkLine ? "\n#line 1 " . $_[0]{_r}->filename . "\n" : '' }

sub chdir_file {
    my ($self, $directory) = @_;
    chdir(defined $directory ? $directory : File::Basename::dirname($self->{_r}->filename));
    return;
}

sub compile {
    my ($self, $text) = @_;
    $text = \($$text =~ /\A(.*)\z/s)[0] if ${^TAINT};
    _evaluate($text);
    return $self->error_check;
}

sub error_check {
    my $self = shift;
    return OK if !$@ || Apache::exited($@);
    return $self->xlog_error($@);
}

sub xlog_error { my ($self, $error) = @_; return Apache::Registry::failed($self->{_r}, $error) }

sub flush_namespace {
    my ($self, $package) = @_;
    ModPerl::Util::unload_package(defined $package ? $package : $self->{namespace});
    return;
}

1;
