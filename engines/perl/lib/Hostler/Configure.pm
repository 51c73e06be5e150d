# Hostler::Configure: the configuration that <Perl> sections build, as text, and that files add which are loaded while
# the configuration is read. Only in the process that runs them then (hostler-perl configure).
#
# A section's variables are directives: $Name and @Name are lines, %Name is sections, $PerlConfig and @PerlConfig are
# configuration as it stands. What they mean is mod_perl's rule (Apache2::PerlSections); what comes of it is sorted by
# name, so that the same code builds the same configuration each time.
package Hostler::Configure;

use strict;
use warnings;

require Apache2::ServerRec;
require Apache2::ServerUtil;
require Apache2::PerlSections;

# Whose variables count: mod_perl's package for sections, of both generations.
my @packages = qw(Apache2::ReadConfig Apache::ReadConfig);

# The longest text, in bytes, that the server would take.
my $longest = 1_000_000;

# $in_host: what is run may not add to the whole server; negative: nothing is run. $is_section: it is a section.
# $declared: directives that modules have added (Apache2::Module).
our ($in_host, $is_section, $text, $warnings, $declared) = (-1, 0, '', '', '');
my (@lines, $length);

sub _line {
    my $line = shift;
    $length += length($line) + 1;
    die "it builds more than $longest bytes of configuration\n" if $length > $longest;
    push @lines, $line;
    return;
}

# A line that was meant to be one.
sub _directive {
    my ($name, $arguments) = @_;
    die "the value of $name contains the end of a line\n" if $arguments =~ /[\n\0]./s;
    chomp $arguments;
    return _lines_as_they_are("$name $arguments") if $name =~ /\AInclude(?:Optional)?\z/i;
    return _line("$name $arguments");
}

sub _section {
    my ($name, $argument, $contents) = @_;
    die "<$name $argument> needs a hash of directives\n" if ref $contents ne 'HASH';
    die "the argument of <$name> contains the end of a line\n" if $argument =~ /\n/;
    _line("<$name $argument>");
    _entry($_, $contents->{$_}) for sort keys %$contents;
    return _line("</$name>");
}

# %Location = ('/a' => {...}, '/b' => [{...}, {...}]): other values are ignored, as in mod_perl.
sub _sections {
    my ($name, $all) = @_;
    for my $argument (sort keys %$all) {
        my $contents = $all->{$argument};
        my @each = ref $contents eq 'ARRAY' ? @$contents : ref $contents eq 'HASH' ? $contents : ();
        _section($name, $argument, $_) for @each;
    }
    return;
}

