# Apache2::CmdParms: what a module's directive is told about its line (Apache2::Module).
package Apache2::CmdParms;

use strict;
use warnings;

use Hostler::Calls ();

our $VERSION = '2.000012';

sub path          { return $_[0]{path} }
sub server        { return $_[0]{server} }
sub info          { return $_[0]{info} }
sub override      { return $_[0]{override} }
sub override_opts { return 255 }
sub cmd           { return $_[0]{cmd} }

sub directive { require Apache2::Directive; return $_[0]{directive} }
sub pool      { require APR::Pool; return APR::Pool::of_process() }
sub temp_pool { return $_[0]->pool }

# Lines in <Limit> are the section's.
sub method_is_limited { return 1 }

# What Apache calls the places where a line may stand.
my @section = ([ 2 => 'Limit> or <LimitExcept' ], [ 4 => 'Directory' ], [ 8 => 'Location' ], [ 16 => 'Files' ]);

# Why a line may not stand here: an argument of Apache's bits NOT_IN_VIRTUALHOST 1, NOT_IN_LIMIT 2, NOT_IN_DIRECTORY 4,
# NOT_IN_LOCATION 8, NOT_IN_FILES 16.
sub check_cmd_context {
    my ($parms, $forbidden) = @_;
    my $name = $parms->cmd->name;
    return "$name cannot occur within <VirtualHost> section" if $forbidden & 1 && $parms->server->is_virtual;
    return "$name cannot occur within directory context"
        if ($forbidden & 28) == 28 && defined $parms->path;
    for my $section (@section) {
        my ($bit, $words) = @$section;
        return "$name cannot occur within <$words> section" if $forbidden & $bit & ($parms->{place} || 0);
    }
    return undef;    # a scalar in lists as well, as in mod_perl
}

# What the section says, for get_config.
sub context { return bless { said => $_[0]{said} || {} }, 'Apache2::ConfVector' }

# What a module adds to the configuration comes too late: the configuration is read, and this its second reader.
sub add_config { return Hostler::Calls::refuse('Apache2::CmdParms::add_config') }

1;
