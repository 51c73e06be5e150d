# ModPerl::Util: leaving a program, packages, and what is running. exit is in C (glue/exit.c).
package ModPerl::Util;

use strict;
use warnings;

our $VERSION = '2.000012';

my @phases = map { "Perl${_}Handler" } qw(PostReadRequest Trans MapToStorage HeaderParser Access Authen Authz Type Fixup
    Response Log Cleanup);

sub current_callback {
    my $r = Hostler::Request::current() or return '';
    my $phase = Hostler::Request::phase($r);
    return $phase >= 0 ? $phases[$phase] : '';
}

# One interpreter a process.
sub current_perl_id { return sprintf '0x%x', $$ }

sub untaint {
    for (@_) { $_ = $1 if defined && /\A(.*)\z/s }
    return;
}

# Forgets a package: its subs, its variables, and its packages' place in %INC. Others below it stay.
sub unload_package {
    my $package = shift;
    no strict 'refs';
    no warnings;
    for my $name (keys %{"$package\::"}) {
        next if $name =~ /::\z/;
        # In place: what is compiled elsewhere refers to the glob and finds what is loaded next. A new thing first:
        # the old one may be another package's, which has exported it.
        my $whole = "$package\::$name";
        *$whole = \my $nothing if defined $$whole;
        *$whole = [] if *{$whole}{ARRAY};
        *$whole = {} if *{$whole}{HASH};
        if (defined &$whole) {
            my $prototype = prototype $whole;
            *$whole = defined $prototype ? eval "sub ($prototype) {}" : sub { };
            undef &$whole;
        }
        close *{$whole}{IO} if *{$whole}{IO} && fileno *{$whole}{IO};
    }
    delete $INC{ $package =~ s{::}{/}gr . '.pm' };
    return;
}

sub unload_package_pp { return &unload_package }
sub unload_package_xs { return &unload_package }

# The name of a package's file.
sub package2filename { return $_[-1] =~ s{::}{/}gr . '.pm' }

1;
