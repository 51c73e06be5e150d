# APR::Request: a query string, a form's body with its uploads, and cookies, as libapreq2 offers them. The body is read
# when it is first asked for. What is wrong is kept as a status, and thrown where what was asked for was not found.
package APR::Request;

use strict;
use warnings;

use APR::Request::Cookie ();
use APR::Request::Error  ();
use APR::Request::Param  ();
use APR::Table           ();
use Hostler::Form        ();
use Hostler::FormTable   ();
use Scalar::Util         ();

our $VERSION   = '2.17';
our @EXPORT_OK = qw(encode decode);

use Exporter 'import';

sub encode { return $_[-1] =~ s{([^A-Za-z0-9._\- ])}{sprintf '%%%02X', ord $1}ger =~ tr/ /+/r }
sub decode { return Hostler::Form::decoded($_[-1]) }

# What is known of a request, kept with it so that several objects share it; and the request, where it is the server's.
sub _found {
    my $object = shift;
    while (ref $object && Scalar::Util::reftype($object) eq 'HASH') {
        return $object->{known} if $object->{known};
        $object = $object->{r} // $object->{_r};
    }
    if (!ref $object || !Hostler::Request::is($object)) { require Carp; Carp::croak('APR::Request: there is no request in this object') }
    return (Hostler::Request::stash($object)->{apreq} ||= { how => {} }, $object);
}

# Where it comes from: the texts, and how a body is read.
sub _source {
    my ($known, $r) = @_;
    return $known->{source} if $known->{source};
    my $fields = $r->headers_in;
    return {
        query   => scalar $r->Apache2::RequestRec::args,
        cookies => join('; ', $fields->get('Cookie')),
        type    => scalar $fields->get('Content-Type'),
        length  => scalar $fields->get('Content-Length'),
        chunked => defined $fields->get('Transfer-Encoding'),
        read    => sub { $r->read(my $piece, $_[0]) or return ''; return $piece },
    };
}

sub _rows {
    return map { { name => $_->[0], value => $_->[1], tainted => 1 } } @_;
}

# The three parts: { status, rows }.
sub _args {
    my ($known, @r) = _found($_[0]);
    my $query = _source($known, @r)->{query} // '';
    return $known->{args} if $known->{args} && $known->{args}{of} eq $query;
    my ($wrong, @pairs) = Hostler::Form::strict_query($query);
    my $status = !length $query ? APR::Request::Error::NODATA() : $wrong ? APR::Request::Error::BADSEQ() : 0;
    return $known->{args} = { of => $query, status => $status, rows => [ _rows(@pairs) ] };
}

sub _jar {
    my ($known, @r) = _found($_[0]);
    my $header = _source($known, @r)->{cookies} // '';
    return $known->{jar} if $known->{jar} && $known->{jar}{of} eq $header;
    my ($status, @rows) = length $header ? APR::Request::Cookie::parsed($header) : APR::Request::Error::NODATA();
    return $known->{jar} = { of => $header, status => $status, rows => \@rows };
}

sub _body {
    my ($known, @r) = _found($_[0]);
    return $known->{body} if $known->{body};
    my $source = _source($known, @r);
    my $found  = { fields => [], uploads => [] };
    my $status = eval { _read_body($_[0], $known, $source, $found) };
    if (my $error = $@) {
        my $refused = ref $error eq 'Hostler::Form::Refused' ? $error->{status} : 0;
        $status
            = $refused == 413 ? APR::Request::Error::OVERLIMIT()
            : $refused == 400 ? APR::Request::Error::BADDATA()
            :                   APR::Request::Error::GENERAL();
    }
    my @rows = _rows(@{ $found->{fields} });
    for my $upload (@{ $found->{uploads} }) { $rows[ $upload->{field} ]{upload} = $upload if defined $upload->{field} }
    return $known->{body} = { status => $status, rows => \@rows };
}

