# Apache2::ServerUtil: the server as a whole, and what a program registers with it at startup.
package Apache2::ServerUtil;

use strict;
use warnings;

require Apache2::ServerRec;
require Apache2::Log;
our $VERSION = '2.000012';

# What programs have added to the server's name. Clients are told the front's.
my @components;

sub _software { return join ' ', Hostler::settings()->{software} // 'Hostler', @components }

sub get_server_description { return _software() }
sub get_server_banner      { return _software() }
sub get_server_version     { return _software() }

# When the engine was built, as Apache writes it: "Nov 12 2026 08:58:41".
sub get_server_built {
    require POSIX;
    return POSIX::strftime('%b %e %Y %H:%M:%S', gmtime((stat '/proc/self/exe')[9] // 0));
}

# Apache reads its configuration twice; programs that wait for the second time need not wait here.
sub restart_count { return 2 }

sub exists_config_define { return $_[-1] eq 'MODPERL2' ? 1 : 0 }
sub user_id              { return $> }
sub group_id             { return 0 + $) }
sub server_root          { return Hostler::settings()->{server_root} }

# (pool, path), also as a method with a path: below ServerRoot unless it begins with a slash; `.` and `..` are resolved
# (apr_filepath_merge), and ServerRoot alone ends with a slash.
sub server_root_relative {
    require Carp;
    Carp::croak('Usage: Apache2::ServerUtil::server_root_relative(p, fname="")') if !@_;
    Carp::croak('p is not of type APR::Pool') if ref $_[0] && !grep { eval { $_[0]->isa($_) } } qw(APR::Pool Apache2::ServerRec);
    my $path = $_[1] // '';
    $path = (server_root() // '') . "/$path" unless $path =~ m{\A/};
    my @parts;
    for my $part (split m{/+}, $path) {
        if    ($part eq '..')                 { pop @parts }
        elsif ($part ne '.' && length $part) { push @parts, $part }
    }
    return '/' . join('/', @parts) . (@parts && $path =~ m{/\z} ? '/' : '');
}

# Called when the process ends.
sub server_shutdown_cleanup_register {
    my ($code, $argument) = @_;
    if (Hostler::Request::current()) {
        require Carp;
        Carp::croak(q(Can't run 'server_shutdown_cleanup_register' after server startup));
    }
    $code = caller . "::$code" unless ref $code || $code =~ /::|'/;
    require APR::Pool;
    APR::Pool::of_process()->cleanup_register($code, @_ > 1 ? $argument : ());
    return;
}

package Apache2::ServerRec;

# What programs have registered for each worker's beginning and end, by directive: the engine looks here.
our %handlers;

# Whether handlers are the configuration's: which phases of requests a worker is asked for is said there. What is pushed while
# something is loaded was made directives of when the configuration was read (Hostler::Configure); all that is left to do
# is to have the functions under their names.
sub _is_of_configuration {
    my ($name, @handlers) = @_;
    return if $name =~ /\APerlChild(?:Init|Exit)Handler\z/;
    if ($Hostler::configured && !Hostler::Request::current()) {
        _named($_) for @handlers;
        return 1;
    }
    require Carp;
    Carp::croak("$name cannot be added for all requests any more: the configuration was read before. Write it there, use "
            . '$r->push_handlers, or write a comment with the word add_config into the file that calls this: see docs/perl-calls.md');
}

# A handler's name in the configuration. A function without a name gets one by the place where it stands, the same each time that it
# is loaded.
my %anonymous;

sub _named {
    my $handler = shift;
    return $handler if ref $handler ne 'CODE';
    require B;
    no strict 'refs';
    my $function = B::svref_2object($handler);
    my ($stash, $own) = ($function->GV->STASH->NAME, $function->GV->NAME);
    return "$stash\::$own" if $own ne '__ANON__' && defined &{"$stash\::$own"};
    my $start = $function->START;
    my $place = join '_', $function->FILE, $start->can('line') ? $start->line : 0;
    $place =~ s/\W/_/g;
    my $name = join '_', "Hostler::Pushed::at_$place", ++$anonymous{$place};
    *{$name} = $handler;
    return $name;
}

sub push_handlers {
    my ($s, $name, $given) = @_;
    my @handlers = Apache2::RequestRec::_given($given, scalar caller);
    return 1 if _is_of_configuration($name, @handlers);
    push @{ $handlers{$name} }, @handlers;
    return 1;
}

sub set_handlers {
    my ($s, $name, $given) = @_;
    my @handlers = Apache2::RequestRec::_given($given, scalar caller);
    return 1 if _is_of_configuration($name, @handlers);
    $handlers{$name} = [@handlers];
    return 1;
}

# By the server's place: what its configuration says, which the engine does not look for here.
my %configured;
sub _configured { my ($place, $name, @words) = @_; $configured{$place}{$name} = \@words; return }

sub _of { my ($s, $name) = @_; return @{ $configured{ Hostler::Server::id($s) }{$name} || [] } }

sub get_handlers {
    my ($s, $name) = @_;
    my @list = (_of($s, $name), @{ $handlers{$name} || [] });
    return @list ? \@list : undef;
}

sub method_register       { return 27 }
sub add_version_component { push @components, $_[1]; return }
sub error_log2stderr      { return }
sub server_root_relative  { return Apache2::ServerUtil::server_root_relative(@_) }

# What a server has by itself.
my %option = (
    (map { ($_ => 0) } qw(None Clone Parent InheritSwitches Autoload MergeHandlers)),
    (map { ($_ => 1) } qw(Unset Enable ChildInit ChildExit PreConnection ProcessConnection OpenLogs PostConfig InputFilter
            OutputFilter PostReadRequest Trans MapToStorage HeaderParser Access Authen Authz Type Fixup Response Log Cleanup)),
);

sub is_perl_option_enabled {
    my ($s, $name) = @_;
    my $is = $option{$name} // die "PerlOptions $name is not a server option";
    return $is && !grep({ $_ eq $name } _of($s, 'off')) ? 1 : 0;
}


# What builds configuration is run twice: once while the configuration is read, where this is another's
# (Hostler::Configure).
sub add_config {
    require Carp;
    Carp::croak('$s->add_config() has failed: not after server startup') if Hostler::Request::current();
    return if $Hostler::configured;
    Carp::croak('$s->add_config has no effect any more: the configuration was read before, and nothing showed then that '
            . 'it is called here. Write a comment with the word add_config into the file that PerlRequire, PerlModule or '
            . 'PerlConfigRequire names, or $PerlConfig .= \'\'; into the <Perl> section: see docs/moving-from-mod_perl.md');
}

require Apache2::RequestUtil;

1;
