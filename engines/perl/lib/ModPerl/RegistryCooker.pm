# What the mod_perl 2 Registry classes are made of: each step from a request to a compiled script is a method that a
# class can replace (the names are mod_perl 2's).
#
# A script that is compiled and unchanged does not come here: xs/registry.xs finds and runs it. It is told of scripts
# whose class has replaced no step that it leaves out (see %skipped).
package ModPerl::RegistryCooker;

# Compiles in a scope of its own: no lexical, stricture or warning of this file is seen by the script.
sub _evaluate { no warnings; eval ${ $_[0] } }

use strict;
use warnings;

our $VERSION = '1.99';

use Apache2::Access     ();
use Apache2::Log        ();
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::RequestUtil ();
use Apache2::Response   ();
use Apache2::ServerUtil ();
use APR::Finfo          ();
use APR::Status         ();
use APR::Table          ();
use ModPerl::Util       ();
use File::Basename      ();

use Apache2::Const -compile => qw(:common &OPT_EXECCGI);
use APR::Const -compile     => qw(FILETYPE_REG);
use ModPerl::Const -compile => 'EXIT';

use constant { D_NONE => 0, D_ERROR => 1, D_WARN => 2, D_COMPILE => 4, D_NOISE => 8 };
use constant { DEBUG => 0, IS_WIN32 => 0, NOP => '', TRUE => 1, FALSE => 0, NAMESPACE_ROOT => 'ModPerl::ROOT' };

our $NameWithVirtualHost;
$NameWithVirtualHost          = 1 unless defined $NameWithVirtualHost;
$ModPerl::Registry::MarkLine  = 1 unless defined $ModPerl::Registry::MarkLine;

Hostler::Registry::home_directory(Apache2::ServerUtil::server_root());

# ---- from request to answer ----

Hostler::Registry::install(__PACKAGE__);

sub new {
    my ($class, $r) = @_;
    my $self = bless {}, $class;
    $self->init($r);
    return $self;
}

sub init {
    my ($self, $r) = @_;
    @$self{qw(REQ URI FILENAME)} = ($r, $r->uri, $r->filename);
    return;
}

# The slow path: called by handler() when the fast one is not possible.
sub cook {
    my ($class, $r) = @_;
    return $class->new($r)->default_handler;
}

sub default_handler {
    my $self = shift;
    $self->make_namespace;
    if ($self->should_compile) {
        for my $step (qw(can_compile convert_script_to_compiled_handler)) {
            my $rc = $self->$step;
            return $rc if $rc != Apache2::Const::OK;
        }
    }
    else {
        # mod_perl asks only before it compiles, so that one process runs what another refuses.
        my $rc = $self->_exec_allowed;
        return $rc if $rc != Apache2::Const::OK;
    }
    $self->_remember;

    # Programs return their status; what they set with status() counts only if all went well.
    my $r      = $self->{REQ};
    my $before = $r->status;
    my $rc     = $self->run;
    my $after  = $r->status($before);
    return $rc == Apache2::Const::OK && $after != $before ? $after : $rc;
}

sub run {
    my $self    = shift;
    my $package = $self->{PACKAGE};
    $self->chdir_file;

    my %before = $self->should_reset_inc_hash ? %INC : ();
    my $code   = do { no strict 'refs'; \&{"$package\::handler"} };
    eval { $code->($self->{REQ}, @_) };
    my $rc = $self->error_check;
    {
        local $@;
        Hostler::Registry::ends_run($package);
        my $end = $self->error_check;
        $rc = $end if $rc == Apache2::Const::OK;
    }
    if ($self->should_reset_inc_hash) {
        # A file without a package of its own has to be loaded again by the next request; modules need not.
        delete @INC{ grep { !$before{$_} && !/\.pm\z/ } keys %INC };
    }
    $self->flush_namespace;
    $self->chdir_file(Apache2::ServerUtil::server_root());
    return $rc;
}

# What $@ means: nothing, an exit, or an error, which is logged.
sub error_check {
    my $self = shift;
    return Apache2::Const::OK if !$@ || ref $@ eq 'APR::Error' && $@ == ModPerl::EXIT;
    $self->log_error($@);
    return Apache2::Const::SERVER_ERROR;
}

# error_check() for a script that was run on the fast path.
sub script_failed {
    my ($class, $r) = @_;
    my $error = $@;
    my $self  = $class->new($r);
    $@ = $error;
    return $self->error_check;
}

# ---- may it be compiled, must it be ----

sub can_compile {
    my $self = shift;
    my $r    = $self->{REQ};
    return Apache2::Const::DECLINED if $r->finfo->filetype != APR::Const::FILETYPE_REG;
    $self->{MTIME} = $r->finfo->mtime;
    return $self->_exec_allowed;
}

