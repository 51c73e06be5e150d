# Apache2::Filter: a filter in Perl as it sees itself. The chain is Hostler::Filter's. Filters of requests only: those of
# connections are the server's.
package Apache2::Filter;

use strict;
use warnings;

use APR::Brigade ();
use APR::Bucket  ();
use Carp         ();

our $VERSION = '2.000012';

our (%MARKS, %INIT);    # by the code: FilterRequestHandler and the like; what FilterHasInitHandler names

# Filters mark their subs.
sub MODIFY_CODE_ATTRIBUTES {
    my ($package, $code, @marks) = @_;
    for my $mark (@marks) {
        if ($mark =~ /\AFilterHasInitHandler\((.*)\)\z/s) {
            my $init = eval "package $package; no strict; $1";
            die "FilterHasInitHandler($1): $@" if $@ || ref $init ne 'CODE';
            $INIT{$code} = $init;
        } elsif ($mark =~ /\AFilter(?:Request|Connection|Init)Handler\z/) {
            $MARKS{$code} .= " $mark";
        }
    }
    return grep { !/\AFilter/ } @marks;
}

# One of a chain.
sub made {
    my ($r, $code, $phase, $chain, $at) = @_;
    return bless { r => $r, code => $code, phase => $phase, chain => $chain, at => $at }, __PACKAGE__;
}

# The filters of the server that stand behind those in Perl, as far as each request has them. What else is configured
# (INCLUDES, DEFLATE) runs in the front, which does not say.
my %server = (
    PerlOutputFilterHandler => [qw(byterange content_length http_header http_outerror core)],
    PerlInputFilterHandler  => [qw(http_in core_in)],
);

# Where a chain begins, for a handler that passes or reads brigades by itself. A body has been through the filters in Perl
# before its handler is called: what is read there comes from behind them. `proto`: behind the filters of the request.
sub begin {
    my ($r, $phase, $proto) = @_;
    require Hostler::Filter;
    my $is_output = $phase =~ /Output/;
    my $is_over   = !$is_output && Hostler::Request::phase($r) >= 9;
    my $chain     = $is_over ? Hostler::Filter::names($r, $phase) : Hostler::Filter::chain($r, $phase);
    return bless {
        r => $r, phase => $phase, chain => $chain, at => $proto ? scalar @$chain : 0,
        is_over => $is_over, of => { handler => 1 },
    }, __PACKAGE__;
}

sub r    { return $_[0]{r} }
sub c    { return $_[0]{r}->connection }

sub frec {
    my $f    = shift;
    my $name = $server{ $f->{phase} }[ $f->{at} - @{ $f->{chain} } ];
    $name = $f->{phase} =~ /Output/ ? 'modperl_request_output' : 'modperl_request_input' if $f->{at} < @{ $f->{chain} };
    return bless { name => $name }, 'Apache2::FilterRec';
}

sub ctx {
    my ($f, $new) = @_;
    $f->{ctx} = $new if @_ > 1;
    return $f->{ctx};
}

# The one behind, as the one that asks sees it (`of`); undef behind the server's last.
sub next {
    my $f     = shift;
    my $chain = $f->{chain};
    my $at    = $f->{at} + 1;
    $at++ while $at < @$chain && $chain->[$at]{removed};
    return undef if $at >= @$chain + @{ $server{ $f->{phase} } };    # a scalar in lists as well, as in mod_perl
    return bless { %$f{qw(r phase chain is_over)}, at => $at, of => $f->{of} || $f }, __PACKAGE__;
}

sub remove {
    my $f = shift;
    $f = $f->{chain}[ $f->{at} ] || Carp::croak($f->frec->name . ' is the server\'s own filter: a program cannot remove it')
        if $f->{of};
    $f->{removed} = 1;
    return;
}

sub seen_eos {
    my ($f, $new) = @_;
    $f->{eos} = $new if @_ > 1;
    return $f->{eos} ? 1 : 0;
}

# read(buffer, length): of what it was called with (output), or of the next brigade (input).
sub read {
    my ($f, undef, $wanted) = @_;
    $f->{has_read} = 1;
    $wanted = 8192 unless defined $wanted && $wanted > 0;
    if (!$f->{brigade} && $f->{wanted}) {
        my $bb   = APR::Brigade->of([]);
        my $said = Hostler::Filter::_bring($f->{chain}, $f->{at} + 1, $f->{r}, $bb, @{ $f->{wanted} });
        die "a filter behind this one has returned $said\n" if $said;
        $f->{brigade} = $bb;
    }
    my $buckets = $f->{brigade} ? $f->{brigade}{buckets} : [];
    my $text    = '';
    while (@$buckets && length $text < $wanted) {
        my $bucket = $buckets->[0];
        if ($bucket->is_eos) {
            $f->{eos} = 1;
            shift @$buckets;
            last;
        }
        if ($bucket->is_flush) {
            shift @$buckets;
            push @{ $f->{out} }, $bucket;
            next;
        }
        $text .= substr $bucket->{data}, 0, $wanted - length $text, '';
        shift @$buckets unless length $bucket->{data};
    }
    $_[1] = $text;
    Hostler::taint($_[1]) if ${^TAINT};
    return length $text;
}

