# PSGI 1.1 applications (the `psgi` handler). The environment and plain answers are made in xs/psgi.xs; here are
# loading, the input, and answers that come as handles, objects or later.
package Hostler::PSGI;

use strict;
use warnings;
use overload ();

use constant { OK => 0, BUFFERED => 1 << 20, PIECE => 64 << 10 };

our $ONE_SHOT = 0;    # set by the engine for workers that serve one request

my %application;      # by path: [code, mtime, size, second of the last look]
my $errors = bless [], 'Hostler::PSGI::Errors';
my $false  = !!0;
my $true   = !!1;
my $loaded = 0;

# Loads an application in the warm parent (PSGIPreload); workers find it loaded, and load it anew when its file has
# changed since. Of one that can't be loaded the worker says so that is asked for it.
sub preload {
    my $path = shift;
    eval { application($path); 1 } or warn "PSGIPreload: $@";
    return OK;
}

# The application of a file; a changed file is loaded anew, within a second.
sub application {
    my $path  = shift;
    my $known = $application{$path};
    my $now   = time;
    return $known->[0] if $known && $known->[3] == $now;
    my ($size, $mtime) = (stat $path)[ 7, 9 ];
    defined $mtime or die "can't load the PSGI application $path: $!\n";
    if ($known && $known->[1] == $mtime && $known->[2] == $size) {
        $known->[3] = $now;
        return $known->[0];
    }
    my $code = load($path);
    $application{$path} = [ $code, $mtime, $size, $now ];
    return $code;
}

# The value of the file, run in a package of its own. Applications that look for mod_perl must not find it.
sub load {
    my $path = shift;
    local $0 = $path;
    local @ARGV;
    delete local $ENV{MOD_PERL};
    delete local $ENV{MOD_PERL_API_VERSION};
    my $package = 'Hostler::PSGI::Application' . ++$loaded;
    my $file    = $path =~ m{^\.?\.?/} ? $path : "./$path";
    my $app     = _run($package, $file);
    die "can't load the PSGI application $path: $@" if $@;
    die "can't load the PSGI application $path: $!\n" if !defined $app;
    $app = $app->to_app if ref $app ne 'CODE' && UNIVERSAL::can($app, 'to_app');
    return $app if UNIVERSAL::isa($app, 'CODE') || overload::Method($app, '&{}');
    return sub { $app->call(@_) }
        if ref $app && UNIVERSAL::can($app, 'call');
    die "the last value of $path must be a code reference (a PSGI application)\n";
}

# Nothing lexical of this file is in sight of the application's.
sub _run {
    ## no critic (ProhibitStringyEval)
    return eval sprintf 'package %s; my $app = do $_[1]; die $@ if $@; $app', $_[0];
}

