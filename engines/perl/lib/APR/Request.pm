# APR::Request: a query string, a form's body with its uploads, and cookies, as libapreq2 offers them. The body is read
# when it is first asked for, and what is wrong with it is thrown then.
package APR::Request;

use strict;
use warnings;

use APR::Table    ();
use Hostler::Form ();

our $VERSION = '2.17';
our @EXPORT_OK = qw(encode decode);

use Exporter 'import';

# libapreq2's numbers begin where APR leaves room for programs.
use constant { GENERAL => 120000, BADDATA => 120010, OVERLIMIT => 120031 };

sub encode { return $_[-1] =~ s{([^A-Za-z0-9._\- ])}{sprintf '%%%02X', ord $1}ger =~ tr/ /+/r }
sub decode { return Hostler::Form::decoded($_[-1]) }

# What is known of a request: kept with it, so that several objects of one request share it.
sub _known { return Hostler::Request::stash($_[0]{r})->{apreq} ||= { how => {} } }

sub _how { return $_[0]->_known->{how} }

sub _table {
    my $table = APR::Table::make(undef, scalar(@_) || 1);
    $table->add($_->[0], $_->[1]) for @_;
    return bless $table, 'APR::Request::Param::Table';
}

sub _args {
    my $known = $_[0]->_known;
    return $known->{args} ||= _table(Hostler::Form::query(scalar $_[0]{r}->args));
}

# Reads the body once; afterwards `body_error` says what was wrong.
sub _body {
    my $self  = shift;
    my $known = $self->_known;
    return $known->{body} if $known->{body};
    my $form = eval { $self->_read_body };
    if (my $error = $@) {
        my $refused = ref $error eq 'Hostler::Form::Refused';
        $known->{body_error} = [ $refused && $error->{status} == 413 ? OVERLIMIT : $refused ? BADDATA : GENERAL, "$error" ];
    }
    $known->{uploads} = [ map { Apache2::Upload->_of($_) } @{ $form ? $form->{uploads} : [] } ];
    return $known->{body} = _table(@{ $form ? $form->{fields} : [] });
}

sub _read_body {
    my $self = shift;
    my ($r, $how) = ($self->{r}, $self->_how);
    my $most = $how->{read_limit} // $how->{post_max};
    my $size = $r->headers_in->get('Content-Length') || 0;
    Hostler::Form::refuse(413, 'Exceeds configured maximum limit') if defined $most && $most >= 0 && $size > $most;
    my ($hook, $got) = ($how->{upload_hook}, 0);
    return Hostler::Form::body(
        type      => $r->headers_in->get('Content-Type') // '',
        uploads   => !$how->{disable_uploads},
        directory => $how->{temp_dir},
        hook      => $hook && sub { $hook->(Apache2::Upload->_of($_[0]), $_[1], length $_[1], $how->{hook_data}) },
        read      => sub {
            $r->read(my $piece, $_[0]) or return '';
            $got += length $piece;
            Hostler::Form::refuse(413, 'Exceeds configured maximum limit') if defined $most && $most >= 0 && $got > $most;
            return $piece;
        },
    );
}

# With a name: the first value, or all in list context. Without: the names, or the table in scalar context.
sub _answer {
    my ($wants_list, $table, @name) = @_;
    if (@name) { my @values = $table->get($name[0]); return $wants_list ? @values : $values[0] }
    return %$table ? $table : undef unless $wants_list;
    my %seen;
    return grep { !$seen{ lc $_ }++ } keys %$table;
}

sub args { my $self = shift; return _answer(wantarray, $self->_args, @_) }

sub body {
    my $self  = shift;
    my $table = $self->_body;
    $self->_throw;
    return _answer(wantarray, $table, @_);
}

sub param {
    my $self = shift;
    my ($args, $body) = ($self->_args, $self->_body);
    $self->_throw;
    my $known = $self->_known;
    return _answer(wantarray, $known->{param} ||= bless($body->overlay($args), 'APR::Request::Param::Table'), @_);
}

