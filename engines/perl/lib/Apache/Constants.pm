# mod_perl 1's constants, with Apache 1.3's values where they differ from Apache 2's.
package Apache::Constants;

use strict;
use warnings;

our $VERSION = '1.09';

my %groups = (
    common  => [qw(OK DECLINED DONE NOT_FOUND FORBIDDEN AUTH_REQUIRED SERVER_ERROR)],
    response => [
        qw(DOCUMENT_FOLLOWS MOVED REDIRECT USE_LOCAL_COPY BAD_REQUEST BAD_GATEWAY RESPONSE_CODES NOT_IMPLEMENTED
            NOT_AUTHORITATIVE CONTINUE)
    ],
    methods => [
        qw(METHODS M_CONNECT M_DELETE M_GET M_INVALID M_OPTIONS M_POST M_PUT M_TRACE M_PATCH M_PROPFIND M_PROPPATCH
            M_MKCOL M_COPY M_MOVE M_LOCK M_UNLOCK)
    ],
    options => [
        qw(OPT_NONE OPT_INDEXES OPT_INCLUDES OPT_SYM_LINKS OPT_EXECCGI OPT_UNSET OPT_INCNOEXEC OPT_SYM_OWNER OPT_MULTI
            OPT_ALL)
    ],
    satisfy    => [qw(SATISFY_ALL SATISFY_ANY SATISFY_NOSPEC)],
    remotehost => [qw(REMOTE_HOST REMOTE_NAME REMOTE_NOLOOKUP REMOTE_DOUBLE_REV)],
    server     => [qw(MODULE_MAGIC_NUMBER SERVER_VERSION SERVER_BUILT)],
    config     => [qw(DECLINE_CMD)],
    types      => [qw(DIR_MAGIC_TYPE)],
    override   => [
        qw(OR_NONE OR_LIMIT OR_OPTIONS OR_FILEINFO OR_AUTHCFG OR_INDEXES OR_UNSET OR_ALL ACCESS_CONF RSRC_CONF)
    ],
    args_how =>
        [qw(RAW_ARGS TAKE1 TAKE2 TAKE12 TAKE3 TAKE23 TAKE123 TAKE13 ITERATE ITERATE2 FLAG NO_ARGS)],
);

my %value = (
    OK => 0, DECLINED => -1, DONE => -2, NOT_FOUND => 404, FORBIDDEN => 403, AUTH_REQUIRED => 401, SERVER_ERROR => 500,
    DOCUMENT_FOLLOWS => 200, MOVED => 301, REDIRECT => 302, USE_LOCAL_COPY => 304, BAD_REQUEST => 400,
    BAD_GATEWAY => 502, RESPONSE_CODES => 55, NOT_IMPLEMENTED => 501, NOT_AUTHORITATIVE => 203, CONTINUE => 100,
    SATISFY_ALL => 0, SATISFY_ANY => 1, SATISFY_NOSPEC => 2,
    REMOTE_HOST => 0, REMOTE_NAME => 1, REMOTE_NOLOOKUP => 2, REMOTE_DOUBLE_REV => 3,
    OPT_NONE => 0, OPT_INDEXES => 1, OPT_INCLUDES => 2, OPT_SYM_LINKS => 4, OPT_EXECCGI => 8, OPT_UNSET => 16,
    OPT_INCNOEXEC => 32, OPT_SYM_OWNER => 64, OPT_MULTI => 128, OPT_ALL => 15,
    MODULE_MAGIC_NUMBER => 19990320, DECLINE_CMD => "\a\b", DIR_MAGIC_TYPE => 'httpd/unix-directory',
    OR_NONE => 0, OR_LIMIT => 1, OR_OPTIONS => 2, OR_FILEINFO => 4, OR_AUTHCFG => 8, OR_INDEXES => 16,
    OR_UNSET => 32, OR_ALL => 31, ACCESS_CONF => 64, RSRC_CONF => 128,
    RAW_ARGS => 0, TAKE1 => 1, TAKE2 => 2, ITERATE => 3, ITERATE2 => 4, FLAG => 5, NO_ARGS => 6, TAKE12 => 7,
    TAKE3 => 8, TAKE23 => 9, TAKE123 => 10, TAKE13 => 11, METHODS => 27,
);
my @methods = qw(GET PUT POST DELETE CONNECT OPTIONS TRACE PATCH PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK);
$value{"M_$methods[$_]"} = $_ for 0 .. $#methods;
$value{M_INVALID} = 26;    # as the engine numbers a method that it does not know

