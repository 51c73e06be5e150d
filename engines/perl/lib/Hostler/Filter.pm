# Filters in Perl (PerlOutputFilterHandler, PerlInputFilterHandler, add_output_filter, add_input_filter): the chain of a
# request's, what each of them is called with, and where what they leave goes to.
#
# An answer that Perl makes goes through them where it is printed (write, flush, finish). All others, and the bodies of
# requests, come from the front in a trip of their own (serve_output, serve_input).
package Hostler::Filter;

use strict;
use warnings;

use Apache2::Filter     ();
use APR::Brigade        ();
use APR::Bucket         ();
use Apache2::RequestRec ();

use constant { OK => 0, DECLINED => -1, PIECE => 8000, WHOLE => 256 << 10 };

# The chain of a request: functions that were added meanwhile are at its end.
sub chain {
    my ($r, $phase) = @_;
    my $chain = Hostler::Request::stash($r)->{"filters $phase"} ||= [];
    my $names = Hostler::Request::handlers($r, $phase) || [];
    for my $at (scalar @$chain .. $#$names) {
        my $code = code_of($names->[$at]);
        my $f    = Apache2::Filter::made($r, $code, $phase, $chain, $at);
        push @$chain, $f;
        my $init = $Apache2::Filter::INIT{$code} or next;
        my $said = $init->($f);
        die "an init handler of a filter has returned $said\n" if defined $said && $said ne OK;
    }
    return $chain;
}

# How many there are, for who only counts them: their functions are not looked for.
sub names {
    my ($r, $phase) = @_;
    return [ map { {} } @{ Hostler::Request::handlers($r, $phase) || [] } ];
}

# The function that a word of the configuration means, or that a program has given.
sub code_of {
    my $given = shift;
    my $code  = ref $given ? $given : $given =~ /\Asub\b/ ? _evaluated($given) : _named($given);
    my $marks = $Apache2::Filter::MARKS{$code} || '';
    die "a filter of connections (FilterConnectionHandler) is not supported: connections are the server's\n"
        if $marks =~ /FilterConnectionHandler/;
    return $code;
}

sub _evaluated {
    my $code = eval "package main; no strict; no warnings; $_[0]";
    die $@ if !$code;
    return $code;
}

sub _named {
    my $name = shift;
    no strict 'refs';
    if ($name =~ /\A(.+)->(\w+)\z/) {
        my ($class, $method) = ($1, $2);
        _load($class) unless $class->can($method);
        my $code = $class->can($method) or die "there is no method $method of $class\n";
        my $call = sub { $code->($class, @_) };
        $Apache2::Filter::INIT{$call} = $Apache2::Filter::INIT{$code} if $Apache2::Filter::INIT{$code};
        return $call;
    }
    return \&{$name} if defined &{$name};
    return \&{"$name\::handler"} if defined &{"$name\::handler"};
    _load($name) or do {
        my ($package) = $name =~ /\A(.+)::\w+\z/;
        _load($package) if defined $package;
    };
    return \&{$name} if defined &{$name};
    return \&{"$name\::handler"} if defined &{"$name\::handler"};
    die "failed to resolve the filter handler `$name'" . ($@ ? ": $@" : '') . "\n";
}

sub _load {
    my $file = shift() . '.pm';
    $file =~ s{::}{/}g;
    return eval { require $file };
}

# ---- answers ----

# What a program has printed.
sub write {
    my ($r, $bytes) = @_;
    _pass(chain($r, 'PerlOutputFilterHandler'), 0, $r, [ APR::Bucket->data_bucket($bytes) ]);
    return;
}

# It is to be on its way, and these bytes before it.
sub flush {
    my ($r, $bytes) = @_;
    my @before = defined $bytes && length $bytes ? APR::Bucket->data_bucket($bytes) : ();
    _pass(chain($r, 'PerlOutputFilterHandler'), 0, $r, [ @before, APR::Bucket::flush_create() ]);
    return;
}

# A program begins to answer: the filters' init handlers are called.
sub begin {
    chain($_[0], 'PerlOutputFilterHandler');
    return;
}

# Nothing more comes.
sub finish {
    my $r     = shift;
    my $stash = Hostler::Request::stash($r);
    return if $stash->{'filters finished'}++;
    _pass(chain($r, 'PerlOutputFilterHandler'), 0, $r, [ APR::Bucket::eos_create() ]);
    return;
}

