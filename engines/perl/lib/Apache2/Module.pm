# Apache2::Module: modules of Perl's that add directives to the configuration, and what their lines have said. Programs also
# ask whether mod_perl and others are there: the chain has their names, and the directives of Perl's.
#
# The reader of the configuration learns the names (Hostler::Configure), and keeps the lines as calls. Each line belongs to
# a layer: what a section says, or a server outside of sections; layer 0 is the main server's. The warm parent makes the
# calls in the order of the lines; for a request the layers that apply are merged, from the outermost section on.
package Apache2::Module;

use strict;
use warnings;

our $VERSION = '2.000012';

my @chain = (qw(core http_core prefork), map { "mod_$_" } qw(perl alias auth_basic authn_file
    authz_core authz_host authz_user autoindex cgi deflate dir env expires headers include log_config logio mime
    negotiation rewrite setenvif so ssl status unixd userdir version));
my %there = map { ($_ => 1) } @chain;

# Perl modules that add directives are there by their names.
my %commands;    # class => { name in lower case => Apache2::Command }

# What ends as a file of C, or of its machine code, is a module of the server's; another name is a module of Perl's, which has
# been loaded or not.
sub loaded {
    my $file = $_[-1];
    return 1 if exists $commands{$file};
    return $there{$file} ? 1 : 0 if $file =~ s/\.(?:c|so)\z//;
    return exists $INC{ ($file =~ s{::|'}{/}gr) . '.pm' } ? 1 : 0;
}

# The chain: what was loaded last comes first, as in Apache; so Perl's modules stand before the server's.
sub _chain { return (sort(keys %commands), map { "$_.c" } reverse @chain) }

sub _named {
    my $name = shift;
    return defined $name ? bless({ name => $name }, __PACKAGE__) : undef;
}

sub top_module { return _named((_chain())[0]) }
sub name       { return $_[0]{name} }

sub next {
    my $module = shift;
    my @names = _chain();
    while (@names) { return _named($names[0]) if shift @names eq $module->{name} }
    return;
}

sub module_index {
    my $module = shift;
    my @names = reverse _chain();
    for my $at (0 .. $#names) { return $at if $names[$at] eq $module->{name} }
    return -1;
}

# The directives of a module of Perl's; those of the server's own modules are the front's, and not told.
my %first;    # class => its first Apache2::Command
sub cmds { return $first{ $_[0]{name} } }

sub ap_api_major_version  { return 20120211 }
sub ap_api_minor_version  { return 140 }

sub find_linked_module {
    my $name = $_[-1];
    return (grep { $_ eq $name } _chain()) ? _named($name) : undef;
}

my %layers;      # class => { layer => object }
my %servers;     # class => { server's number => object }
my %merged;      # class => { server's number => object }, once requests are served

my %failed;      # class => why one of its lines could not be carried out

# A line is being carried out: servers are not merged yet.
our $saying;

# add(package, directives): each a hash with name, func, args_how, req_override, errmsg, cmd_data.
sub add {
    my ($class, $directives) = @_;
    my $last;
    for my $given (@$directives) {
        my $name = $given->{name};
        die "Apache2::Module::add: a directive of $class has no name\n" unless defined $name && length $name;
        my $command = bless {
            name         => $name,
            func         => $given->{func} // $name,
            args_how     => _number($given->{args_how} // 1,      "$name has no args_how"),
            req_override => _number($given->{req_override} // 31, "$name has no req_override"),
            errmsg       => $given->{errmsg} // "$name command",
            cmd_data     => $given->{cmd_data},
        }, 'Apache2::Command';
        $last->{next} = $command if $last;
        $first{$class} //= $command;
        $last = $commands{$class}{ lc $name } = $command;
        _declare($class, $command);
    }
    require Apache2::Command;
    require Apache2::CmdParms;
    return;
}

# A constant, or its name.
sub _number {
    my ($given, $lacks) = @_;
    return $given if $given =~ /\A\d+\z/;
    require Apache2::Const;
    my $word = $given =~ s/\A(?:Apache2::Const::)?(?:OPT_)?//r;
    my $code = eval { Apache2::Const->import('-compile', $word); Apache2::Const->can($word) };
    die "Apache2::Module::add: the directive $lacks '$given'\n" unless $code;
    return $code->();
}

# For the reader of the configuration.
sub _declare {
    my ($class, $command) = @_;
    my @words = ($class, map { s/[\t\r\n]/ /gr } @$command{qw(name args_how req_override errmsg)});
    no warnings 'once';
    $Hostler::Configure::declared .= join("\t", @words) . "\n" if exists $INC{'Hostler/Configure.pm'};
    return;
}

sub _server_of {
    my $number = shift;
    my ($main) = Apache2::ServerUtil->server;
    for (my $s = $main; $s; $s = $s->next) { return $s if Hostler::Server::id($s) == $number }
    return $main;
}

# What the class makes of a new section or server.
sub _made {
    my ($class, $method, $parms) = @_;
    my $code = $class->can($method);
    return $code ? $class->$code($parms) : bless {}, $class;
}

sub _main_parms {
    require Apache2::ServerUtil;
    return bless { server => scalar _server_of(0), override => 150 }, 'Apache2::CmdParms';
}

sub _layer  { my ($class, $n, $parms) = @_; return $layers{$class}{$n}  //= _made($class, 'DIR_CREATE',    $parms || _main_parms()) }
sub _server { my ($class, $n, $parms) = @_; return $servers{$class}{$n} //= _made($class, 'SERVER_CREATE', $parms || _main_parms()) }

# Without a method of its own the inner one replaces the outer one.
sub _over {
    my ($class, $method, $base, $add) = @_;
    my $code = $class->can($method) or return $add;
    return $code->($base, $add);
}

# A line of the configuration: [class, name, path, file, line, override, arguments as written, arguments,
# place].
sub _say {
    my ($object, $number, $call, $parms) = @_;
    my ($class, $name) = @$call;
    my $command  = $commands{$class}{ lc $name };
    my $function = $command->{func};
    no strict 'refs';
    my $code = defined &$function ? \&$function : $class->can($function)
        or die "$name: $class has no function $function\n";
    local $saying = 1;
    local $parms->{said} = { $class => $object };
    local $Hostler::Calls::refused;
    return if eval { $code->($object, $parms, @{ $call->[7] }); 1 };
    my $why = "$name: $@";
    die $why if !$Hostler::Calls::refused || $Hostler::Calls::refused =~ /add_config/;
    # A call that Hostler does not have: who asks the module for its settings cannot be told them. Others can be served.
    warn $why;
    $failed{$class} //= $why;
    return;
}

sub _parms {
    my ($number, $call) = @_;
    my ($class, $name, $path, $file, $line, $override, $args, undef, $place) = @$call;
    my $command = $commands{$class}{ lc $name } or die "$name: the module $class, which adds it, is not loaded\n";
    require Apache2::ServerUtil;
    require Apache2::Directive;
    my $directive = bless { directive => $name, args => $args, filename => $file, line_num => $line, is_line => 1 }, 'Apache2::Directive';
    return bless {
        path     => $path,     server => scalar _server_of($number), info      => $command->{cmd_data},
        override => $override, cmd    => $command,                   directive => $directive, place => $place,
    }, 'Apache2::CmdParms';
}

# Virtual hosts of this pool: number in the configuration => place among the pool's.
my %place;
sub _places { %place = @_; return }

# In the warm parent, for each line.
sub _said {
    my ($layer, $server, $call) = @_;
    my $number = $place{$server} // die "the virtual host $server is not one of this pool's\n";
    my ($class, $parms) = ($call->[0], _parms($number, $call));
    my $object = _layer($class, $layer, $parms);
    _server($class, $number, $parms);
    return _say($object, $number, $call, $parms);
}

# A layer of .htaccess: its lines are carried out for each request.
sub _said_now {
    my ($class, $number, $calls) = @_;
    my $object;
    for my $call (grep { $_->[0] eq $class } @$calls) {
        my $parms = _parms($number, $call);
        $object //= _made($class, 'DIR_CREATE', $parms);
        _say($object, $number, $call, $parms);
    }
    return $object;
}

sub _directory {
    my ($class, $vector) = @_;
    return $vector->{merged}{$class} //= do {
        my $merged = _layer($class, 0);
        # The text is the front's: numbers, and quoted words.
        my @layers = defined $vector->{layers} ? @{ eval "[$vector->{layers}]" || [] } : ();
        for my $layer (grep { ref || $_ } @layers) {
            my $add = ref $layer ? _said_now($class, $vector->{server}, $layer) : $layers{$class}{$layer};
            $merged = _over($class, 'DIR_MERGE', $merged, $add) if defined $add;
        }
        $merged;
    };
}

# get_config(package or object, server, directory): what the module's directives have said; without a directory, to the server.
sub get_config {
    my ($class, $s, $vector) = @_;
    $class = ref $class || $class;
    return undef unless $commands{$class};    # a scalar in lists as well, as in mod_perl
    die "the settings of $class are not known: $failed{$class}" if $failed{$class};
    return $vector->{said}{$class} if ref $vector && exists $vector->{said};
    return _directory($class, $vector) if ref $vector && exists $vector->{layers};
    my $number = $s ? Hostler::Server::id($s) : 0;
    my $main = _server($class, 0);
    return $main if !$number;
    my $own = $servers{$class}{$number};
    return $own if $saying;
    return $main unless defined $own;
    return $merged{$class}{$number} //= _over($class, 'SERVER_MERGE', $main, $own);
}

require Hostler::Calls;

1;