my %http = (
    CONTINUE => 100, SWITCHING_PROTOCOLS => 101, PROCESSING => 102, OK => 200, CREATED => 201, ACCEPTED => 202,
    NON_AUTHORITATIVE => 203, NO_CONTENT => 204, RESET_CONTENT => 205, PARTIAL_CONTENT => 206, MULTI_STATUS => 207,
    MULTIPLE_CHOICES => 300, MOVED_PERMANENTLY => 301, MOVED_TEMPORARILY => 302, SEE_OTHER => 303,
    NOT_MODIFIED => 304, USE_PROXY => 305, TEMPORARY_REDIRECT => 307, BAD_REQUEST => 400, UNAUTHORIZED => 401,
    PAYMENT_REQUIRED => 402, FORBIDDEN => 403, NOT_FOUND => 404, METHOD_NOT_ALLOWED => 405, NOT_ACCEPTABLE => 406,
    PROXY_AUTHENTICATION_REQUIRED => 407, REQUEST_TIME_OUT => 408, CONFLICT => 409, GONE => 410,
    LENGTH_REQUIRED => 411, PRECONDITION_FAILED => 412, REQUEST_ENTITY_TOO_LARGE => 413,
    REQUEST_URI_TOO_LARGE => 414, UNSUPPORTED_MEDIA_TYPE => 415, RANGE_NOT_SATISFIABLE => 416,
    EXPECTATION_FAILED => 417, UNPROCESSABLE_ENTITY => 422, LOCKED => 423, FAILED_DEPENDENCY => 424,
    INTERNAL_SERVER_ERROR => 500, NOT_IMPLEMENTED => 501, BAD_GATEWAY => 502, SERVICE_UNAVAILABLE => 503,
    GATEWAY_TIME_OUT => 504, VERSION_NOT_SUPPORTED => 505, VARIANT_ALSO_VARIES => 506, INSUFFICIENT_STORAGE => 507,
    NOT_EXTENDED => 510,
);
$value{"HTTP_$_"} = $http{$_} for keys %http;
$groups{http}           = [ map { "HTTP_$_" } sort { $http{$a} <=> $http{$b} } keys %http ];
$groups{response_codes} = [ @{ $groups{common} }, @{ $groups{response} } ];

our %EXPORT_TAGS = %groups;
our @EXPORT      = @{ $groups{common} };
our @EXPORT_OK   = do { my %seen; grep { !$seen{$_}++ } map { @$_ } @groups{ sort keys %groups } };

for my $name (keys %value) {
    my $constant = $value{$name};
    no strict 'refs';
    *$name = sub () { $constant };
}

sub SERVER_VERSION () { return $ENV{SERVER_SOFTWARE} || ($INC{'Apache.pm'} && Apache->server_version) || 'Apache' }
sub SERVER_BUILT ()   { require Apache2::ServerUtil; return Apache2::ServerUtil::get_server_built() }

# The name of a status, and mod_perl 1's way to name one that only Apache knows.
sub name {
    my ($self, $wanted) = @_;
    for my $name (@{ $groups{common} }, @{ $groups{response} }, @{ $groups{http} }) {
        return $name if $value{$name} == $wanted;
    }
    return;
}

sub import {
    my ($class, @wanted) = @_;
    my $to = caller;
    return if @wanted && $wanted[0] eq '-compile';    # they exist; nothing is exported
    @wanted = @EXPORT unless @wanted;
    no strict 'refs';
    for my $name (map { /^:(\w+)$/ ? @{ $groups{$1} || unknown(":$1") } : s/^&//r } @wanted) {
        defined &{"$class\::$name"} or unknown($name);
        *{"$to\::$name"} = \&{"$class\::$name"};
    }
    return;
}

sub export { my ($class, @names) = @_; push @EXPORT_OK, @names; return }

sub unknown {
    my $name = shift;
    require Carp;
    Carp::croak("Apache::Constants has no constant '$name'");
}

1;
