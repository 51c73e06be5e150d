# libapreq 1: a request whose query string and form have been taken apart.
package Apache::Request;

use strict;
use warnings;
use Apache            ();
use Apache::Constants qw(OK SERVER_ERROR);
use Apache::Table     ();
use Apache::Upload    ();
use Hostler::Form     ();

our $VERSION = '1.34';
our @ISA     = ('Apache');

# new($r, POST_MAX => bytes, DISABLE_UPLOADS => 1, TEMP_DIR => path, UPLOAD_HOOK => code, HOOK_DATA => any)
sub new {
    my ($class, $r, %how) = @_;
    $r = $r->{_r} if ref $r && UNIVERSAL::isa($r, __PACKAGE__);
    $how{ lc $_ } = delete $how{$_} for keys %how;
    return bless { _r => $r, how => \%how }, $class;
}

# The one object of a request, whoever asks.
sub instance {
    my ($class, $r, %how) = @_;
    my $notes = $r->pnotes;
    my $known = $notes->{'apreq instance'};
    return $known if $known;
    my $self = $class->new($r, %how);
    $r->pnotes('apreq instance', $self);
    return $self;
}

sub r { return $_[0]{_r} }

# The date of "+3d", "now" and the like as a header field has it.
sub expires {
    my ($self, $when) = @_;
    require Apache::Cookie;
    return defined $when ? Apache::Cookie::date($when, ' ') : undef;
}

# OK, or the status of what is wrong with the form; notes has the reason as "error-notes".
sub parse {
    my $self = shift;
    return $self->{status} if exists $self->{status};
    my $r = $self->{_r};
    $self->{fields}  = [ Hostler::Form::query(scalar $r->args) ];
    $self->{uploads} = [];
    my $body = eval { $self->_body };
    if (my $error = $@) {
        my $status = ref $error eq 'Hostler::Form::Refused' ? $error->{status} : SERVER_ERROR;
        $r->log_error("[libapreq] $error");
        $r->notes('error-notes', "$error");
        return $self->{status} = $status;
    }
    push @{ $self->{fields} }, @{ $body->{fields} } if $body;
    $self->{uploads} = Apache::Upload->chain(@{ $body->{uploads} }) if $body;
    return $self->{status} = OK;
}

sub _body {
    my $self = shift;
    my ($r, $how) = @$self{qw(_r how)};
    my $length = $r->header_in('Content-Length') || 0;
    my $type   = $r->header_in('Content-Type') || '';
    return unless $type =~ m{^(?:application/x-www-form-urlencoded|multipart/form-data)\b}i;
    my $most = $how->{post_max} // -1;
    Hostler::Form::refuse(413, "[libapreq] entity too large ($length, max=$most)") if $most >= 0 && $length > $most;
    my $hook = $how->{upload_hook};
    my $got  = 0;
    return Hostler::Form::body(
        type      => $type,
        uploads   => !$how->{disable_uploads},
        directory => $how->{temp_dir},
        hook      => $hook && sub { $hook->(Apache::Upload->passing($_[0]), $_[1], length $_[1], $how->{hook_data}) },
        read      => sub {
            $r->read(my $piece, $_[0]) or return '';
            $got += length $piece;
            Hostler::Form::refuse(413, "entity too large (max=$most)") if $most >= 0 && $got > $most;
            return $piece;
        },
    );
}

# param(): the names. param($name): its value, in list context all of them. param($name, $value...): new ones.
sub param {
    my ($self, $name, @values) = @_;
    $self->parse;
    my $fields = $self->{fields};
    if (@values) {
        @$fields = grep { lc $_->[0] ne lc $name } @$fields;
        push @$fields, map { [ $name, $_ ] } map { ref $_ eq 'ARRAY' ? @$_ : $_ } @values;
        return wantarray ? map { ref $_ eq 'ARRAY' ? @$_ : $_ } @values : $values[0];
    }
    if (@_ < 2) {
        return $self->parms unless wantarray;
        my %seen;
        return grep { !$seen{ lc $_ }++ } map { $_->[0] } @$fields;
    }
    if (ref $name) {    # a table in place of all
        @$fields = ();
        $name->do(sub { push @$fields, [@_]; 1 });
        return $name;
    }
    my @found = map { $_->[1] } grep { lc $_->[0] eq lc $name } @$fields;
    return wantarray ? @found : $found[0];
}
*params = \&parms;

# All of them as a table.
sub parms {
    my ($self, $table) = @_;
    $self->parse;
    return $self->param($table) if $table;
    $table = Apache::Table->new($self->{_r}, 10);
    $table->add(@$_) for @{ $self->{fields} };
    return $table;
}

sub query_params { my $self = shift; return map { @$_ } Hostler::Form::query(scalar $self->{_r}->args) }

sub post_params {
    my $self = shift;
    $self->parse;
    my $from_query = () = Hostler::Form::query(scalar $self->{_r}->args);
    return map { @$_ } @{ $self->{fields} }[ $from_query .. $#{ $self->{fields} } ];
}

# upload(): all, in scalar context the first; upload($name): that one.
sub upload {
    my ($self, $name) = @_;
    $self->parse;
    my @found = @{ $self->{uploads} };
    @found = grep { $_->name eq $name } @found if defined $name;
    return wantarray ? @found : $found[0];
}

1;
