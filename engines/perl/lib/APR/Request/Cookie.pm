# APR::Request::Cookie: cookies of a request and for an answer (RFC 6265; the attributes libapreq2 knows).
package APR::Request::Cookie;

use strict;
use warnings;

use APR::Request ();

our $VERSION = '2.17';

use overload '""' => sub { $_[0]->as_string }, fallback => 1;

# [name, raw value], ... of a Cookie header.
sub pairs {
    my $header = shift;
    return unless defined $header;
    return map { /\A\s*\$/ ? () : /\A\s*([^=\s]+)\s*=\s*"?(.*?)"?\s*\z/s ? [ $1, $2 ] : () } split /[;,]\s*/, $header;
}

# new(request or pool, name => , value => , path => ...); names may begin with a dash.
sub new {
    my ($class, $r, %given) = @_;
    my %field = map { (lc(s/\A-//r) => $given{$_}) } keys %given;
    my $self = bless { r => $r, name => $field{name}, raw => $class->freeze($field{value} // '') }, $class;
    for my $name (qw(path domain secure httponly samesite version comment)) { $self->{$name} = $field{$name} if defined $field{$name} }
    $self->expires($field{expires}) if defined $field{expires};
    $self->{max_age} = $field{'max-age'} if defined $field{'max-age'};
    return $self;
}

sub _parsed { my ($class, $r, $name, $raw) = @_; return bless { r => $r, name => $name, raw => $raw }, $class }

# One text, or several joined by "&".
sub freeze {
    my ($class, $value) = @_;
    return APR::Request::encode($value) unless ref $value;
    my @texts = ref $value eq 'HASH' ? %$value : @$value;
    return join '&', map { APR::Request::encode($_) } @texts;
}

sub thaw {
    my $self = shift;
    my @texts = map { APR::Request::decode($_) } split /&/, @_ ? $_[0] : $self->{raw};
    return wantarray ? @texts : $texts[0] // '';
}

sub name      { return $_[0]{name} }
sub value     { return $_[0]->thaw }
sub raw_value { return $_[0]{raw} }

for my $field (qw(path domain secure httponly samesite version comment)) {
    no strict 'refs';
    *$field = sub {
        my ($cookie, @new) = @_;
        my $old = $cookie->{$field};
        $cookie->{$field} = $new[0] if @new;
        return $old;
    };
}

my %unit = (s => 1, m => 60, h => 3600, d => 86400, M => 86400 * 30, y => 86400 * 365);

# expires("+3M"), ("now"), or a date as it is to be written.
sub expires {
    my ($cookie, @new) = @_;
    return $cookie->{expires} unless @new;
    my $text = $new[0];
    my $time = $text eq 'now' ? time : $text =~ /\A([+-]?\d+)([smhdMy])?\z/ ? time + $1 * $unit{ $2 // 's' } : undef;
    if (defined $time) {
        require APR::Date;
        $text = APR::Date::http($time) =~ s/(\d\d) (\w{3}) (\d{4})/$1-$2-$3/r;
    }
    return $cookie->{expires} = $text;
}

sub as_string {
    my $cookie = shift;
    my $text   = "$cookie->{name}=$cookie->{raw}";
    $text .= "; path=$cookie->{path}"       if defined $cookie->{path};
    $text .= "; domain=$cookie->{domain}"   if defined $cookie->{domain};
    $text .= "; expires=$cookie->{expires}" if defined $cookie->{expires};
    $text .= "; max-age=$cookie->{max_age}" if defined $cookie->{max_age};
    $text .= '; secure'                     if $cookie->{secure};
    $text .= '; HttpOnly'                   if $cookie->{httponly};
    $text .= "; SameSite=$cookie->{samesite}" if defined $cookie->{samesite};
    return $text;
}

# Puts it into the answer, errors included.
sub bake {
    my ($cookie, $r) = @_;
    $r = $cookie->{r} unless defined $r;
    $r = $r->{r} if ref $r && !Hostler::Request::is($r);
    $r->err_headers_out->add('Set-Cookie' => $cookie->as_string);
    return;
}

sub bake2 {
    my ($cookie, $r) = @_;
    ($r // $cookie->{r})->err_headers_out->add('Set-Cookie2' => $cookie->as_string);
    return;
}

# What fetch() finds, as a table: a hash of name => cookie with the methods of one.
package APR::Request::Cookie::Table;

sub get { return $_[0]{ $_[1] } }

# do(code): with each name and cookie, until it answers false.
sub do {
    my ($table, $code) = @_;
    for my $name (sort keys %$table) { $code->($name, $table->{$name}) or return 0 }
    return 1;
}

1;
