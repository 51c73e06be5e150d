# libapreq 1's cookies.
package Apache::Cookie;

use strict;
use warnings;
use Hostler::Form ();

our $VERSION = '1.34';

use overload '""' => sub { $_[0]->as_string }, 'bool' => sub { 1 }, fallback => 1;

# new($r, -name =>, -value => scalar, array or hash, -expires =>, -domain =>, -path =>, -secure =>)
sub new {
    my ($class, $r, @attributes) = @_;
    my $self = bless { r => $r, value => [], path => folder_of($r) }, $class;
    while (my ($name, $value) = splice @attributes, 0, 2) {
        $name =~ s/^-//;
        $self->can($name) ? $self->$name($value) : ($self->{ lc $name } = $value);
    }
    return $self;
}

# The path of a cookie that is given none: the folder of the script's URL.
sub folder_of {
    my $r = shift;
    my ($uri, $info) = ($r->uri // '/', $r->path_info // '');
    $uri = substr $uri, 0, length($uri) - length $info if length $info <= length $uri;
    return $uri =~ s{[^/]*\z}{}r;
}

# The cookies of a request, by name: parse(), $r->parse($header), Apache::Cookie->fetch.
sub parse {
    my ($self, $header) = @_;
    my $r = ref $self ? $self->{r} : Apache->request;
    $header = $r->header_in('Cookie') unless defined $header;
    my %found;
    for my $pair (split /;\s*/, $header // '') {
        my ($name, $value) = $pair =~ /^\s*([^=]+?)\s*=\s*(.*?)\s*$/ or next;
        $name = decoded($name);
        next if exists $found{$name};
        $found{$name} = (ref $self || $self)->new($r, -name => $name, -value => [ map { decoded($_) } split /&/, $value, -1 ]);
    }
    return wantarray ? %found : \%found;
}

sub fetch { my $class = shift; return wantarray ? %{ $class->parse } : $class->parse }

# Sets it in the answer, errors included.
sub bake {
    my $self = shift;
    return $self->{r}->err_headers_out->add('Set-Cookie' => $self->as_string);
}

sub as_string {
    my $self = shift;
    return '' unless defined $self->{name};
    my @parts = (encoded($self->{name}) . '=' . join '&', map { encoded($_) } @{ $self->{value} });
    push @parts, "domain=$self->{domain}"   if defined $self->{domain};
    push @parts, "path=$self->{path}"       if defined $self->{path};
    push @parts, "expires=$self->{expires}" if defined $self->{expires};
    push @parts, 'secure'                   if $self->{secure};
    push @parts, 'HttpOnly'                 if $self->{httponly};
    return join '; ', @parts;
}

for my $name (qw(name domain path)) {
    no strict 'refs';
    *$name = sub {
        my $self = shift;
        $self->{$name} = shift if @_;
        return $self->{$name};
    };
}

sub value {
    my $self = shift;
    if (@_) {
        my @given = @_ > 1 ? @_ : ref $_[0] eq 'ARRAY' ? @{ $_[0] } : ref $_[0] eq 'HASH' ? %{ $_[0] } : $_[0];
        $self->{value} = [ map { $_ // '' } @given ];
    }
    return wantarray ? @{ $self->{value} } : $self->{value}[0];
}

*values = \&value;

# "on" or "". Given "off" or 0 it is off.
sub secure {
    my $self = shift;
    $self->{secure} = $_[0] && lc $_[0] ne 'off' ? 'on' : '' if @_;
    return $self->{secure} // '';
}

# As CGI.pm's: "+3d", "now", seconds, or a date as it is. Of the class: the date alone.
sub expires {
    my ($self, $when) = @_;
    return defined $when ? date($when) : undef unless ref $self;
    $self->{expires} = date($when) if defined $when;
    return $self->{expires};
}

my %unit = (s => 1, m => 60, h => 3600, d => 86_400, w => 604_800, M => 2_592_000, y => 31_536_000);

# A date with its parts apart by a hyphen, or by what is given instead.
sub date {
    my ($when, $between) = (@_, '-');
    my $time
        = $when =~ /^now$/i                          ? time
        : $when =~ /^([+-]?\d+)([smhdwMy])$/         ? time + $1 * $unit{$2}
        : $when =~ /^[+-]?\d+$/                      ? ($when =~ /^[+-]/ ? time + $when : 0 + $when)
        :                                              return $when;
    my ($second, $minute, $hour, $day, $month, $year, $weekday) = gmtime $time;
    my $date = join $between, sprintf('%02d', $day),
        (qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec))[$month], $year + 1900;
    return sprintf '%s, %s %02d:%02d:%02d GMT', (qw(Sun Mon Tue Wed Thu Fri Sat))[$weekday], $date, $hour, $minute, $second;
}

sub encoded {
    my $text = shift;
    $text =~ s/([^A-Za-z0-9_.\-*\@\$!'()])/sprintf '%%%02x', ord $1/ge;
    return $text;
}

sub decoded { return Hostler::Form::decoded($_[0]) }

1;
