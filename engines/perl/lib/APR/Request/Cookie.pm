# APR::Request::Cookie: cookies of a request, and for an answer. An object is a reference to a reference to what is known
# of it; a class of a program's own may keep one in a hash as `c`. Version 0 is how all browsers speak; what is sent with
# version 1 (RFC 2965) has its attributes quoted.
package APR::Request::Cookie;

use strict;
use warnings;

use APR::Request::Error ();
use Scalar::Util        ();

our $VERSION = '2.17';

use overload '""' => sub { $_[0]->value }, fallback => 1;

sub _object { my ($class, $row) = @_; return bless \$row, $class }

sub _row {
    my $object = shift;
    $object = $object->{c} // $object->{_c} while ref $object && Scalar::Util::reftype($object) eq 'HASH';
    return $$object if ref $object;
    require Carp;
    Carp::croak('APR::Request::Cookie: there is no cookie in this object');
}

sub _text {
    my (undef, $row) = @_;
    my $text = $row->{value};
    Hostler::taint($text) if ${^TAINT} && $row->{tainted};
    return $text;
}

# new(pool, name =>, value =>, path => ...); names may begin with a dash.
sub new {
    my ($class, $pool, %given) = @_;
    my ($name)  = grep { defined } delete @given{qw(name -name)};
    my ($value) = grep { defined } delete @given{qw(value -value)};
    return unless defined $name && defined $value;
    my $cookie = $class->make($pool, $name, $class->freeze($value));
    $cookie->set_attr(%given);
    return $cookie;
}

# make(pool, name, raw value)
sub make { my ($class, undef, $name, $value) = @_; return $class->_object({ name => "$name", value => "$value" }) }

sub set_attr {
    my ($cookie, %given) = @_;
    for my $name (sort keys %given) {
        my $call = $name =~ s/\A-//r =~ s/\Amax-age\z/max_age/ir;
        $cookie->$call($given{$name});
    }
    return;
}

sub freeze { return $_[1] }
sub thaw   { return $_[0]->value }

sub name      { return $_[0]->_row->{name} }
sub raw_value { return __PACKAGE__->_text($_[0]->_row) }
{ no warnings 'once'; *value = \&raw_value; }

for my $text (qw(path domain port comment commentURL samesite)) {
    no strict 'refs';
    *$text = sub {
        my ($cookie, @new) = @_;
        my $row = $cookie->_row;
        my $old = $row->{$text};
        $row->{$text} = $new[0] if @new;
        return $old;
    };
}

for my $flag (qw(secure httponly)) {
    no strict 'refs';
    *$flag = sub {
        my ($cookie, @new) = @_;
        my $row = $cookie->_row;
        my $old = $row->{$flag} || 0;
        $row->{$flag} = $new[0] ? 1 : 0 if @new;
        return $old;
    };
}

sub is_tainted {
    my ($cookie, @new) = @_;
    my $row = $cookie->_row;
    my $old = $row->{tainted} ? 1 : 0;
    $row->{tainted} = $new[0] ? 1 : 0 if @new;
    return $old;
}

sub version {
    my ($cookie, @new) = @_;
    my $row = $cookie->_row;
    my $old = $row->{version} || 0;
    $row->{version} = $new[0] if @new;
    return $old;
}

my %unit = (s => 1, m => 60, h => 3600, d => 86400, w => 86400 * 7, M => 86400 * 30, y => 86400 * 365, Y => 86400 * 365);

# expires("+3M"), ("now"), seconds, or a date; undef: with the browser's session.
sub expires {
    my ($cookie, @new) = @_;
    my $row = $cookie->_row;
    if (@new) { $row->{max_age} = defined $new[0] ? _seconds($new[0]) : undef }
    return defined $row->{max_age} ? _date($row->{max_age}) : '';
}
{ no warnings 'once'; *max_age = \&expires; }

# From now on.
sub _seconds {
    my $text = shift;
    return 0 if lc $text eq 'now';
    return $1 * $unit{ $2 || 's' } if $text =~ /\A\s*([+-]?\d+)([smhdwMyY]?)\z/;
    require APR::Date;
    my $time = APR::Date::parse_rfc($text =~ s/-/ /gr);
    return $time ? $time - time : 0;
}