sub _throw {
    my $error = $_[0]->_known->{body_error} or return;
    my (undef, $file, $line) = caller 1;
    require APR::Error;
    die bless { rc => $error->[0], func => 'APR::Request::body', file => $file, line => $line, text => $error->[1] }, 'APR::Request::Error';
}

sub args_status { return 0 }
sub body_status { my $self = shift; $self->_body; my $error = $self->_known->{body_error}; return $error ? $error->[0] : 0 }

# Of both: what is wrong with the body, for a query string can't be.
sub param_status { return $_[0]->body_status }

# upload(): the names (or the table); (name): the upload, or all of it in list context.
sub upload {
    my ($self, @name) = @_;
    $self->_body;
    $self->_throw;
    my @all = @{ $self->_known->{uploads} };
    if (@name) {
        my @found = grep { lc $_->{name} eq lc $name[0] } @all;
        return wantarray ? @found : $found[0];
    }
    my %seen;
    return map { $_->{name} } grep { !$seen{ lc $_->{name} }++ } @all if wantarray;
    return @all ? _table(map { [ $_->{name}, $_->{filename} ] } @all) : undef;
}

# jar(): the cookies' names; (name): a cookie's raw value.
sub jar {
    my $self = shift;
    require APR::Request::Cookie;
    my $known = $self->_known;
    my $table = $known->{jar} ||= _table(APR::Request::Cookie::pairs($self->{r}->headers_in->get('Cookie')));
    return _answer(wantarray, $table, @_);
}

*cookies = \&jar;
sub cookie_status { return 0 }
*jar_status = \&cookie_status;

for my $limit (qw(post_max read_limit temp_dir disable_uploads upload_hook hook_data bucket_limit brigade_limit)) {
    no strict 'refs';
    *$limit = sub {
        my ($self, @new) = @_;
        my $how = $self->_how;
        my $old = $how->{$limit};
        $how->{$limit} = $new[0] if @new;
        return $old;
    };
}

package APR::Request::Param::Table;
our @ISA = ('APR::Table');

package APR::Request::Error;
use overload '""' => sub { $_[0]->str }, 'bool' => sub { 1 }, fallback => 1;
our @ISA = ('APR::Error');
sub str { my $error = shift; return sprintf '%s at %s line %d', $error->{text}, $error->{file}, $error->{line} }

# An upload; the file goes when nobody holds it (Hostler::Form::File).
package Apache2::Upload;

sub _of { my ($class, $found) = @_; return bless {%$found}, $class }

sub name     { return $_[0]{name} }
sub filename { return $_[0]{filename} }
sub size     { return $_[0]{size} // (defined $_[0]{path} ? -s $_[0]{path} : 0) }
sub tempname { return $_[0]{path} }

sub type {
    my ($type) = map { $_->[1] } grep { lc $_->[0] eq 'content-type' } @{ $_[0]{info} || [] };
    return defined $type ? $type =~ s/\s*;.*//sr : undef;
}

# info(): the part's headers, a table; (name): one of them.
sub info {
    my ($upload, @name) = @_;
    my $table = $upload->{table} ||= APR::Request::_table(@{ $upload->{info} || [] });
    return @name ? $table->get($name[0]) : $table;
}

sub fh { my $upload = shift; seek $upload->{handle}, 0, 0; return $upload->{handle} }
sub io { return $_[0]->fh }

# slurp($into): how many bytes
sub slurp {
    my $upload = $_[0];
    my $handle = $upload->fh;
    local $/;
    my $text = <$handle>;
    $text = '' unless defined $text;
    $_[1] = $text;
    return length $text;
}

# link(path): the file gets this name as well; a copy if it stands on another file system.
sub link {
    my ($upload, $path) = @_;
    return 1 if defined $upload->{path} && CORE::link $upload->{path}, $path;
    require File::Copy;
    return File::Copy::copy($upload->fh, $path);
}

1;