sub _exec_allowed {
    my $self = shift;
    my $r    = $self->{REQ};
    return Apache2::Const::OK if $r->allow_options & Apache2::Const::OPT_EXECCGI;
    $r->log_error("Options ExecCGI is off in this directory", $self->{FILENAME});
    return Apache2::Const::FORBIDDEN;
}

sub should_compile_once { return !$_[0]->is_cached }

# Seconds are too coarse for a file that is saved twice: what else tells versions apart counts too.
sub should_compile_if_modified {
    my $self = shift;
    $self->{MTIME} ||= $self->{REQ}->finfo->mtime;
    return 1 unless $self->is_cached;
    my $known = $self->cache_table->{ $self->{PACKAGE} };
    return 1 if $known->{mtime} != $self->{MTIME};
    my $stamp = $self->_stamp;
    return defined $stamp && defined $known->{stamp} && $stamp ne $known->{stamp};
}

sub is_cached {
    my $self = shift;
    return exists $self->cache_table->{ $self->{PACKAGE} }{mtime};
}

sub cache_it {
    my $self  = shift;
    my $entry = $self->cache_table->{ $self->{PACKAGE} } ||= {};
    @$entry{qw(mtime stamp)} = ($self->{MTIME}, $self->_stamp);
    return;
}

sub cache_table_common { return \%ModPerl::RegistryCache }

sub cache_table_local {
    my $class = ref $_[0] || $_[0];
    no strict 'refs';
    return \%$class;
}

sub _stamp {
    my $self = shift;
    return UNIVERSAL::isa($self->{REQ}, 'ModPerl::RegistryLoader')
        ? Hostler::Registry::stamp_of_file($self->{FILENAME})
        : Hostler::Registry::stamp_of_request($self->{REQ});
}

# ---- the package ----

sub namespace_root { return join '::', NAMESPACE_ROOT, ref $_[0] }

sub make_namespace {
    my $self = shift;
    my $name = $self->namespace_from;
    $name =~ s/([^A-Za-z0-9_])/sprintf '_%2x', ord $1/ge;
    $name =~ s/^(\d)/_$1/;
    return $self->{PACKAGE} = $self->namespace_root . "::$name";
}

sub namespace_from_filename {
    my $self = shift;
    return join '_', grep { length } split m{/+}, $self->{FILENAME};
}

sub namespace_from_uri {
    my $self = shift;
    my $uri  = $self->{URI};
    my $info = $self->{REQ}->path_info;
    $uri =~ s/\Q$info\E\z// if $info;
    if ($NameWithVirtualHost && $self->{REQ}->server->is_virtual) {
        my $host = $self->{REQ}->get_server_name;
        $uri = $host . $uri if $host;
    }
    $uri =~ s{/+\z}{/__INDEX__};
    return $uri;
}

sub flush_namespace_normal {
    my $self = shift;
    ModPerl::Util::unload_package($self->{PACKAGE});
    return;
}

# ---- from text to code ----

sub convert_script_to_compiled_handler {
    my $self = shift;
    my $rc   = $self->read_script;
    return $rc if $rc != Apache2::Const::OK;

    my $switches = $self->shebang_to_perl;
    $self->chdir_file;    # what is required by a relative name
    my $mark = $self->get_mark_line;
    $self->strip_end_data_segment;
    my $nph  = File::Basename::basename($self->{FILENAME}) =~ /^nph-/ ? '$_[0]->assbackwards(1);' : '';
    my $name = $self->get_script_name || $0;
    my $text = join '', "package $self->{PACKAGE};sub handler {local \$0 = '$name';", $nph, $switches, $mark,
        ${ $self->{CODE} }, "\n}";
    $rc = $self->compile(\$text);
    return $rc if $rc != Apache2::Const::OK;

    $self->chdir_file(Apache2::ServerUtil::server_root());
    $self->cache_it;
    return $rc;
}

sub read_script {
    my $self = shift;
    $self->{CODE} = eval { $self->{REQ}->slurp_filename(0) };
    return Apache2::Const::OK unless $@;
    $self->log_error("$@");
    if (ref $@ eq 'APR::Error') {
        return Apache2::Const::FORBIDDEN if APR::Status::is_EACCES($@);
        return Apache2::Const::NOT_FOUND if APR::Status::is_ENOENT($@);
    }
    return Apache2::Const::SERVER_ERROR;
}

