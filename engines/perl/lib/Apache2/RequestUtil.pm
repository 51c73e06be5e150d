# Apache2::RequestUtil: configuration, handlers and odds and ends of a request. dir_config, location, pnotes, no_cache
# and their like are in C.
package Apache2::RequestUtil;

use strict;
use warnings;

require Apache2::RequestRec;
our $VERSION = '2.000012';

my $global;    # what a program has set as the global request

# request(): the request that is being served; request($r): from now on this one.
sub request {
    my ($class, $new) = @_;
    if (@_ > 1) {
        $global = $new;
        return $new;
    }
    return $global if defined $global && Hostler::Request::is($global);
    undef $global;
    my $r = Hostler::Request::current();
    return $r if defined $r && !_is_kept_from($r);
    require Carp;
    Carp::croak("Global \$r object is not available. Set:\n\tPerlOptions +GlobalRequest\nin httpd.conf") if defined $r;
    Carp::croak('Global $r object is not available: no request is being served');
}

# PerlOptions -GlobalRequest. (Where nothing is said the object is there, under modperl, too.)
sub _is_kept_from {
    my $flags = Hostler::Request::flags($_[0]);
    return $flags & 1 << 6 && !($flags & 1 << 2);
}

sub get_status_line {
    my $status = shift;
    require Hostler::Reasons;
    return Hostler::Reasons::line($status);
}

sub register_auth_provider {
    die "Apache2::RequestUtil::register_auth_provider is not supported by Hostler: see docs/perl-calls.md\n";
}

package Apache2::RequestRec;

use Carp ();

# The list of a phase, as the text or code that the programs or the configuration gave.
sub _handlers { return Hostler::Request::handlers(@_) }

# What has handlers in mod_perl and none here is refused; a name that is no phase's is 0, as there.
my $missing = qr/Connection\w*Handler\z/;

sub _phase {
    my ($r, $phase, $call) = @_;
    my $list = _handlers($r, $phase);
    Carp::croak("$call: Hostler has no handlers for $phase: see docs/perl-calls.md") if !$list && $phase =~ $missing;
    return $list;
}

# Names are meant in the package of whoever calls, unless they have one.
sub _given {
    my ($given, $package) = @_;
    no strict 'refs';
    return map {
        ref $_ || /::|\W/ || !defined &{"$package\::$_"} ? $_ : "$package\::$_"
    } ref $given eq 'ARRAY' ? @$given : defined $given ? $given : ();
}

sub push_handlers {
    my ($r, $phase, $given) = @_;
    Carp::croak('Usage: Apache2::RequestRec::push_handlers(r, name, sv)') if @_ != 3;
    my $list = _phase($r, $phase, 'push_handlers') or return 0;
    _handlers($r, $phase, [ @$list, _given($given, scalar caller) ]);
    return 1;
}

sub set_handlers {
    my ($r, $phase, $given) = @_;
    _phase($r, $phase, 'set_handlers') or return 0;
    Hostler::Request::stash($r)->{emptied}{$phase} = !defined $given;
    return _handlers($r, $phase, [ _given($given, scalar caller) ]) ? 1 : 0;
}

# A list of code; undef when there is none.
sub get_handlers {
    my ($r, $phase) = @_;
    my $list = _handlers($r, $phase);
    return [] if $list && !@$list && Hostler::Request::stash($r)->{emptied}{$phase};
    return undef unless $list && @$list;    # a scalar in lists as well, as in mod_perl
    no strict 'refs';
    return [ map { ref $_ ? $_ : do { my $name = $_; defined &$name ? \&$name : \&{"$name\::handler"} } } @$list ];
}

# What lines may contain if nothing else is said: all that an .htaccess file may, as with AllowOverride All.
use constant OR_HTACCESS => 31;

# add_config(lines, what they may contain, what location() says from then on, which words Options may have): configuration for
# this request alone, as if it stood in the innermost section. It is the front's to carry out, which says at once what it cannot.
sub add_config {
    my ($r, $lines, $overrides, $path, $options) = @_;
    Carp::croak('$r->add_config() has failed: not an array reference') unless ref $lines eq 'ARRAY';
    _check_options($options, @$lines) if defined $options && $options >= 0;
    my $text = join "\n", @$lines;
    my $why  = Hostler::Request::configure($r, $text, defined $overrides && $overrides >= 0 ? $overrides : OR_HTACCESS);
    delete @{ Hostler::Request::stash($r) }{qw(auth_name auth_type)};
    Carp::croak("\$r->add_config() has failed: $why") if defined $why;
    # mod_perl has a place of its own for its directives, which is where the lines are said to stand.
    Hostler::Request::stash($r)->{location} = $path // '/' if grep { /\A\s*Perl/i } @$lines;
    return;
}

