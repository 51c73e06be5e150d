# mod_perl 1's request object. The object is the same as mod_perl 2's (glue/request.c), and so is most of its methods'
# code; here they get their names in package Apache, and what generation 1 does otherwise is written out.
package Apache;

use strict;
use warnings;

use Apache2::Access      ();
use Apache2::Connection  ();
use Apache2::Log         ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::Response    ();
use Apache2::ServerRec   ();
use Apache2::ServerUtil  ();
use Apache2::SubRequest  ();
use Apache2::URI         ();
use APR::Pool            ();
use APR::Table           ();
use ModPerl::Util      ();
use Apache::Connection ();
use Apache::Server     ();
use Apache::Table      ();

our $VERSION = '1.27';

# Whoever means mod_perl 2's method of the same name; the last line's are called by others of them.
my @same = qw(
    uri filename path_info method method_number protocol proto_num hostname the_request content_type content_encoding
    content_languages status status_line handler header_only no_cache no_local_copy bytes_sent mtime request_time
    allowed assbackwards unparsed_uri user ap_auth_type connection server main prev next is_initial_req proxyreq
    printf rflush puts read get_client_block get_basic_auth_pw note_basic_auth_failure note_digest_auth_failure
    note_auth_failure auth_name auth_type requires satisfies some_auth_required allow_overrides
    allow_methods push_handlers set_handlers get_handlers pnotes location document_root get_server_name
    get_server_port get_remote_host get_remote_logname internal_redirect custom_response log log_reason
    set_last_modified set_etag make_etag meets_conditions set_keepalive discard_request_body
    setup_client_block should_client_block default_type slurp_filename child_terminate add_config sendfile
    construct_url parse_uri construct_server as_string
    clength rationalize_mtime pool _basic_credentials
);

# What a name of generation 1 is called in generation 2, and what is in xs/apache1.xs.
my %called = (
    internal_redirect_handler => 'Apache2::RequestRec::internal_redirect',
    write_client              => 'Hostler::Apache::print',
    run                       => 'Apache2::SubRequest::run',
    query_string              => 'Apache2::RequestRec::args',
    read_client_block         => 'Apache2::RequestRec::read',
    map({ ($_ => "Apache2::RequestRec::$_") } qw(READ READLINE GETC WRITE EOF OPEN CLOSE BINMODE FILENO UNTIE)),
    print                     => 'Hostler::Apache::print',
    map { ($_ => "Hostler::Apache::$_") } qw(send_http_header sent_header header_in header_out err_header_out headers_in
        headers_out err_headers_out cgi_header_out),
);
{
    no strict 'refs';
    $called{$_} ||= "Apache2::RequestRec::$_" for @same;
    for my $name (keys %called) {
        my $code = $called{$name};
        *$name = \&$code if defined &$code;
    }
    *PRINT  = \&print;
    *PRINTF = \&printf;
}

# ---- the process ----

sub import {
    my ($class, @names) = @_;
    my $to = caller;
    no strict 'refs';
    for my $name (@names) {
        *{"$to\::$name"} = \&{"$class\::$name"} if $name eq 'exit' || $name eq 'warn';
    }
    return;
}

