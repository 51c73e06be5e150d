# mod_perl 1's Apache::Status: pages about the interpreter that answers. Options (PerlSetVar): StatusDumper shows the values
# of variables, StatusDeparse and StatusTerse the code of functions, StatusOptionsAll all of them.
#
# The forms of B::Graph, B::Fathom, B::LexInfo, B::TerseSize and Apache::Peek are left out: those modules are not Perl's.
package Apache::Status;

use strict;
use warnings;
use Apache ();
use Apache::Constants qw(OK NOT_FOUND);
use Apache::Request ();
use Apache::Util ();

our $VERSION = '2.03';

my %page = (
    script   => [ q(PerlRequire'd Files),        \&files ],
    inc      => [ 'Loaded Modules',              \&modules ],
    rgysubs  => [ 'Compiled Registry Scripts',   \&scripts ],
    symdump  => [ 'Symbol Table Dump',           sub { symbols($_[0], 'main') } ],
    inh_tree => [ 'Inheritance Tree',            sub { tree(sub { parents($_[0]) }) } ],
    isa_tree => [ 'ISA Tree',                    sub { tree(children()) } ],
    env      => [ 'Environment',                 sub { listed(%ENV) } ],
    sig      => [ 'Signal Handlers',             sub { listed(map { $_ => named($SIG{$_}) } keys %SIG) } ],
    myconfig => [ 'Perl Configuration',          sub { require Config; preformatted(Config::myconfig()) } ],
    hooks    => [ 'Enabled mod_perl Hooks',      \&hooks ],
);
my %of_symbol = (
    cv_dump         => \&function,
    data_dump       => \&value,
    noh_b_deparse   => \&deparsed,
    noh_b_terse     => \&syntax_tree,
);

# menu_item($name => $title, sub { my ($r, $q) = @_; [lines of HTML] })
sub menu_item {
    my ($class, $name, $title, $lines) = @_;
    $page{$name} = [ $title, ref $lines eq 'CODE' ? $lines : undef ];
    return;
}

sub handler {
    my $r    = shift;
    my $name = $r->args // '';
    my $plain = $of_symbol{$name} && $name =~ /\Anoh_/;
    return text($r, $of_symbol{$name}->($r)) if $plain;
    head($r);
    return OK if $r->header_only;
    my $page  = $page{$name};
    my $lines = $page && $page->[1] ? $page->[1]->($r, Apache::Request->new($r))
        : $of_symbol{$name}         ? $of_symbol{$name}->($r)
        : is_package($name)         ? symbols($r, $name)
        :                             menu($r);
    $r->print(@$lines, "</body></html>\n");
    return OK;
}

sub head {
    my $r = shift;
    $r->send_http_header('text/html');
    return if $r->header_only;
    my $version = sprintf 'v%vd', $^V;
    my $server  = escaped(Apache::Constants::SERVER_VERSION());
    $r->print("<html>\n<head><title>Apache::Status</title></head>\n<body>\n",
        "Embedded Perl version <b>$version</b> for <b>$server</b> process <b>$$</b>,<br>\n",
        'running since ', scalar localtime $^T, "<hr>\n");
    return;
}

sub menu {
    my $r   = shift;
    my $uri = escaped($r->uri);
    return [ map { qq(<a href="$uri?$_">) . escaped($page{$_}[0]) . "</a><br>\n" } sort keys %page ];
}

# ---- the interpreter ----

sub modules {
    my $r    = shift;
    my $uri  = escaped($r->uri);
    my @rows = [qw(Package Version Modified File)];
    for my $file (sort grep { m{\.pm\z} && !m{\A/} && $INC{$_} } keys %INC) {
        my $module = $file =~ s{/}{::}gr =~ s{\.pm\z}{}r;
        my $version = do { no strict 'refs'; ${"${module}::VERSION"} } // '0.00';
        my $time = (stat $INC{$file})[9];
        push @rows, [ \qq(<a href="$uri?$module">$module</a>), $version, defined $time ? scalar localtime $time : '', $INC{$file} ];
    }
    return [ @{ table(@rows) }, "<p><b>\@INC</b> =<br>\n", join "<br>\n", map { escaped($_) } @INC ];
}

sub files {
    return table([ 'PerlRequire', 'Location' ], map { [ $_, $INC{$_} ] } sort grep { !/\.(?:pm|al|ix)\z/ } keys %INC);
}

sub scripts {
    my $r   = shift;
    my $uri = escaped($r->uri);
    return [ "<b>Click on package name to see its symbol table</b><p>\n",
        map { qq(<a href="$uri?$_">$_</a><br>\n) } sort keys %{ $Apache::Registry || {} } ];
}

sub hooks {
    my @names = qw(Access Authen Authz ChildExit ChildInit Cleanup Fixup HeaderParser Init Log PostReadRequest Trans Type
        StackedHandlers MethodHandlers DirectiveHandlers SSI PerlSections);
    return table(map { [ $_, Apache::perl_hook($_) ? 'Enabled' : 'Disabled' ] } sort @names);
}

sub named {
    my $handler = shift // '';
    return $handler unless ref $handler eq 'CODE';
    require B;
    my $glob = B::svref_2object($handler)->GV;
    return '\&' . $glob->STASH->NAME . '::' . $glob->NAME;
}

# ---- packages ----

sub is_package {
    my $name = shift;
    no strict 'refs';
    return $name =~ /\A\w+(?:::\w+)*\z/ && scalar %{"${name}::"};
}

# All packages below one, with it.
sub packages {
    my ($name, $seen) = (@_, {});
    my @all = $name;
    no strict 'refs';
    for my $below (sort grep { /\A\w+::\z/ } keys %{"${name}::"}) {
        my $full = ($name eq 'main' ? '' : "${name}::") . $below =~ s/::\z//r;
        push @all, packages($full, $seen) unless $full eq 'main' || $seen->{$full}++;
    }
    return @all;
}

sub parents { no strict 'refs'; return @{"$_[0]::ISA"} }

# A function that has the children of a class.
sub children {
    my %of;
    for my $class (packages('main')) { push @{ $of{$_} }, $class for parents($class) }
    return sub { @{ $of{ $_[0] } || [] } };
}

# What every package leads to, with as many tabulators before it as steps.
sub tree {
    my $next = shift;
    my $lines;
    $lines = sub {
        my ($class, $depth) = @_;
        return "\t" x $depth . "$class\n", $depth < 50 ? map { $lines->($_, $depth + 1) } $next->($class) : ();
    };
    return preformatted(map { $lines->($_, 0) } grep { $next->($_) } packages('main'));
}

my @kinds = ([ scalars => 'SCALAR' ], [ arrays => 'ARRAY' ], [ hashes => 'HASH' ], [ functions => 'CODE' ], [ filehandles => 'IO' ]);

# The names in a package, by kind.
sub symbols {
    my ($r, $package) = @_;
    my $uri   = escaped($r->uri);
    my $stash = do { no strict 'refs'; \%{"${package}::"} };
    my %found;
    for my $name (sort grep { /\A\w+\z/ } keys %$stash) {
        my $glob = \$stash->{$name};
        $glob = do { no strict 'refs'; \*{"${package}::$name"} } if ref $glob ne 'GLOB';
        for my $kind (map { $_->[1] } @kinds) {
            my $there = *{$glob}{$kind};
            push @{ $found{$kind} }, $name if $kind eq 'SCALAR' ? defined $$there : $there;
        }
    }
    my @rows = ([ 'packages', \join ', ', map { my $full = $package eq 'main' ? $_ : "${package}::$_"; qq(<a href="$uri?$full">$full</a>) }
                map { s/::\z//r } sort grep { /\A\w+::\z/ } keys %$stash ]);
    for my $kind (@kinds) {
        my ($title, $type) = @$kind;
        push @rows, [ $title, \join ', ', map { symbol($r, "${package}::$_", $type) } @{ $found{$type} || [] } ];
    }
    return table(grep { length ${ $_->[1] } } @rows);
}

# A name, with a link to what there is to see of it.
sub symbol {
    my ($r, $name, $type) = @_;
    my $short = $name =~ s/.*:://r;
    my $page  = $type eq 'CODE' ? 'cv_dump' : $type ne 'IO' && is_on($r, 'StatusDumper') ? 'data_dump' : return $short;
    return '<a href="' . escaped($r->location // $r->uri) . qq(/$name/$type?$page">$short</a>);
}

# ---- one symbol: .../NAME/TYPE?page ----

sub is_on {
    my ($r, $option) = @_;
    return grep { lc($r->dir_config($_) // '') eq 'on' } $option, 'StatusOptionsAll';
}

# Its name, where the URL names one of that kind that there is.
sub asked {
    my ($r, $kinds) = @_;
    my ($name, $type) = $r->uri =~ m{/(\w+(?:::\w+)*)/(SCALAR|ARRAY|HASH|CODE)\z} or return;
    no strict 'refs';
    my $reference = grep({ $_ eq $type } @$kinds) ? *{$name}{$type} : undef;
    return $reference ? ($name, $reference, $type) : ();
}

sub function {
    my $r = shift;
    my ($name, $code) = asked($r, ['CODE']) or return ['There is no such function.'];
    require B;
    my $object = B::svref_2object($code);
    my $glob   = $object->GV;
    my $place  = escaped($r->location // '');
    my $more   = join '', map { is_on($r, $_->[0]) ? qq(<a href="$place/$name/CODE?$_->[1]">$_->[2]</a>\n) : () }
        [ StatusDeparse => 'noh_b_deparse', 'Deparse' ], [ StatusTerse => 'noh_b_terse', 'Syntax Tree Dump' ];
    return [ "Subroutine info for <b>$name</b>\n<pre>\n",
        escaped(join '', 'File: ', $object->FILE // '', "\nPackage: ", $glob->STASH->NAME, "\nLine: ", $glob->LINE,
            "\nPrototype: ", prototype($code) // 'none', "\nXSUB: ", $object->XSUB ? 'yes' : 'no', "\n"),
        $more, "</pre>\n" ];
}

sub value {
    my $r = shift;
    return ['StatusDumper is off.'] unless is_on($r, 'StatusDumper');
    my ($name, $reference, $type) = asked($r, [qw(SCALAR ARRAY HASH)]) or return ['There is no such variable.'];
    require Data::Dumper;
    local $Data::Dumper::Sortkeys = 1;
    return [ "Data Dump of $name $type\n", @{ preformatted(Data::Dumper->Dump([$reference], ["*$name"])) } ];
}

sub deparsed {
    my $r = shift;
    return unless is_on($r, 'StatusDeparse');
    my ($name, $code) = asked($r, ['CODE']) or return;
    require B::Deparse;
    return "Deparse of $name\n\nsub $name " . B::Deparse->new(split ' ', $r->dir_config('StatusDeparseOptions') // '')->coderef2text($code) . "\n";
}

sub syntax_tree {
    my $r = shift;
    return unless is_on($r, 'StatusTerse');
    my ($name, $code) = asked($r, ['CODE']) or return;
    require B::Concise;
    my $tree = '';
    B::Concise::walk_output(\$tree);
    B::Concise::compile('-terse', '-exec', $code)->();
    return "Syntax Tree Dump of $name\n\n$tree";
}

# ---- HTML ----

sub escaped { return Apache::Util::escape_html($_[0] // '') }

# Rows of cells; a reference to a string is HTML already.
sub table {
    my $row = sub { join '', '<tr>', (map { '<td>' . (ref ? $$_ : escaped($_)) . '</td>' } @{ $_[0] }), "</tr>\n" };
    return [ "<table border=1>\n", (map { $row->($_) } @_), "</table>\n" ];
}

sub listed { my %all = @_; return preformatted(map { "$_ = " . ($all{$_} // '') . "\n" } sort keys %all) }

sub preformatted { return [ '<pre>', escaped(join '', @_), '</pre>' ] }

# A page of plain text; without one there is nothing to see.
sub text {
    my ($r, $text) = @_;
    return NOT_FOUND unless defined $text;
    $r->send_http_header('text/plain');
    $r->print($text) unless $r->header_only;
    return OK;
}

1;
