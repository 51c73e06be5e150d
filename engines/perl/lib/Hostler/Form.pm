# Forms: names, values and uploads of a query string or a body (application/x-www-form-urlencoded, and
# multipart/form-data of RFC 7578). For Apache::Request; reads through a callback, knows no request object.
package Hostler::Form;

use strict;
use warnings;

use constant { PIECE => 64 << 10, FIELD_MAX => 16 << 20, PART_HEAD_MAX => 64 << 10 };

# Names and values of a query string, in order: ([name, value], ...).
sub query {
    my $text = shift;
    return unless defined $text && length $text;
    return map { [ map { decoded($_) } /\A([^=]*)=?(.*)\z/s ] } grep { length } split /[&;]/, $text;
}

# The same where "%" must be followed by a number: whether a pair was wrong, and those before it.
sub strict_query {
    my @pairs;
    for my $pair (grep { length } split /[&;]/, $_[0]) {
        return (1, @pairs) if $pair =~ /%(?!u[0-9A-Fa-f]{4}|[0-9A-Fa-f]{2})/;
        push @pairs, query($pair);
    }
    return (0, @pairs);
}

sub decoded {
    my $text = shift;
    $text =~ tr/+/ /;
    $text =~ s/%u([0-9A-Fa-f]{4})|%([0-9A-Fa-f]{2})/defined $1 ? wide(hex $1) : chr hex $2/ge;
    return $text;
}

sub wide {
    my $character = chr shift;
    utf8::encode($character);
    return $character;
}

# body(read => sub { bytes }, type =>, uploads =>, directory =>, hook =>): a body's fields and uploads, or an error.
# `kind` says how it is taken apart where the type does not; `found` is filled and has, after an error, what came before.
#   -> { fields => [[name, value], ...], uploads => [{name, filename, info => [[k, v]], handle, path, size, file}, ...] }
# Dies with an object of Hostler::Form::Refused: a status and a sentence.
sub body {
    my %how   = @_;
    my $type  = $how{type} // '';
    my $kind  = $how{kind} // ($type =~ m{^application/x-www-form-urlencoded\b}i ? 'urlencoded' : $type =~ m{^multipart/form-data\b}i ? 'multipart' : '');
    my $found = $how{found} ||= { fields => [], uploads => [] };
    if ($kind ne 'multipart') {
        push @{ $found->{fields} }, taken_apart($kind, \%how) if $kind;
        return $found;
    }
    my ($quoted, $plain) = $type =~ /\bboundary=(?:"([^"]+)"|([^\s;,]+))/i;
    my $boundary = $quoted // $plain // refuse(400, 'multipart/form-data without a boundary');
    return parts("\r\n--$boundary", %how);
}

# The pairs of a body that is read as a whole.
sub taken_apart {
    my ($kind, $how) = @_;
    my $text = '';
    while (defined(my $piece = $how->{read}->(PIECE))) { last unless length $piece; $text .= $piece }
    return [ '', $text ] if $kind eq 'generic';
    return map { /\A([^:]+):[ \t]*(.*)\z/s ? [ $1, $2 ] : () } split /\r?\n(?![ \t])/, $text if $kind eq 'headers';
    return query($text);
}

# The parts of a multipart body. The buffer begins as if a line had ended, so that the first boundary is like others.
sub parts {
    my ($mark, %how) = @_;
    my $state = { read => $how{read}, text => "\r\n", mark => $mark };
    my $found = $how{found};
    until_mark($state, sub { });    # the preamble
    until (last_part($state)) {
        my %head = part_head($state);
        my $disposition = $head{'content-disposition'} // '';
        my ($name, $filename) = map { parameter($disposition, $_) } qw(name filename);
        if (defined $filename) { upload($state, $found, \%head, $name, $filename, %how) }
        else {
            my $value = '';
            until_mark($state, sub { $value .= $_[0]; refuse(413, 'A field is too long') if length $value > FIELD_MAX });
            push @{ $found->{fields} }, [ $name, $value ] if defined $name;
        }
    }
    1 while length more($state);    # the epilogue
    return $found;
}