# Buckets for the filter at this place; behind the last one is the client.
sub _pass {
    my ($chain, $at, $r, $buckets) = @_;
    $at++ while $at < @$chain && $chain->[$at]{removed};
    if ($at >= @$chain) {
        _send($r, $buckets);
        return OK;
    }
    my $f = $chain->[$at];
    return OK if $f->{ended} && !grep { $_->is_eos } @$buckets;
    my $bb = APR::Brigade->of($buckets);
    my $ends = grep { $_->is_eos } @$buckets;
    local $f->{brigade} = $bb;
    local $f->{out}     = [];
    local $f->{eos}     = 0;
    local $f->{passed_eos} = 0;
    local $f->{has_read}   = 0;
    my $said = $f->{code}->($f, $bb);
    $said = OK unless defined $said && $said =~ /\A-?[0-9]+\z/;
    if ($said == DECLINED) {
        _has_not_read($f);
        push @{ $f->{out} }, @{ $bb->{buckets} };
    } elsif ($said != OK) {
        die "a filter has returned $said\n";
    }
    my @out = $f->{passed_eos} ? () : splice @{ $f->{out} };    # behind the end nothing is anybody's
    if ($ends && !$f->{ended}) {
        $f->{ended} = 1;
        @out = grep { !$_->is_eos } @out;
        push @out, APR::Bucket::eos_create() unless $f->{passed_eos};
    }
    return @out ? _pass($chain, $at + 1, $r, \@out) : OK;
}

# Who declines leaves everything to those behind it: what it has read would be lost.
sub _has_not_read {
    my $f = shift;
    die "a filter that calls \$f->read must return OK and not DECLINED\n" if $f->{has_read};
    return;
}

# To the client.
sub _send {
    my ($r, $buckets) = @_;
    for my $bucket (@$buckets) {
        if ($bucket->is_flush) {
            Hostler::Request::transmit($r);
        } elsif (!$bucket->is_eos) {
            Hostler::Request::transmit($r, $bucket->{data}) if length $bucket->{data};
        }
    }
    return;
}

# What the front sends goes through the chain, in pieces of a size that small files are one of.
sub serve_output {
    my $r     = shift;
    my $chain = chain($r, 'PerlOutputFilterHandler');
    my $ended = 0;
    while (!$ended) {
        my $text = '';
        while (length $text < WHOLE) {
            my $got = $r->read(my $piece, WHOLE - length $text);
            $text .= $piece if $got;
            next if $got;
            $ended = 1;
            last;
        }
        my @buckets = length $text ? APR::Bucket->data_bucket($text) : ();
        push @buckets, APR::Bucket::eos_create() if $ended;
        _pass($chain, 0, $r, \@buckets);
    }
    return OK;
}

# ---- bodies of requests ----

# Asks the first filter for buckets until the body is over.
sub serve_input {
    my $r     = shift;
    my $chain = chain($r, 'PerlInputFilterHandler');
    my $empty = 0;
    while (1) {
        my $bb = APR::Brigade->of([]);
        my $said = _bring($chain, 0, $r, $bb, 0, 0, PIECE);
        die "an input filter has returned $said\n" if $said;
        my $ends = grep { $_->is_eos } @{ $bb->{buckets} };
        _send($r, $bb->{buckets});
        if ($ends) {
            # What no filter has wanted is not the body of this worker's next trip.
            eval { $r->discard_request_body };
            return OK;
        }
        $empty = @{ $bb->{buckets} } ? 0 : $empty + 1;
        die "an input filter gives nothing and reads nothing\n" if $empty > 10_000;
    }
}

# Fills a brigade from the filter at this place; behind the last one is the client.
sub _bring {
    my ($chain, $at, $r, $bb, $mode, $block, $readbytes) = @_;
    $at++ while $at < @$chain && $chain->[$at]{removed};
    if ($at >= @$chain) {
        my $got = $r->read(my $piece, $readbytes && $readbytes > 0 && $readbytes < WHOLE ? $readbytes : PIECE);
        $bb->insert_tail($got ? APR::Bucket->data_bucket($piece) : APR::Bucket::eos_create());
        return OK;
    }
    my $f = $chain->[$at];
    if ($f->{ended}) {
        $bb->insert_tail(APR::Bucket::eos_create());
        return OK;
    }
    local $f->{brigade} = undef;
    local $f->{out}     = [];
    local $f->{eos}     = 0;
    local $f->{wanted}  = [ $mode, $block, $readbytes ];
    local $f->{has_read} = 0;
    my $said = $f->{code}->($f, $bb, $mode, $block, $readbytes);
    $said = OK unless defined $said && $said =~ /\A-?[0-9]+\z/;
    if ($said == DECLINED) {
        _has_not_read($f);
        return _bring($chain, $at + 1, $r, $bb, $mode, $block, $readbytes);
    }
    return $said if $said != OK;
    $bb->insert_tail($_) for @{ $f->{out} };
    # Who has read to the end has nothing more to say.
    $bb->insert_tail(APR::Bucket::eos_create()) if $f->{eos} && !grep { $_->is_eos } @{ $bb->{buckets} };
    $f->{ended} = 1 if grep { $_->is_eos } @{ $bb->{buckets} };
    return OK;
}

1;
