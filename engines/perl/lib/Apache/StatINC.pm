# mod_perl 1's Apache::StatINC (PerlInitHandler Apache::StatINC): modules whose file changed are loaded anew.
package Apache::StatINC;

use strict;
use warnings;

our $VERSION = '1.07';
my %known;

sub handler {
    my $r     = shift;
    my $loud  = ref $r && lc($r->dir_config('StatINCDebug') || '') =~ /^(?:on|[1-9])/;
    my $undef = ref $r && lc($r->dir_config('UndefOnReload') || '') eq 'on';
    for my $module (keys %INC) {
        my $file  = $INC{$module};
        next if !defined $file || ref $file;
        my $mtime = (stat $file)[9];
        next unless defined $mtime;
        my $before = $known{$file};
        $known{$file} = $mtime;
        next if $mtime <= (defined $before ? $before : $^T);
        forget($module) if $undef;
        delete $INC{$module};
        no warnings 'redefine';
        local $SIG{__WARN__} = sub { warn @_ unless $_[0] =~ /^(?:Constant s|S)ubroutine \S+ redefined/ };
        require $module;
        warn "Apache::StatINC: process $$ reloading $module\n" if $loud;
    }
    return 0;
}

sub forget {
    my $package = shift;
    $package =~ s/\.pm\z//;
    $package =~ s{/}{::}g;
    require ModPerl::Util;
    ModPerl::Util::unload_package($package);
    return;
}

1;