sub _date {
    require APR::Date;
    return APR::Date::http(time + $_[0]) =~ s/(\d\d) (\w{3}) (\d{4})/$1-$2-$3/r;
}

sub as_string {
    my $row  = shift->_row;
    my $new  = $row->{version};
    my $text = "$row->{name}=$row->{value}";
    my $put  = sub {
        my ($name, $value) = @_;
        $value = qq("$value") if $new && $value !~ /\A"/;
        $text .= "; $name=$value";
    };
    $text .= "; Version=$new" if $new;
    for my $name (qw(path domain), $new ? qw(port comment commentURL) : ()) { $put->($name, $row->{$name}) if defined $row->{$name} }
    $text .= $new ? "; max-age=$row->{max_age}" : '; expires=' . _date($row->{max_age}) if defined $row->{max_age};
    $text .= '; secure'                    if $row->{secure};
    $text .= '; HttpOnly'                  if $row->{httponly};
    $text .= "; SameSite=$row->{samesite}" if defined $row->{samesite};
    Hostler::taint($text) if ${^TAINT} && $row->{tainted};
    return $text;
}

# parsed(Cookie header): a status, and a row for each cookie; what can't be read is passed over up to the next one.
sub parsed {
    my ($header, $status, @rows) = (shift, 0);
    my ($version, $cookie);
    pos($header) = 0;
    my $begin = sub {
        ($version, $cookie) = (0);
        $version = 1 if $header =~ /\G\s*\$Version[^;,]*;?/gci;
    };
    my $fail = sub { $status = $_[0]; $header =~ /\G[^;,]*[;,]?/gc; $begin->() };
    $begin->();
    while ($header =~ /\G[;\s]*/gc, pos $header < length $header) {
        if ($header =~ /\G,/gc) { $begin->(); next }
        if ($header =~ /\G\$/gc) {
            if (!$cookie) { $fail->(APR::Request::Error::BADCHAR()); next }
            $status = APR::Request::Error::MISMATCH() unless $version;
            my ($wrong, $name, $value) = _pair(\$header, 1);
            $wrong ? $fail->($wrong) : _attribute($cookie, $name, $value) || ($status = APR::Request::Error::BADATTR());
            next;
        }
        my ($wrong, $name, $value) = _pair(\$header);
        if ($wrong) { $fail->($wrong); next }
        push @rows, $cookie = { name => $name, value => $value, tainted => 1, version => $version };
    }
    return ($status, @rows);
}

# A name and a value from where the header is read: (what is wrong, name, value). Quotes are the value's but for those
# of attributes.
sub _pair {
    my ($header, $unquote) = @_;
    $$header =~ /\G[\s=]*([^\s;,=]*)[^;,=]*/gc;
    my $name = $1;
    return length $name ? APR::Request::Error::NOTOKEN() : APR::Request::Error::BADCHAR() unless $$header =~ /\G=\s*/gc;
    if ($$header =~ /\G"((?:[^"\\]|\\.)*)"/gcs) { return (0, $name, $unquote ? $1 =~ s/\\(.)/$1/gsr : qq("$1")) }
    return APR::Request::Error::BADSEQ() if $$header =~ /\G".*/gcs;
    $$header =~ /\G([^;,\s]*)/gc;
    return (0, $name, $1);
}

my %attribute = (path => 'path', domain => 'domain', port => 'port', comment => 'comment', commenturl => 'commentURL');

# Whether it is one.
sub _attribute {
    my ($cookie, $name, $value) = @_;
    my $known = $attribute{ lc $name };
    if    ($known)                     { $cookie->{$known} = $value }
    elsif ($name =~ /\Aversion\z/i)    { $cookie->{version} = $value =~ /(\d)/ ? $1 : 0 }
    elsif ($name =~ /\A(secure|httponly)\z/i) { $cookie->{ lc $1 } = $value =~ /\A(?:0|off|)\z/i ? 0 : 1 }
    elsif ($name =~ /\A(?:expires|max-age)\z/i) { $cookie->{max_age} = _seconds($value) }
    else                               { return 0 }
    return 1;
}

1;
