# What the .t files use: they are programs in a handler, with the request in $r. Prints each failure, then "passed N".
package Check;

use strict;
use warnings;

my ($r, @failed, $count);

sub Check::File::ok {
    my ($true, $name) = @_;
    $count++;
    push @failed, "not ok: $name" unless $true;
    return $true;
}

sub Check::File::is {
    my ($got, $wanted, $name) = @_;
    $_ = defined ? "'$_'" : 'undef' for $got, $wanted;
    return Check::File::ok($got eq $wanted, "$name: got $got, wanted $wanted");
}

sub Check::File::like {
    my ($got, $pattern, $name) = @_;
    return Check::File::ok($got =~ $pattern, "$name: got '$got'");
}

sub Check::File::r { return $r }

our $file;

sub handler {
    ($r, @failed, $count) = (shift, ());
    open my $source, '<', $file or die "$file: $!";
    my $text = do { local $/; <$source> };
    eval "package Check::File; use strict; use warnings; my \$r = r();\n#line 1 \"$file\"\n$text\n1" or push @failed, "died: $@";
    $r->content_type('text/plain');
    $r->print(map { "$_\n" } @failed) if @failed;
    $r->print("passed $count\n") unless @failed;
    return 0;
}

1;
