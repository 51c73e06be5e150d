# Apache2::Log: lines for the ErrorLog, of a request's virtual host, with a level. Which levels are written says
# LogLevel; a code reference is called only if its line will be.
package Apache2::Log;

use strict;
use warnings;

our $VERSION = '2.000012';

my %severity = (emerg => 0, alert => 1, crit => 2, error => 3, warn => 4, notice => 5, info => 6, debug => 7);

# The file and line of whoever calls, for log_rerror and log_serror.
sub LOG_MARK { my (undef, $file, $line) = caller; return ($file, $line) }

sub log_pid { return }

sub Hostler::Log::level_of {
    my $object = shift;
    my $server = ref $object && $object->isa('Apache2::ServerRec') ? $object
        : ref $object && Hostler::Request::is($object) ? Apache2::RequestRec::server($object)
        : eval { Apache2::ServerUtil::server() };
    return $server ? Apache2::ServerRec::loglevel($server) : 4;
}

sub Hostler::Log::put {
    my ($severity, $object, @texts) = @_;
    return if $severity > 3 && $severity > Hostler::Log::level_of($object);
    my $text = join '', map { ref $_ eq 'CODE' ? $_->() : defined $_ ? $_ : '' } @texts;
    utf8::encode($text) if utf8::is_utf8($text);
    Hostler::log($severity, 1, $text);
    return;
}

# (object, file, line, level, status, texts)
sub Hostler::Log::put_marked {
    my ($object, $file, $line, $level, $status, @texts) = @_;
    my $severity = $level & 7;
    if ($status) {
        require APR::Error;
        unshift @texts, sprintf '(%d)%s: ', $status, APR::Error::strerror($status);
    }
    Hostler::Log::put($severity, $object, $severity == 7 ? "$file($line): " : '', @texts);
    return;
}

# $r->log and $s->log: objects with a method for each level.
package Apache2::RequestRec {
    sub log { return bless { of => $_[0] }, 'Apache2::Log::Request' }
    sub log_error { my $r = shift; Hostler::Log::put(3, $r, @_) }
    sub warn      { my $r = shift; Hostler::Log::put(4, $r, @_) }
    sub log_rerror { Hostler::Log::put_marked(@_) }

    sub log_reason {
        my ($r, $reason, $file) = @_;
        $file = $r->uri unless defined $file;
        my $host = $r->connection->remote_ip;
        Hostler::Log::put(3, $r, "access to $file failed for $host, reason: $reason");
    }
}

package Apache2::ServerRec {
    sub log { return bless { of => $_[0] }, 'Apache2::Log::Server' }

    # Functions as well as methods: Apache2::ServerRec::warn("text").
    sub log_error { Hostler::Log::put(3, undef, ref $_[0] || ($_[0] // '') eq __PACKAGE__ ? @_[ 1 .. $#_ ] : @_) }
    sub warn      { Hostler::Log::put(4, undef, ref $_[0] || ($_[0] // '') eq __PACKAGE__ ? @_[ 1 .. $#_ ] : @_) }
    sub log_serror { Hostler::Log::put_marked(@_) }
}

package Apache2::Log {
    no strict 'refs';
    for my $name (keys %severity) {
        my $severity = $severity{$name};
        *{"Apache2::Log::$name"} = sub { my $log = shift; Hostler::Log::put($severity, ref $log ? $log->{of} : undef, @_) };
    }
}

@Apache2::Log::Request::ISA = @Apache2::Log::Server::ISA = ('Apache2::Log');

1;