sub _read_body {
    my ($self, $known, $source, $found) = @_;
    my $how = $known->{how};
    return APR::Request::Error::NODATA() unless $source->{length} || $source->{chunked};
    return APR::Request::Error::NOHEADER() unless defined $source->{type};
    require APR::Request::Parser;
    my $kind = APR::Request::Parser::_kind($source->{kind} // 'default', $source->{type}) or return APR::Request::Error::NOPARSER();
    my $most = $how->{read_limit};
    my $got  = 0;
    my $over = sub { Hostler::Form::refuse(413, 'Exceeds configured maximum limit') if defined $most && $_[0] > $most };
    $over->($source->{length} || 0);
    my $hook = $how->{upload_hook};
    Hostler::Form::body(
        kind      => $kind,
        type      => $source->{type},
        uploads   => !$how->{disable_uploads},
        directory => $how->{temp_dir},
        found     => $found,
        hook_ends => 1,
        hook      => $hook && sub { $self->_pass_to_hook($hook, $how->{hook_data}, @_) },
        read      => sub { my $piece = $source->{read}->(@_); $over->($got += length $piece); return $piece },
    );
    return 0;
}

# A piece of an upload that comes in; at its end nothing.
sub _pass_to_hook {
    my ($self, $hook, $data, $upload, $piece) = @_;
    my $row = { name => $upload->{name}, value => $upload->{filename}, tainted => 1, upload => $upload };
    require Apache2::Upload;
    return if eval { $hook->(Apache2::Upload->_object($row), $piece, length($piece // ''), $data); 1 };
    warn "Upload hook failed: $@";
    Hostler::Form::refuse(500, 'an upload hook has failed');
    return;
}

sub _table { my ($class, $base, @rows) = @_; return @rows ? Hostler::FormTable::made($class, $base, @rows) : undef }

my %table_of = ('APR::Request::Cookie' => 'APR::Request::Cookie::Table', 'APR::Request::Param' => 'APR::Request::Param::Table');

# With a name: the first value, or all in list context. Without: the names, or the table in scalar context. In scalar
# context a value that was found is given whatever is wrong behind it.
sub _answer {
    my ($self, $wants_list, $call, $base, $parts, @name) = @_;
    if (@name && !$wants_list) {
        for my $part (@$parts) {
            my ($row) = grep { lc $_->{name} eq lc $name[0] } @{ $part->()->{rows} };
            return $base->_text($row) if $row;
        }
    }
    my @all = map { $_->() } @$parts;
    for my $status (map { $_->{status} } @all) {
        next if !APR::Request::Error::is_error($status) || $self->isa('APR::Request::Error');
        APR::Request::Error::throw($self, $status, "APR::Request::$call");
    }
    my @rows = map { @{ $_->{rows} } } @all;
    return _table($table_of{$base}, $base, @rows) unless @name || $wants_list;
    return map { $_->{name} } @rows unless @name;
    return map { $base->_text($_) } grep { lc $_->{name} eq lc $name[0] } @rows if $wants_list;
    return;
}

sub args { my ($self, @name) = @_; return $self->_answer(wantarray, 'args', 'APR::Request::Param', [ sub { $self->_args } ], @name) }
sub body { my ($self, @name) = @_; return $self->_answer(wantarray, 'body', 'APR::Request::Param', [ sub { $self->_body } ], @name) }
sub jar  { my ($self, @name) = @_; return $self->_answer(wantarray, 'jar', 'APR::Request::Cookie', [ sub { $self->_jar } ], @name) }

sub param {
    my ($self, @name) = @_;
    return $self->_answer(wantarray, 'param', 'APR::Request::Param', [ sub { $self->_args }, sub { $self->_body } ], @name);
}
{ no warnings 'once'; *params = *parms = \&param; }

# upload(): the names, or their table; (name): the upload, or all of it in list context, as objects.
sub upload {
    my ($self, @name) = @_;
    return $self->_uploads('APR::Request::Param', wantarray, @name);
}

sub _uploads {
    my ($self, $class, $wants_list, @name) = @_;
    my $body = $self->_body;
    APR::Request::Error::throw($self, $body->{status}, 'APR::Request::upload') if APR::Request::Error::is_error($body->{status});
    my @rows = grep { $_->{upload} } @{ $body->{rows} };
    if (@name) {
        my @found = map { $class->_object($_) } grep { lc $_->{name} eq lc $name[0] } @rows;
        return $wants_list ? @found : $found[0];
    }
    return map { $_->{name} } @rows if $wants_list;
    my $table = _table('APR::Request::Param::Table', 'APR::Request::Param', @rows) or return;
    return $table->param_class($class);
}

sub args_status { return APR::Request::Error::status($_[0]->_args->{status}) }
sub body_status { return APR::Request::Error::status($_[0]->_body->{status}) }
sub jar_status  { return APR::Request::Error::status($_[0]->_jar->{status}) }

sub param_status {
    my $self = shift;
    my @both = ($self->args_status, $self->body_status);
    return wantarray ? @both : 0 + $both[0] ? $both[0] : $both[1];
}

# Reads everything now: the statuses of cookies, query string and body.
sub parse { my $self = shift; return ($self->jar_status, $self->args_status, $self->body_status)[ wantarray ? (0 .. 2) : 2 ] }

my %multiple = (k => 1 << 10, m => 1 << 20, g => 1 << 30);
sub _bytes { return $_[0] =~ /\A\s*(\d+)\s*([kmg])/i ? $1 * $multiple{ lc $2 } : 0 + $_[0] }

my %default = (read_limit => ~0, brigade_limit => 256 << 10);

# Without a value what it is; with one whether it was taken.
for my $limit (qw(read_limit brigade_limit temp_dir)) {
    no strict 'refs';
    *$limit = sub {
        my ($self, @new) = @_;
        my ($known) = _found($self);
        return $known->{how}{$limit} // $default{$limit} unless @new;
        $known->{how}{$limit} = $limit eq 'temp_dir' ? $new[0] : _bytes($new[0]);
        return 1;
    };
}
{ no warnings 'once'; *post_max = *max_body = \&read_limit; *bucket_limit = \&brigade_limit; }

for my $hook (qw(upload_hook hook_data)) {
    no strict 'refs';
    *$hook = sub {
        my ($self, @new) = @_;
        my ($known) = _found($self);
        $known->{how}{$hook} = $new[0] if @new;
        return $known->{how}{$hook};
    };
}

sub disable_uploads {
    my ($self, @new) = @_;
    my ($known) = _found($self);
    $known->{how}{disable_uploads} = @new ? $new[0] : 1;
    return APR::Request::Error::status(0);
}

sub pool {
    my ($known, $r) = _found($_[0]);
    return $r ? $r->pool : $known->{source}{pool};
}

sub bucket_alloc {
    my ($known, $r) = _found($_[0]);
    return $r ? $r->connection->bucket_alloc : $known->{source}{alloc} // APR::BucketAlloc->new;
}

# A request that a program has put together.
package APR::Request::Custom;
our @ISA = ('APR::Request');

# handle(pool, query string, cookies, parser, most bytes, brigade)
sub handle {
    my ($class, $pool, $query, $cookies, $parser, $limit, $bb) = @_;
    require APR::BucketAlloc;
    my %source = (pool => $pool, query => $query, cookies => $cookies, alloc => $bb && $bb->bucket_alloc);
    if ($parser && $bb) {
        $bb->flatten(my $text);
        @source{qw(kind type length)} = (@$parser{qw(kind type)}, length $text);
        $source{read} = sub { return substr $text, 0, $_[0], '' };
    }
    my %how = (read_limit => $limit, temp_dir => $parser && $parser->{directory});
    return bless { known => { how => \%how, source => \%source } }, ref $class || $class;
}

1;
