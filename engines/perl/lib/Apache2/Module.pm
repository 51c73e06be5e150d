# Apache2::Module: programs ask whether mod_perl and a few others are there. There is no chain of modules.
package Apache2::Module;

use strict;
use warnings;

our $VERSION = '2.000012';

my %there = map { ($_ => 1) } qw(core http_core prefork), map { "mod_$_" } qw(perl alias auth_basic authn_file
    authz_core authz_host authz_user autoindex cgi deflate dir env expires headers include log_config logio mime
    negotiation rewrite setenvif so ssl status unixd userdir version);

# 1: there, as Debian's Apache says of all that it has.
sub loaded { return $there{ $_[-1] =~ s/\.c\z//r } ? 1 : 0 }

sub top_module            { return bless { name => 'mod_perl.c' }, __PACKAGE__ }
sub name                  { return $_[0]{name} }
sub next                  { return }
sub module_index          { return 0 }
sub cmds                  { return }
sub ap_api_major_version  { return 20120211 }
sub ap_api_minor_version  { return 140 }
sub find_linked_module    { my $name = $_[-1]; return loaded($name) ? bless({ name => $name }, __PACKAGE__) : undef }

# add(package, directives): PerlLoadModule; the configuration is the front's.
sub add { Hostler::Calls::refuse('Apache2::Module::add') }

# get_config(package, server, dir_config): what a module's own directives have said.
sub get_config { return }

require Hostler::Calls;

1;