sub parameter {
    my ($header, $wanted) = @_;
    return unless $header =~ /[;\s]\Q$wanted\E\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]*))/i;
    return $2 unless defined $1;
    return $1 =~ s/\\(["\\])/$1/gr;
}

sub upload {
    my ($state, $found, $head, $name, $filename, %how) = @_;
    refuse(403, 'Uploads are disabled') unless $how{uploads};
    require File::Temp;
    my ($handle, $path) = File::Temp::tempfile('hostler-upload-XXXXXXXX', DIR => $how{directory} || File::Spec->tmpdir);
    binmode $handle;
    my $upload = {
        name => $name // '', filename => $filename, info => [ map { [ $_, $head->{$_} ] } @{ $head->{''} } ],
        type => $head->{'content-type'}, handle => $handle, path => $path, size => 0,
        file => Hostler::Form::File->at($path),
    };
    push @{ $found->{uploads} }, $upload;
    my $hook = $how{hook};
    until_mark(
        $state,
        sub {
            print {$handle} $_[0] or refuse(500, "can't write the upload: $!");
            $upload->{size} += length $_[0];
            $hook->($upload, $_[0]) if $hook;
        }
    );
    my $old = select $handle;
    local $| = 1;
    select $old;
    seek $handle, 0, 0;
    $hook->($upload, undef) if $hook && $how{hook_ends};
    return unless defined $name;
    push @{ $found->{fields} }, [ $name, $filename ];
    $upload->{field} = $#{ $found->{fields} };
    return;
}

# Reads some more into the buffer; what it was, '' at the end.
sub more {
    my $state = shift;
    my $piece = $state->{read}->(PIECE);
    $piece = '' unless defined $piece;
    $state->{text} .= $piece;
    return $piece;
}

# Gives everything up to the next boundary to `take`, and leaves the buffer behind the boundary.
sub until_mark {
    my ($state, $take) = @_;
    my $mark = $state->{mark};
    while (1) {
        my $at = index $state->{text}, $mark;
        if ($at >= 0) {
            $take->(substr $state->{text}, 0, $at) if $at;
            substr $state->{text}, 0, $at + length $mark, '';
            return;
        }
        my $safe = length($state->{text}) - length $mark;
        if ($safe > 0) {
            $take->(substr $state->{text}, 0, $safe);
            substr $state->{text}, 0, $safe, '';
        }
        refuse(400, 'The multipart body ends before its last boundary') unless length more($state);
    }
}

# Behind a boundary: "--" ends the body.
sub last_part {
    my $state = shift;
    while (length $state->{text} < 2) {
        refuse(400, 'The multipart body ends in a boundary') unless length more($state);
    }
    return substr($state->{text}, 0, 2) eq '--';
}

# A part's header: by lower-cased name; the names as written, in order, under ''.
sub part_head {
    my $state = shift;
    my $at;
    while (($at = index $state->{text}, "\r\n\r\n") < 0) {
        refuse(400, 'A part has no header, or too long a one') if length $state->{text} > PART_HEAD_MAX || !length more($state);
    }
    my $text = substr $state->{text}, 0, $at, '';
    substr $state->{text}, 0, 4, '';
    $text =~ s/\r\n[ \t]+/ /g;
    my %head = ('' => []);
    for (split /\r\n/, $text) {
        my ($name, $value) = /^([^:\s]+)\s*:\s*(.*?)\s*\z/ or next;
        push @{ $head{''} }, $name;
        $head{$name} = $head{ lc $name } = $value;
    }
    return %head;
}

sub refuse {
    my ($status, $why) = @_;
    die bless { status => $status, why => $why }, 'Hostler::Form::Refused';
}

# An upload's temporary file: gone when nobody holds it any more, also where the body is refused behind it. A forked
# child leaves it to its parent.
package Hostler::Form::File;

sub at { my ($class, $path) = @_; return bless { path => $path, owner => $$ }, $class }

sub DESTROY {
    my $file = shift;
    local ($!, $@);
    unlink $file->{path} if $file->{owner} == $$;
    return;
}

package Hostler::Form::Refused;

use overload '""' => sub { $_[0]{why} }, 'bool' => sub { 1 }, fallback => 1;

1;
