# Scripts run as they are, compiled once and again when their file got newer (mod_perl 1).
#
# A script that is compiled and unchanged does not come here: xs/registry.xs finds and runs it.
package Apache::Registry;

# Compiles in a scope of its own: no lexical, stricture or warning of this file is seen by the script.
sub _evaluate { eval ${ $_[0] } }

use strict;
use warnings;

use Apache ();
use Apache::Constants qw(OK DECLINED FORBIDDEN NOT_FOUND SERVER_ERROR OPT_EXECCGI);
use File::Basename ();

our $VERSION = '2.01';
our ($Debug, $MarkLine, $NameWithVirtualHost);
$Debug               = 0 unless defined $Debug;
$MarkLine            = 1 unless defined $MarkLine;
$NameWithVirtualHost = 1 unless defined $NameWithVirtualHost;
$Apache::Registry ||= {};    # by package: {mtime}, {stamp}, {compiled}

# For xs/registry.xs: found by URI; mod_perl 1's way with the status; ExecCGI is looked at again.
use constant HOW => 2 | 4 | 8;

Hostler::Registry::install(__PACKAGE__);
Hostler::Registry::home_directory(Apache->server_root_relative(''));

# The slow path of a request to its script: called by handler() when the fast one is not possible.
sub cook {
    my ($class, $r) = @_;
    $r = Apache->request unless ref $r;
    my $filename = $r->filename;
    my $refused  = refusal($r, $filename);
    return $refused if $refused;

    my $package   = package_of($r);
    my $directory = File::Basename::dirname($filename);
    my $home      = Apache->server_root_relative('');
    my $warn      = $^W;
    chdir $directory;
    if (!compiled($package, $r, $filename) && !compile($package, $r->slurp_filename, $filename, $r)) {
        chdir $home;
        $^W = $warn;
        return failed($r, $@);
    }
    my $code = do { no strict 'refs'; \&{"$package\::handler"} };
    Hostler::Registry::remember($class, $r, $code, $package, HOW, $directory);
    my $status = run($r, $package, $code);
    chdir $home;
    $^W = $warn;
    return $status;
}

# Why this file is not run: the status, 0 if nothing speaks against it.
sub refusal {
    my ($r, $filename) = @_;
    unless (-r $filename && -s _) {
        $r->log_reason('not found or unable to stat', $filename);
        return NOT_FOUND;
    }
    return DECLINED if -d _;
    if (!($r->allow_options & OPT_EXECCGI)) {
        $r->log_reason('Options ExecCGI is off in this directory', $filename);
        return FORBIDDEN;
    }
    unless (-x _) {
        $r->log_reason('file permissions deny server execution', $filename);
        return FORBIDDEN;
    }
    return 0;
}

# Apache::ROOT and the URI of the script (of a virtual host: and its name).
sub package_of {
    my $r    = shift;
    my $uri  = $r->uri;
    my $info = $r->path_info;
    $uri = '/__INDEX__' if $uri eq '/';
    $uri = substr $uri, 0, length($uri) - length $info if length($info // '') && length $info <= length $uri;
    return 'Apache::ROOT' . escaped($uri, $NameWithVirtualHost && $r->server->is_virtual ? $r->get_server_name : '');
}

sub escaped {
    my ($uri, $host) = @_;
    my $name = length($host // '') ? $host . $uri : $uri;
    $name =~ s{([^A-Za-z0-9_/])}{sprintf '_%2x', ord $1}ge;
    $name =~ s{(/+)(\d?)}{'::' . (length $2 ? sprintf '_%2x', ord $2 : '')}ge;
    return $name;
}

# Whether the package has been compiled from this file, or a newer one.
sub compiled {
    my ($package, $r, $filename) = @_;
    my $known = $Apache::Registry->{$package};
    my @facts = stat $filename;
    my $stamp = stamp($r, $filename);
    return 0 unless $known && exists $known->{mtime};
    return 1 if $known->{stamp} eq $stamp || $facts[9] < $known->{mtime};
    return 0;
}

# Makes `handler` of the package; false, with $@, if it is not Perl.
sub compile {
    my ($package, $text, $filename, $r) = @_;
    {
        no strict 'refs';
        undef &{"$package\::handler"} if defined &{"$package\::handler"};
        $package->undef_functions if $package->can('undef_functions');
    }
    Hostler::Registry::ends_register($package);
    Hostler::Registry::ends_clear($package);
    my $mark = $MarkLine ? "\n#line 1 $filename\n" : '';
    # A script that is compiled before there are requests is named by each of them: its path may be spelt otherwise there.
    my $name = ref $r ? "'" . $filename =~ s/(['\\])/\\$1/gr . "'" : '$_[0]->filename';
    my $code = join '', "package $package;use Apache qw(exit);sub handler {local \$0=$name;", $mark, ref $text ? $$text : $text, "\n}";
    ($code) = $code =~ /\A(.*)\z/s if ${^TAINT};
    {
        local $0 = $filename;    # for BEGIN blocks
        _evaluate(\$code);
    }
    if ($@ && !Apache::exited($@)) {
        delete $Apache::Registry->{$package};
        return 0;
    }
    $Apache::Registry->{$package} = { mtime => (stat $filename)[9], stamp => stamp($r, $filename) };
    return 1;
}

# What tells this version of the file from others: as the front knows it, or as it is.
sub stamp {
    my ($r, $filename) = @_;
    my $stamp = ref $r ? Hostler::Registry::stamp_of_request($r) : undef;
    return $stamp // Hostler::Registry::stamp_of_file($filename) // '';
}

# Runs it, and its END blocks. The status is what the script gave the request, which gets back its own.
sub run {
    my ($r, $package, $code) = @_;
    my $before = $r->status;
    eval { $code->($r) };
    my $failed = $@ && !Apache::exited($@) ? failed($r, $@) : 0;
    $@ = '';
    Hostler::Registry::ends_run($package);
    $failed ||= failed($r, $@) if $@ && !Apache::exited($@);
    my $status = $r->status($before);
    return $failed if $failed;
    return $status == 200 || $r->sent_header ? OK : $status;
}

sub failed {
    my ($r, $error) = @_;
    my $uri = $r->uri;
    $@{$uri} = $error;
    $r->log_error($error);
    $r->notes('error-notes', $error);
    return SERVER_ERROR;
}

# What a script died of that was run on the fast path.
sub script_failed {
    my ($class, $r) = @_;
    return Apache::exited($@) ? OK : failed($r, $@);
}

1;