# -w and -T of the script's first line, as Perl.
sub shebang_to_perl {
    my $self = shift;
    my ($line) = ${ $self->{CODE} } =~ /\A(.*)/;
    my ($perl, @switches) = split ' ', $line // '';
    return '' unless defined $perl && $perl =~ /^#!/;
    my $code = '';
    for my $switch (@switches) {
        last if $switch =~ /^--/;
        next unless $switch =~ s/^-//;
        $code .= "use warnings;\n" if $switch =~ /w/;
        Apache2::ServerRec::warn("-T switch is ignored, enable with 'PerlSwitches -T' in httpd.conf\n")
            if $switch =~ /T/ && !${^TAINT};
    }
    return $code;
}

sub get_script_name { return $_[0]{FILENAME} }
sub get_mark_line   { return $ModPerl::Registry::MarkLine ? "\n#line 1 $_[0]{FILENAME}\n" : '' }

sub strip_end_data_segment {
    ${ $_[0]{CODE} } =~ s/^__(?:END|DATA)__.*//ms;
    return;
}

sub compile {
    my ($self, $text) = @_;
    my $package = $self->{PACKAGE};
    Hostler::Registry::ends_register($package);
    Hostler::Registry::ends_clear($package);
    $text = \($$text =~ /\A(.*)\z/s)[0] if ${^TAINT};    # the file's own words are trusted, as perl trusts scripts
    _evaluate($text);
    return $self->error_check;
}

sub chdir_file_normal {
    my ($self, $directory) = @_;
    $directory ||= File::Basename::dirname($self->{FILENAME});
    chdir $directory or die "Can't chdir to $directory: $!";
    return;
}

# ---- classes ----

*namespace_from        = \&namespace_from_filename;
*should_compile        = \&should_compile_once;
*cache_table           = \&cache_table_common;
*should_reset_inc_hash = \&FALSE;
*flush_namespace       = \&NOP;
*chdir_file            = \&NOP;

# install_aliases($class, { step => 'Package::function' })
sub install_aliases {
    my ($class, $aliases) = @_;
    no strict 'refs';
    for my $step (sort keys %$aliases) {
        defined &{ $aliases->{$step} } or die "$class: $step can't be $aliases->{$step}, which is not defined";
        *{"$class\::$step"} = \&{ $aliases->{$step} };
    }
    return;
}

# The steps that the fast path leaves out, and what it knows to stand for them.
my %skipped = (
    (map { $_ => [$_] } qw(new init cook default_handler run make_namespace is_cached error_check script_failed)),
    namespace_from        => [qw(namespace_from_filename namespace_from_uri)],
    should_compile        => [qw(should_compile_once should_compile_if_modified)],
    should_reset_inc_hash => [qw(FALSE NOP)],
    flush_namespace       => ['NOP'],
    chdir_file            => [qw(NOP chdir_file_normal)],
    cache_table           => [qw(cache_table_common cache_table_local)],
);
my %short;    # by class: undef, or [flags, whether it changes the directory]

sub _short_way {
    my $class = shift;
    return $short{$class} if exists $short{$class};
    for my $step (keys %skipped) {
        my $code = $class->can($step);
        return $short{$class} = undef unless grep { $code == __PACKAGE__->can($_) } @{ $skipped{$step} };
    }
    my $is = sub { $class->can($_[0]) == __PACKAGE__->can($_[1]) };
    my $flags = 8;    # ExecCGI is looked at again
    $flags |= 1 if $is->(should_compile => 'should_compile_once');
    $flags |= 2 if $is->(namespace_from => 'namespace_from_uri');
    return $short{$class} = [ $flags, $is->(chdir_file => 'chdir_file_normal') ];
}

sub _remember {
    my $self = shift;
    my $how  = _short_way(ref $self) or return;
    return unless $self->is_cached && !UNIVERSAL::isa($self->{REQ}, 'ModPerl::RegistryLoader');
    my ($flags, $moves) = @$how;
    my $code = do { no strict 'refs'; \&{"$self->{PACKAGE}::handler"} };
    Hostler::Registry::remember(ref $self, $self->{REQ}, $code, $self->{PACKAGE}, $flags,
        $moves ? File::Basename::dirname($self->{FILENAME}) : undef);
    return;
}

# Called by a script: the next request compiles it anew.
sub uncache_myself {
    my $package = caller;
    my $entry   = __PACKAGE__->cache_table_common->{$package};
    Hostler::Registry::forget($package);
    if ($entry && exists $entry->{mtime}) { delete $entry->{mtime} }
    else { Apache2::ServerRec::warn("$$: cannot find $package in cache") }
    return;
}

# ---- what it says ----

sub debug {
    my $self = shift;
    $self->{REQ}->log_error("$$: " . ref($self) . ': ' . join '', @_);
    return;
}

sub log_error {
    my ($self, $text) = @_;
    $self->{REQ}->log_error($text);
    $self->{REQ}->notes->set('error-notes' => $text);
    $@{ $self->{URI} } = $text;
    return;
}

1;
