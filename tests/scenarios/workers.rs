//! Pools of warm workers, seen from outside: how many there are, who waits for whom, what comes and goes. What
//! happens when they misbehave is in `faults::workers`.

mod closed;
mod includes;
mod kept;
mod logged;
mod one_shot;
mod parts;
mod pools;
mod redirects;
mod reload;
mod run_once;
mod tenants;
mod trips;

use crate::faults::{await_that, process};
use hostler_tests::{Server, Site};

/// Functions that answer `/w/NAME?ARGUMENT`.
const MODULE: &str = r#"package W;
use strict; use warnings;
use POSIX (); use Time::HiRes ();
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::Const -compile => 'OK';
our ($count, $child) = (0, 'no child init');
sub text { my ($r, @text) = @_; $r->content_type('text/plain'); $r->print(@text); Apache2::Const::OK }
sub handler {
    my $r = shift;
    my ($name) = $r->uri =~ m{^/w/(\w+)} or return 404;
    my $code = W->can($name) or return 404;
    $code->($r, $r->args // '');
}
sub hello { text($_[0], 'hello') }
sub pid { text($_[0], $$) }
sub nap { Time::HiRes::sleep($_[1] || 0.02); text($_[0], $$) }
sub state { text($_[0], join ' ', $$, ++$count, $child, rand) }
sub init { $child = "born$$" }
sub dump { my $r = shift; $r->content_type('text/plain'); my $x = 'x' x 65536; $r->print($x) for 1 .. 160; 0 }
sub breaks {
    my $r = shift;
    text($r, 'half');
    $r->rflush;
    if ($_[0] eq 'later') { Time::HiRes::sleep(0.01) until -e $r->document_root . '/now' }
    kill 9, $$;
    sleep 9;
}
sub leaves { my $r = shift; warn "leaving\n"; text($r, 'never'); POSIX::_exit($_[0] || 3) }
sub interim { my $r = shift; $r->status($_[0]); text($r, 'interim') }
sub raw { $_[0]->assbackwards(1); $_[0]->print("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore"); 0 }
sub stops { kill 'STOP', $$; text($_[0], 'went on') }
sub closes { POSIX::close($_) for 3 .. 63; text($_[0], 'closed') }
sub garbage {
    my $junk = join '', map { chr int rand 256 } 1 .. 4096;
    POSIX::write($_, $junk, length $junk) for grep { $_ != 2 } 3 .. 63;
    text($_[0], 'written');
}
sub floods {
    my @bells = grep { (readlink("/proc/self/fd/$_") // '') =~ /eventfd/ } 3 .. 63;
    my $end = Time::HiRes::time() + ($_[1] || 2);
    while (Time::HiRes::time() < $end) { for my $bell (@bells) { POSIX::write($bell, pack('Q', 1), 8) for 1 .. 100 } }
    text($_[0], 'flooded ' . @bells);
}
sub eats { my @all; push @all, 'x' x 10_000_000 while @all < 200; text($_[0], 'eaten') }
sub spins { my $end = time + 20; 1 while time < $end; text($_[0], 'spun') }
sub forks {
    my @children;
    for (1 .. 200) {
        my $pid = fork;
        last unless defined $pid;
        if (!$pid) { sleep 20; POSIX::_exit(0) }
        push @children, $pid;
    }
    my $said = @children . " $!";
    kill 9, @children;
    waitpid $_, 0 for @children;
    text($_[0], $said);
}
1;
"#;

/// The module in the site's interpreters, and the status page. (`@ROOT@/lib` can be read by everybody.)
pub(crate) fn site(config: &str) -> Site {
    let text = "PerlSwitches -I@ROOT@/lib\nPerlModule W\n<Location /w>\nSetHandler modperl\nPerlResponseHandler W\n</Location>\n\
                <Location /server-status>\nSetHandler server-status\n</Location>\n\
                <Location /metrics>\nSetHandler hostler-metrics\n</Location>";
    Site::new().file("lib/W.pm", MODULE).file("htdocs/x", "x").config(text).config(config)
}

/// The same with these settings of the pool, in a virtual host.
pub(crate) fn pool(config: &str) -> Site {
    site(&format!("<VirtualHost *:@PORT@>\nServerName localhost\n{config}\n</VirtualHost>"))
}

/// The sum of a metric over all its labels that contain `label`.
pub(crate) fn metric(server: &Server, name: &str, label: &str) -> u64 {
    let text = server.get("/metrics").text();
    let lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let ours = lines.filter(|rest| rest.starts_with(['{', ' ']) && rest.contains(label));
    ours.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
}

/// Workers in a state: `starting`, `idle`, `busy`, `ending`; empty: in all.
pub(crate) fn count(server: &Server, state: &str) -> u64 {
    metric(server, "hostler_pool_workers", state)
}

/// The engines' parent processes.
pub(crate) fn parents(server: &Server) -> Vec<u32> {
    let sites = process::named(server, "hostler-site").into_iter();
    let mut found: Vec<u32> = sites.flat_map(process::children).collect();
    found.retain(|pid| process::command_line(*pid).starts_with("hostler-perl"));
    found
}

/// The workers of all pools.
pub(crate) fn workers(server: &Server) -> Vec<u32> {
    parents(server).into_iter().flat_map(process::children).filter(|pid| process::runs(*pid)).collect()
}

/// Waits until the pool has so many idle workers and none is busy.
pub(crate) fn await_idle(server: &Server, workers: u64) {
    await_that("workers fall idle", || count(server, "idle") == workers && count(server, "busy") == 0);
}
