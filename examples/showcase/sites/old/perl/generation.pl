# What a program of mod_perl 1 sees.
my $r = Apache->request;
$r->send_http_header('text/html; charset=utf-8');
print "<p>Worker $$ runs as uid $> and sees <code>$ENV{MOD_PERL}</code>; its request is an <code>", ref $r, "</code>.</p>";