my %option_bit = (
    indexes => 1, includes => 2 | 32, includesnoexec => 2, followsymlinks => 4, execcgi => 8,
    symlinksifownermatch => 64, multiviews => 128, all => 15 | 32, none => 0,
);

sub _check_options {
    my ($allowed, @lines) = @_;
    for my $word (map { /\A\s*Options\s+(.*)/is ? map { s/\A[-+]//r } split ' ', $1 : () } @lines) {
        my $bits = $option_bit{ lc $word } // 0;    # what it does not know the front will not, either
        Carp::croak("\$r->add_config() has failed: Option $word not allowed here") if $bits & ~$allowed;
    }
    return;
}

# Where the section that applies stands: what Location or Directory name.
sub location {
    my $r = shift;
    return Hostler::Request::stash($r)->{location} // Hostler::Request::location($r);
}

# The request line and headers, and the answer's.
sub as_string {
    my $r    = shift;
    my $text = $r->the_request . "\n";
    my $put  = sub { $text .= "$_[0]: $_[1]\n"; 1 };
    $r->headers_in->do($put);
    require Hostler::Reasons;
    $text .= "\n" . join(' ', $r->protocol, $r->status_line // Hostler::Reasons::line($r->status)) . "\n";
    $put->('Content-Type', $r->content_type) if defined $r->content_type;
    $r->headers_out->do($put);
    $r->err_headers_out->do($put);
    return "$text\n";
}

sub child_terminate { Hostler::exit_after_request(); return }
sub default_type    { return 'text/plain' }

sub psignature {
    my ($r, $prefix) = @_;
    my $signature = Hostler::Request::signature($r) // '';
    return length $signature ? $prefix . $signature : '';
}

my %option = (
    ParseHeaders  => 1,
    SetupEnv      => 2,
    GlobalRequest => 4,
    MergeHandlers => 8,
);

sub is_perl_option_enabled {
    my ($r, $name) = @_;
    return $name eq 'Unset' ? 1 : 0 if $name eq 'Unset' || $name eq 'None';
    $option{$name} or die "PerlOptions $name is not a directory option";
    return Hostler::Request::flags($r) & $option{$name} ? 1 : 0;
}

# The values are dropped: the names of what they hold.
sub pnotes_kill { %{ $_[0]->pnotes } = (); return }

sub set_basic_credentials {
    my ($r, $user, $password) = @_;
    require APR::Base64;
    $r->headers_in->set(Authorization => 'Basic ' . APR::Base64::encode("$user:$password"));
    return;
}

# slurp_filename(whether it is tainted): a reference to the file's contents.
sub slurp_filename {
    my ($r, $tainted) = @_;
    my $path = $r->filename;
    open my $file, '<:raw', $path or _refused($!, "slurp_filename('$path') / opening");
    my $length = -s $file;
    my $text   = '';
    while ($length > length $text) {
        my $got = sysread $file, $text, $length - length $text, length $text;
        _refused($!, "slurp_filename('$path') / reading") unless defined $got;
        last unless $got;
    }
    ($text) = $text =~ /\A(.*)\z/s if ${^TAINT} && defined $tainted && !$tainted;
    return \$text;
}

sub _refused {
    my ($error, $what) = @_;
    require APR::Error;
    APR::Error::throw($error + 0, $what);
}

sub server_root_relative {
    my ($r, $path) = @_;
    require Apache2::ServerUtil;
    return Apache2::ServerUtil::server_root_relative($r->pool, $path);
}

# new(connection): only the request that is served has a connection's bytes.
sub new {
    my ($class, $other) = @_;
    return Hostler::Request::current() if ref $other && Hostler::Request::is($other);
    die "Apache2::RequestRec::new is not supported by Hostler: see docs/perl-calls.md\n";
}

1;