# request(), request($r): the one that is being served.
sub request { return Apache2::RequestUtil->request(@_[ 1 .. $#_ ]) }

# Whether this is what exit() ends a program with.
sub exited { return Hostler::Registry::exited($_[0]) }

sub can_stack_handlers  { return 1 }
sub seqno               { return 1 }
sub mod_perl            { return 1 }
sub server_version      { return Apache2::ServerUtil::get_server_version() }
sub define              { return Apache2::ServerUtil::exists_config_define($_[-1]) }
sub httpd_conf          { shift; return map { Apache2::ServerUtil->server->add_config([ split /\n/ ]) } @_ }
sub server_root_relative {
    my $path = @_ > 1 ? $_[1] : '';
    return $path if $path =~ m{^/};
    my $root = Apache2::ServerUtil::server_root();
    return length $path ? "$root/$path" : $root;
}

# Whether a module of Apache's (mod_x.c) or of Perl's (Apache::X) is there.
sub module {
    my $name = $_[-1];
    if ($name =~ /\.c$/) {
        return 1 if $name eq 'mod_perl.c' || $name eq 'http_core.c';
        require Apache2::Module;
        return Apache2::Module::loaded($name) ? 1 : 0;
    }
    return exists $INC{ ($name =~ s{::}{/}gr) . '.pm' } ? 1 : 0;
}

# Of a request: $r->push_handlers, or of the one that is being served: Apache->push_handlers. At start, and for the
# phases of a process, the server's: Apache->push_handlers(PerlChildInitHandler => ...).
for my $name (qw(push_handlers set_handlers get_handlers)) {
    no strict 'refs';
    no warnings 'redefine';
    my $of_request = defined &{"Apache2::RequestRec::$name"} ? \&{"Apache2::RequestRec::$name"} : next;
    *$name = sub {
        my ($self, @given) = @_;
        my $r = ref $self ? $self : ($given[0] // '') =~ /^PerlChild/ ? undef : eval { request() };
        # DONE instead of a list removes the handlers, as undef does.
        $given[1] = undef if $name eq 'set_handlers' && @given > 1 && !ref $given[1] && ($given[1] // '') eq '-2';
        return $r ? $of_request->($r, @given) : Apache2::ServerUtil->server->$name(@given) if $name ne 'get_handlers';
        my $list = $r ? $of_request->($r, @given) : Apache2::ServerUtil->server->$name(@given);
        return $list // ();
    };
}

sub gensym {
    require Symbol;
    return Symbol::gensym();
}

sub untaint {
    shift if @_ && !ref $_[0] && defined $_[0] && $_[0] eq 'Apache';
    for (@_) { ($_) = /(.*)/s if defined && !ref }
    return;
}

sub chdir_file {
    my ($r, $path) = @_;
    $path = $r->filename unless defined $path;
    require File::Basename;
    return chdir($path =~ m{/\z} ? $path : File::Basename::dirname($path));
}

sub default_port { return ($_[0]->subprocess_env('HTTPS') || '') eq 'on' ? 443 : 80 }

# Ranges are cut out by the server, from the whole.
sub set_byterange  { return 0 }
sub each_byterange { return }

# END blocks of Registry scripts are kept by package (xs/registry.xs).
sub clear_rgy_endav { return }
sub stash_rgy_endav { return }

# Apache's timers are the server's business.
sub hard_timeout  { return }
sub soft_timeout  { return }
sub kill_timeout  { return }
sub reset_timeout { return }

# ---- log ----

sub log_error {
    my $self = shift;
    return Apache2::RequestRec::log_error($self, @_) if ref $self;
    unshift @_, $self if defined $self && $self ne 'Apache';
    return Apache2::ServerUtil->server->log_error(join '', @_);
}

sub warn {
    my $self = shift;
    return Apache2::RequestRec::warn($self, @_) if ref $self && ref $self ne 'SCALAR';
    unshift @_, $self if defined $self && $self ne 'Apache';
    return Apache2::ServerUtil->server->warn(join '', @_);
}

# ---- the request ----

sub last { my $r = shift; $r = $r->next while $r->next; return $r }

sub is_main { return !$_[0]->main }

sub get_remote_ip { return $_[0]->connection->remote_ip }

# A field and its value; the table; in list context names and values; of variables, in void context: %ENV is filled.
sub notes {
    my $r = shift;
    return Hostler::Apache::note($r, @_) if @_;
    return Hostler::Apache::notes($r);
}

sub subprocess_env {
    my $r = shift;
    return Hostler::Apache::variable($r, @_) if @_;
    return Apache2::RequestRec::subprocess_env($r) unless defined wantarray;
    return Hostler::Apache::variables($r);
}

sub cgi_env {
    my $r = shift;
    return Hostler::Apache::variable($r, @_) if @_;
    Apache2::RequestRec::subprocess_env($r);
    return Hostler::Apache::variables($r);
}
*cgi_var = \&cgi_env;

sub dir_config {
    my $r = shift;
    return Apache2::ServerUtil->server->dir_config(@_) unless ref $r;
    return $r->Apache2::RequestRec::dir_config(@_) if @_;
    my $table = $r->Apache2::RequestRec::dir_config;
    return wantarray ? %$table : $table;
}

# The query string; in list context its names and values, decoded.
sub args {
    my $r = shift;
    return Apache2::RequestRec::args($r, @_) if @_ || !wantarray;
    return parse_args(1, Apache2::RequestRec::args($r));
}

# The body; in list context, of a form, its names and values.
sub content {
    my $r    = shift;
    my $type = $r->header_in('Content-Type') || '';
    if (wantarray) { return unless $type =~ m{^application/x-www-form-urlencoded}i }
    my $text = '';
    while ($r->read(my $piece, 64 << 10)) { $text .= $piece }
    return wantarray ? parse_args(1, $text) : $text;
}

sub parse_args {
    my ($in_list, $text) = @_;
    return unless defined $text && length $text;
    return $text unless $in_list;
    return map { unescape_url_info($_) } split /[=&;]/, $text, -1;
}

sub unescape_url {
    my $text = @_ > 1 ? $_[1] : $_[0];
    return unless defined $text;
    $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
    return $text;
}

sub unescape_url_info {
    my $text = @_ > 1 ? $_[1] : $_[0];
    return unless defined $text;
    $text =~ tr/+/ /;
    return unescape_url($text);
}

sub send_cgi_header {
    my $r = shift;
    return Hostler::Apache::send_cgi_header($r, join '', @_);
}

# Sends the rest of an open file, or so many bytes of it; how many it were.
sub send_fd {
    my ($r, $handle, $most) = @_;
    $handle = *{$handle}{IO} if ref \$handle eq 'GLOB';
    my $sent = 0;
    while (!defined $most || $most < 0 || $sent < $most) {
        my $want = defined $most && $most >= 0 && $most - $sent < 64 << 10 ? $most - $sent : 64 << 10;
        my $got  = CORE::read($handle, my $piece, $want) or CORE::last;
        $r->print($piece);
        $sent += $got;
    }
    return $sent;
}

sub send_fd_length { return send_fd(@_) }

# The file's time, or a later one; the one that counts.
sub update_mtime {
    my ($r, $time) = @_;
    $r->Apache2::RequestRec::update_mtime($time // (stat $r->filename)[9] // 0);
    return $r->mtime;
}

# Apache 1.3 has a bit for includes that run nothing, where Apache 2.4 has one for those that do.
sub allow_options {
    my $bits = $_[0]->Apache2::RequestRec::allow_options;
    return $bits & 2 ? $bits ^ 32 : $bits;
}

# Without a length the file's.
sub set_content_length {
    my ($r, $length) = @_;
    $r->Apache2::RequestRec::set_content_length($length // -s $r->filename // 0);
    return 0;
}

# The file's facts, for -s $r->finfo and its kin (they are in perl's `_` then).
sub finfo {
    my $r = shift;
    stat $r->filename;
    return \*_;
}

sub register_cleanup { my ($r, $code) = @_; return push_cleanup($r, $code) }
sub post_connection  { my ($r, $code) = @_; return push_cleanup($r, $code) }

# Each is called, whatever the others return.
sub push_cleanup {
    my ($r, $code) = @_;
    $r = request() unless ref $r;
    return $r->push_handlers(PerlCleanupHandler => ref $code ? sub { $code->(@_); 0 } : $code);
}

sub lookup_uri {
    my ($r, @target) = @_;
    return $r->Apache2::RequestRec::lookup_uri(@target);
}

sub lookup_file {
    my ($r, @target) = @_;
    return $r->Apache2::RequestRec::lookup_file(@target);
}

# The URI as the client has sent it: it rarely has a scheme and a host. What a program changes of it stays.
sub parsed_uri {
    my $r = shift;
    require Apache::URI;
    return Hostler::Request::stash($r)->{parsed_uri} ||= Apache::URI->parse($r, $r->unparsed_uri // $r->uri);
}

# The phase that runs, by the name of its directive.
sub current_callback {
    my $name = ModPerl::Util::current_callback();
    return $name eq 'PerlResponseHandler' ? 'PerlHandler' : $name;
}

# What a mod_perl could be built without.
my %hooks = map { ($_ => 1) } qw(Access Authen Authz ChildInit ChildExit Cleanup Fixup HeaderParser Init Log PostReadRequest
    Trans Type StackedHandlers MethodHandlers DirectiveHandlers SSI PerlSections ConnectionApi FileApi LogApi ServerApi
    TableApi URIApi UtilApi);
sub perl_hook { return $hooks{ $_[-1] // '' } ? 1 : 0 }

# The object as a file handle: print {$r} and tie *STDOUT, $r.
sub TIEHANDLE { return $_[-1] }
sub new { my ($class, $r) = @_; return ref $r ? $r : request() }

our $AUTOLOAD;

# A call that does not exist says so with its name.
sub AUTOLOAD {
    my ($class, $name) = $AUTOLOAD =~ /(.*)::(.*)/;
    return if $name eq 'DESTROY';
    require Hostler::Calls;
    Hostler::Calls::refuse("$class\::$name");
}

package Apache::SubRequest;

our @ISA = ('Apache');

1;