# A list within a list is one line; a list of words alone is one too.
sub _entry {
    my ($name, $value) = @_;
    my $type = ref $value;
    return defined $value ? _directive($name, $value) : () if !$type;
    return _directive($name, $$value) if $type eq 'SCALAR';
    return _sections($name, $value) if $type eq 'HASH';
    die "a value of type $type cannot be a directive ($name)\n" if $type ne 'ARRAY';
    return _directive($name, join ' ', map { $_ // '' } @$value) if !grep { ref } @$value;
    _entry($name, $_) for @$value;
    return;
}

# What the code includes is read here, by the site's user. The server reads no file for it.
sub _lines_as_they_are {
    for my $line (map { split /\n/ } grep { defined } @_) {
        if ($line =~ /\A\s*Include(Optional)?\s+"?(.*?)"?\s*\z/i) { _include($2, $1) }
        else                                                      { _line($line) }
    }
    return;
}

our $depth = 0;

# A file, a directory with all below it, or a pattern, as the server's own Include.
sub _include {
    my ($name, $optional) = @_;
    require File::Spec;
    my $path = File::Spec->rel2abs($name, Apache2::ServerUtil::server_root());
    my @found = -e $path ? $path : do { require File::Glob; sort grep { -e } File::Glob::bsd_glob($path) };
    die "Include $name: there is no such file\n" if !@found && !$optional && $name !~ /[*?\[]/;
    die "Include $name: files include each other too deep\n" if $depth > 40;
    local $depth = $depth + 1;
    _include_one($_) for @found;
    return;
}

sub _include_one {
    my $path = shift;
    if (-d $path) {
        opendir my $all, $path or die "Include $path: $!\n";
        my @names = sort grep { !/\A\.\.?\z/ } readdir $all;
        _include_one("$path/$_") for @names;
        return;
    }
    open my $file, '<', $path or die "Include $path: $!\n";
    read $file, my $all, $longest + 1;
    # Lines may go on with a backslash at their end, also if they say what to include.
    $all =~ s/\\\r?\n//g;
    return _lines_as_they_are($all);
}

# The variables of a package, taken and emptied: the next section begins anew.
sub _take {
    my $package = shift;
    my (%scalars, %arrays, %hashes);
    no strict 'refs';
    my $stash = \%{"${package}::"};
    for my $name (grep { !/::\z/ && ref \$stash->{$_} eq 'GLOB' } keys %$stash) {
        my $glob = \$stash->{$name};
        # Emptied, not removed: code that was compiled before holds on to it.
        if (defined ${ *$glob{SCALAR} }) { $scalars{$name} = ${ *$glob{SCALAR} }; _empty(sub { undef ${ *$glob{SCALAR} } }) }
        if (my $array = *$glob{ARRAY}) { $arrays{$name} = [@$array] if @$array; _empty(sub { @$array = () }) }
        if (my $hash = *$glob{HASH}) { $hashes{$name} = {%$hash} if %$hash; _empty(sub { %$hash = () }) }
    }
    return (\%scalars, \%arrays, \%hashes);
}

# Constants and imported variables may be read-only.
sub _empty { my $code = shift; eval { $code->(); 1 }; return }

sub _walk {
    my ($scalars, $arrays, $hashes) = _take(shift);
    my @as_they_are = (@{ delete $arrays->{PerlConfig} // [] }, delete $scalars->{PerlConfig});
    my %names = map { $_ => 1 } keys %$scalars, keys %$arrays, keys %$hashes;
    # Perl's own: what makes a package a class, and what `use` leaves in it.
    delete @names{qw(ISA EXPORT EXPORT_OK EXPORT_TAGS VERSION AUTOLOAD BEGIN END a b)};
    for my $name (sort grep { !/PerlConfig/ && /\A[A-Za-z]\w*\z/ } keys %names) {
        _entry($name, $scalars->{$name});
        _entry($name, $_) for @{ $arrays->{$name} // [] };
        _sections($name, $hashes->{$name} // {});
    }
    return _lines_as_they_are(@as_they_are);
}

# After something was run: its text is in $text, what it warned of in $warnings.
sub built {
    my @ready = @lines;
    @lines   = ();
    $in_host = -1;
    $length //= 0;
    my $done = eval { _walk($_) for $is_section ? @packages : (); 1 };
    my $why = $@;
    $text = join '', map { "$_\n" } @ready, @lines;
    utf8::encode($text) if utf8::is_utf8($text);
    @lines  = ();
    $length = 0;
    return 1 if $done;
    chomp $why;
    die "$why\n";
}

# ---- calls ----

# What a program adds while a section is run stands before what its variables say.
sub _add {
    require Carp;
    Carp::croak('add_config can build configuration only while something is loaded') if $in_host < 0;
    Carp::croak('add_config in <VirtualHost> would change the whole server: use $PerlConfig, or move it out of there')
        if $in_host > 0;
    _lines_as_they_are(map { ref $_ eq 'ARRAY' ? @$_ : $_ } @_);
    return;
}

# Handlers that a program pushes to the server: directives, in a virtual host's section the virtual host's.
sub _push {
    my ($s, $name, $given) = @_;
    my @handlers = Apache2::RequestRec::_given($given, scalar caller);
    push @{ $Apache2::ServerRec::handlers{$name} }, @handlers;
    return 1 if $name =~ /\APerlChild(?:Init|Exit)Handler\z/;
    require Carp;
    Carp::croak("$name can be pushed to the server only while something is loaded") if $in_host < 0;
    for my $handler (map { Apache2::ServerRec::_named($_) } @handlers) {
        Carp::croak("a handler of $name contains the end of a line") if $handler =~ /[\n\0]/;
        my $word = $handler =~ s/(["\\])/\\$1/gr;
        _line(qq($name "$word"));
    }
    return 1;
}

{
    no warnings qw(redefine once);
    *Apache2::ServerRec::add_config    = sub { my $s = shift; return _add(@_) };
    *Apache2::ServerRec::push_handlers = \&_push;
    *Apache2::ServerRec::set_handlers  = \&_push;
    *Apache::httpd_conf                = sub { my $class = shift; return _add(@_) };
}

$SIG{__WARN__} = sub { $warnings .= $_[0] if length $warnings < 10_000; return };

1;