# The response handler.
sub serve {
    my $r   = shift;
    my %env = (
        'psgi.version'           => [ 1, 1 ],
        'psgi.errors'            => $errors,
        'psgi.multithread'       => $false,
        'psgi.multiprocess'      => $true,
        'psgi.run_once'          => $ONE_SHOT ? $true : $false,
        'psgi.streaming'         => $true,
        'psgi.nonblocking'       => $false,
        'psgix.input.buffered'   => $true,
        'psgix.harakiri'         => $true,
        'psgix.cleanup'          => $true,
        'psgix.cleanup.handlers' => [],
        'psgix.informational'    => \&_informational,
    );
    _environment(\%env);
    $env{'psgi.url_scheme'} = ($env{HTTPS} // '') =~ /\A(?:on|1)\z/i ? 'https' : 'http';
    $env{'psgi.input'} = _has_body() ? body(\%env) : nothing();
    my $path = _application();
    my $answer = application($path)->(\%env);
    _send($answer) or respond($answer);
    after($r, \%env)
        if @{ $env{'psgix.cleanup.handlers'} } || $env{'psgix.harakiri.commit'};
    return OK;
}

# An empty input. One handle will do as long as nobody closes it.
my $nothing;

sub nothing {
    return $nothing if $nothing && defined fileno $nothing;
    open $nothing, '<', \'' or die "can't open an empty input: $!\n";
    return $nothing;
}

# The request's body, read whole, so that it can be read again: in memory up to 1 MiB, beyond that in a file.
sub body {
    my $env  = shift;
    my $text = '';
    my ($file, $length) = (undef, 0);
    while (length(my $piece = _read(PIECE))) {
        $length += length $piece;
        if (!$file && $length > BUFFERED) {
            require File::Temp;
            $file = File::Temp::tempfile(UNLINK => 0);
            print {$file} $text or die "can't keep the request's body: $!\n";
            $text = '';
        }
        if ($file) {
            print {$file} $piece or die "can't keep the request's body: $!\n";
        }
        else {
            $text .= $piece;
        }
    }
    if (delete $env->{HTTP_TRANSFER_ENCODING}) {
        $env->{CONTENT_LENGTH} = $length;
    }
    if ($file) {
        seek $file, 0, 0 or die "can't rewind the request's body: $!\n";
        return $file;
    }
    open my $input, '<', \$text or die "can't open the request's body: $!\n";
    return $input;
}

# Answers that are not three plain values.
sub respond {
    my $answer = shift;
    if (ref $answer eq 'CODE') {
        $answer->(\&start);
        return;
    }
    UNIVERSAL::isa($answer, 'ARRAY') or die 'a PSGI application must answer with an array or code reference, not '
        . (defined $answer ? "\"$answer\"" : 'undef') . "\n";
    start($answer);
    return;
}

# The responder: sends an answer, or, without a body, its head, and returns a writer.
sub start {
    my $answer = shift;
    return if _send($answer);
    my ($status, $headers, $body) = @$answer;
    _head($status, $headers);
    if (@$answer < 3) {
        _publish();
        return bless [], 'Hostler::PSGI::Writer';
    }
    if (ref $body eq 'ARRAY') {
        _body($_) for @$body;
    }
    elsif (ref $body) {
        local $/ = \PIECE;
        my $comes_slowly = !is_file($body);
        _publish() if $comes_slowly;
        while (defined(my $piece = $body->getline)) {
            _body($piece) if length $piece;
            _publish()    if $comes_slowly;
        }
        $body->close;
    }
    else {
        die "the body of a PSGI answer must be an array reference or a handle\n";
    }
    return;
}

# Whether a handle is a file's, whose pieces are all there.
sub is_file {
    my $handle = shift;
    my $number = eval { fileno $handle };
    return defined $number && $number >= 0 && -f $handle;
}

# What the application wants done once the client has its answer.
sub after {
    my ($r, $env) = @_;
    my $finish = sub {
        for my $cleanup (@{ $env->{'psgix.cleanup.handlers'} }) {
            eval { $cleanup->($env); 1 } or $errors->print($@);
        }
        _leave() if $env->{'psgix.harakiri.commit'};
        return;
    };
    if ($r->isa('Apache')) {
        $r->register_cleanup($finish);
    }
    else {
        require Apache2::RequestRec;
        require APR::Pool;
        $r->pool->cleanup_register($finish);
    }
    return;
}

package Hostler::PSGI::Errors;

sub print {    ## no critic (ProhibitBuiltinHomonyms)
    my $self = shift;
    Hostler::PSGI::_log(join '', @_);
    return 1;
}

sub printf {    ## no critic (ProhibitBuiltinHomonyms)
    my ($self, $format, @values) = @_;
    return $self->print(sprintf $format, @values);
}

sub say { my $self = shift; return $self->print(@_) }    ## no critic (ProhibitBuiltinHomonyms)
sub flush  {1}
sub opened {1}

package Hostler::PSGI::Writer;

sub write {    ## no critic (ProhibitBuiltinHomonyms)
    my ($self, $piece) = @_;
    Hostler::PSGI::_body($piece);
    Hostler::PSGI::_publish();
    return;
}

sub close { return }    ## no critic (ProhibitBuiltinHomonyms)

1;