sub print {
    my $f    = shift;
    my $text = join '', map { defined $_ ? $_ : '' } @_;
    utf8::encode($text) if utf8::is_utf8($text) && !utf8::downgrade($text, 1);
    push @{ $f->{out} }, APR::Bucket->data_bucket($text) if length $text;
    return length $text || '0E0';
}

sub puts { goto &print }

# What was printed so far goes on. As a handler calls it: this brigade.
sub fflush {
    my ($f, $bb) = @_;
    return 0 unless $f->{phase} =~ /Output/;
    if ($f->{of}) {
        $bb->insert_tail(APR::Bucket::flush_create());
        return $f->pass_brigade($bb);
    }
    my @out = splice @{ $f->{out} };
    return Hostler::Filter::_pass($f->{chain}, $f->{at} + 1, $f->{r}, [ @out, APR::Bucket::flush_create() ]);
}

# Called of `next`: the brigade is that one's, and goes before what the filter has printed, which is gathered up to its end. Called
# of a handler's output_filters: what that has printed before goes first.
sub pass_brigade {
    my ($f, $bb) = @_;
    Carp::croak('pass_brigade is for output filters') unless $f->{phase} =~ /Output/;
    my @buckets = splice @{ $bb->{buckets} };
    my $of = $f->{of};
    if ($of && $of->{handler}) {
        Hostler::Request::pass_gathered($f->{r});
        Hostler::Request::stash($f->{r})->{'filters finished'} = 1 if grep { $_->is_eos } @buckets;
    } elsif ($of && grep { $_->is_eos } @buckets) {
        $of->{passed_eos} = $of->{ended} = 1;
    }
    return Hostler::Filter::_pass($f->{chain}, $f->{at}, $f->{r}, \@buckets);
}

sub get_brigade {
    my ($f, $bb, $mode, $block, $readbytes) = @_;
    Carp::croak('get_brigade is for input filters') unless $f->{phase} =~ /Input/;
    my $wanted = $f->{of} && $f->{of}{wanted} ? $f->{of}{wanted} : [ 0, 0, 8192 ];
    return Hostler::Filter::_bring(
        $f->{is_over} ? ([], 0) : ($f->{chain}, $f->{at}), $f->{r}, $bb,
        defined $mode      ? $mode      : $wanted->[0],
        defined $block     ? $block     : $wanted->[1],
        defined $readbytes ? $readbytes : $wanted->[2]
    );
}

# As a handle: print and read in their other forms.
sub TIEHANDLE { return $_[-1] }
sub PRINT     { goto &print }

package Apache2::RequestRec;

sub _add_filter {
    my ($r, $phase, $code, $call) = @_;
    $code = _function($code, scalar caller 1) unless ref $code;
    Carp::croak("$call needs a function") unless ref $code eq 'CODE';
    Carp::croak("$call: a filter of connections is not supported by Hostler")
        if ($Apache2::Filter::MARKS{$code} || '') =~ /Connection/;
    Carp::croak("$call: a part of another request's answer has no filters of its own in Perl") if $r->main;
    Carp::croak("$call: it is too late, the handler has begun")
        if $phase =~ /Input/ && Hostler::Request::phase($r) >= 9;
    my @list = @{ Hostler::Request::handlers($r, $phase) || [] };
    # What is added before there is an answer comes before what is configured.
    my $at = Hostler::Request::phase($r) >= 9 ? @list : Hostler::Request::stash($r)->{"added $phase"}++;
    splice @list, $at || 0, 0, $code;
    Hostler::Request::handlers($r, $phase, \@list);
    return;
}

# A function by its name, which is one of the package that adds it unless it says another.
sub _function {
    my ($name, $package) = @_;
    require Hostler::Filter;
    return unless defined $name;
    return Hostler::Filter::code_of($name =~ /::|->/ ? $name : "$package\::$name");
}

sub add_output_filter { return _add_filter($_[0], 'PerlOutputFilterHandler', $_[1], 'add_output_filter') }
sub add_input_filter  { return _add_filter($_[0], 'PerlInputFilterHandler', $_[1], 'add_input_filter') }

1;
