# Apache2::Access: who may have a resource (AuthName, AuthType, Require, Satisfy), and Basic credentials (RFC 7617).
package Apache2::Access;

use strict;
use warnings;

require Apache2::RequestRec;
our $VERSION = '2.000012';

package Apache2::RequestRec;

# auth_name(), auth_name($for_this_request): what AuthName says.
sub auth_name {
    my ($r, @new) = @_;
    my $old = Hostler::Request::stash($r)->{auth_name} // Hostler::Request::auth_name($r);
    _set($r, 'AuthName', 'auth_name', @new) if @new;
    return $old;
}

sub auth_type {
    my ($r, @new) = @_;
    # Of generation 2 only: where nothing is said it says so.
    my $old = _auth_type($r) // (Hostler::settings()->{generation} == 1 ? undef : 'none');
    _set($r, 'AuthType', 'auth_type', @new) if @new;
    return $old;
}

sub _auth_type { return Hostler::Request::stash($_[0])->{auth_type} // Hostler::Request::auth_type($_[0]) }

# The last phase in which somebody else may ask for it: PerlAuthzHandler's.
use constant AUTHZ => 6;

# Set as if it stood in a section; when all has been decided, for this program alone.
sub _set {
    my ($r, $directive, $key, $value) = @_;
    if (Hostler::Request::phase($r) > AUTHZ) {
        Hostler::Request::stash($r)->{$key} = $value;
        return;
    }
    require Apache2::RequestUtil;
    $value = '' unless defined $value;
    $value =~ s/(["\\])/\\$1/g;
    return $r->add_config([qq($directive "$value")]);
}

# [{ method_mask => bits, requirement => "user joe" }, ...], or undef.
sub requires {
    my $r     = shift;
    my $lines = Hostler::Request::requires($r);
    return unless @$lines;
    return [ map { { method_mask => -1, requirement => $_ } } @$lines ];
}

# SATISFY_ALL 0, SATISFY_ANY 1, or SATISFY_NOSPEC 2 where nothing was configured, which means all.
use constant SATISFY_SET => 1 << 7;

sub satisfies {
    my $r = shift;
    return 1 if Hostler::Request::satisfy_any($r);
    return Hostler::Request::flags($r) & SATISFY_SET ? 0 : 2;
}

# Whether there is a Require: as Apache 2.4 has it, whatever that asks; Apache 1.3 had those only that ask who somebody is.
sub some_auth_required {
    my @lines = @{ Hostler::Request::requires($_[0]) };
    @lines = grep { /\A(?:not\s+)?(?:valid-user|user|group)\b/i } @lines if Hostler::settings()->{generation} == 1;
    return @lines ? 1 : 0;
}

# allow_methods($reset, @names): for the Allow field of an answer of 405 or 501. `allowed` is another list, which has no
# say in it. The front makes the field from this note; names that are no methods of the server's are left out.
sub allow_methods {
    my ($r, $reset, @names) = @_;
    require Apache2::Const;
    my $notes = $r->notes;
    my %number;
    for my $name (@names, $reset ? () : split /,/, $notes->get('allowed-methods') // '') {
        my $constant = 'M_' . ($name eq 'HEAD' ? 'GET' : $name =~ tr/-/_/r);
        my $number   = eval { Hostler::Constants::make('Apache2::Const', $constant)->() };
        $number{$name} = $number if defined $number && $name ne 'INVALID';
    }
    $number{$_} = $number{GET} // $number{HEAD} for exists $number{GET} || exists $number{HEAD} ? qw(GET HEAD) : ();
    $notes->set('allowed-methods' => join ',', sort { $number{$a} <=> $number{$b} || $a cmp $b } keys %number);
    return;
}

sub _realm { return ($_[0]->auth_name // '') =~ s/(?<!\\)"/\\"/gr }

sub note_basic_auth_failure {
    my $r = shift;
    $r->err_headers_out->set(($r->proxyreq == 1 ? 'Proxy-Authenticate' : 'WWW-Authenticate') => sprintf 'Basic realm="%s"', _realm($r));
    return;
}

sub note_digest_auth_failure {
    my $r = shift;
    $r->err_headers_out->set('WWW-Authenticate' => sprintf 'Digest realm="%s", nonce="%08x%08x"', _realm($r), $r->request_time, rand 2**32);
    return;
}

sub note_auth_failure {
    my $r = shift;
    my $type = _auth_type($r) // '';
    return $r->note_basic_auth_failure if lc $type eq 'basic';
    return $r->note_digest_auth_failure if lc $type eq 'digest';
    $r->log_error('need AuthType to note auth failure: ' . $r->uri) unless length $type;
    return;
}

# (status, password): OK 0 with the user set; DECLINED -1; 401, the failure noted. As a scalar the last, as XS returns lists.
sub get_basic_auth_pw {
    my $r = shift;
    my ($status, $password) = $r->_basic_credentials;
    return wantarray ? ($status, $password) : $password;
}

sub _basic_credentials {
    my $r = shift;
    $r->auth_type('Basic') unless defined _auth_type($r);
    return -1 unless lc(_auth_type($r) // 'basic') eq 'basic';
    if (!defined $r->auth_name) {
        $r->log_error('need AuthName: ' . $r->uri);
        return 500;
    }
    my $header = $r->headers_in->get($r->proxyreq == 1 ? 'Proxy-Authorization' : 'Authorization');
    my ($scheme, $coded) = defined $header ? $header =~ /\A\s*(\S+)\s+(\S+)/ : ();
    if (!defined $scheme || lc $scheme ne 'basic') {
        $r->log_error('client used wrong authentication scheme: ' . $r->uri) if defined $scheme;
        $r->note_auth_failure;
        return 401;
    }
    require APR::Base64;
    my ($user, $password) = split /:/, APR::Base64::decode($coded), 2;
    $r->user($user);
    $r->ap_auth_type('Basic');
    return (0, $password // '');
}

sub get_remote_logname { my $unknown; return $unknown }

sub get_remote_host { my $r = shift; return $r->connection->get_remote_host(@_) }

require Apache2::Connection;
require Apache2::Log;

1;
