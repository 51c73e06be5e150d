//! Response times at 80 % of what a server can do, alone and mixed: an open load, so that a request that has to wait is
//! counted from when it was to be sent.
//!
//! The rate follows from a saturation just before, in each round anew. Of a mix nine in ten requests are light and one
//! is heavy; what it takes follows from the two alone. *Sleepers* need no processor but hold their worker, so a light
//! request that waits for one shows in milliseconds.

use crate::Options;
use crate::drive::{Page, Rounds, Sample, order};
use crate::report::Report;
use crate::stage::{Stage, present, title};
use anyhow::Result;
use hostler_lab::contestant::Running;

/// Of the rate at saturation.
const SHARE: f64 = 0.8;
/// Heavy requests of a mix.
const HEAVY: f64 = 0.1;
/// What light requests beside sleepers are of the rate at saturation, and how many sleepers there are a second.
const BESIDE_SLEEPERS: (f64, f64) = (0.25, 40.0);
/// Each takes long.
const ROUNDS: u32 = 6;
/// Clients at saturation.
const CLIENTS: u32 = 15;

const SLEEPER: &str = r"package Lab::Sleeper;

# Holds its worker for 50 milliseconds and needs no processor.
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO  ();
use Apache2::Const -compile => 'OK';

sub handler {
    my $r = shift;
    select undef, undef, undef, 0.05;
    $r->content_type('text/plain');
    $r->print('Hello');
    return Apache2::Const::OK;
}

1;
";

/// Quirk(Apache prefork): a kept connection holds its process; with fewer processes than connections the others' requests
/// would wait for a connection to end, and not for the server.
const SLEEPERS: &str = r#"
<IfModule mpm_prefork_module>
    ServerLimit 1000
    MaxRequestWorkers 1000
</IfModule>
<IfModule mod_perl.c>
    PerlModule Lab::Sleeper
    <Location "/sleeper">
        SetHandler modperl
        PerlResponseHandler Lab::Sleeper
        Require all granted
    </Location>
</IfModule>
"#;

/// The rows of a contestant.
const ROWS: [&str; 5] =
    ["light", "heavy", "light of a mix", "heavy of that mix", "light beside requests that sleep 50 ms"];

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    let stage = Stage::new("registry", SLEEPERS)?.file("lib/Lab/Sleeper.pm", SLEEPER)?;
    let mut servers: Vec<(&str, Running)> = Vec::new();
    for name in present(&["hostler", "apache-prefork"], report) {
        servers.push((name, stage.start(name)?));
    }
    for (_, server) in &servers {
        for path in ["/light", "/heavy", "/sleeper"] {
            Page { server, hosts: &[], path }.warm_up(64, options.seconds())?;
        }
    }
    let mut found = vec![ROWS.map(|_| Rounds::default()); servers.len()];
    for round in 0..options.rounds().min(ROUNDS) {
        for turn in order(round, servers.len()) {
            let samples = one_round(&servers[turn].1, options)?;
            found[turn].iter_mut().zip(samples).for_each(|(rounds, sample)| rounds.0.push(sample));
        }
    }
    let rows = ROWS.iter().enumerate().flat_map(|(number, what)| {
        let found = &found;
        servers
            .iter()
            .enumerate()
            .map(move |(turn, (name, _))| row(format!("{}: {what}", title(name)), &found[turn][number]))
    });
    let about = "At 80 % of each server's own rate at saturation, which is measured just before: times from when a \
                 request was to be sent, in ms. Of a mix one request in ten is heavy; beside sleepers light ones come at \
                 a quarter of the saturation's rate.";
    let head = ["what", "requests/s", "p50", "p99", "p99.9", "p99.9 : p50 (95 % interval)"];
    report.table(about, &head, &rows.collect::<Vec<_>>());
    Ok(())
}

/// A sample for each of [`ROWS`].
fn one_round(server: &Running, options: &Options) -> Result<[Sample; 5]> {
    let page = |path| Page { server, hosts: &[], path };
    let (light, heavy, sleeper) = (page("/light"), page("/heavy"), page("/sleeper"));
    let long = options.seconds() * 2.0;
    let light_most = light.closed(CLIENTS, options.seconds())?.rate;
    let light_alone = light.open(SHARE * light_most, long)?;
    let heavy_most = heavy.closed(CLIENTS, options.seconds())?.rate;
    let heavy_alone = heavy.open(SHARE * heavy_most, long)?;
    let mix = SHARE / ((1.0 - HEAVY) / light_most + HEAVY / heavy_most);
    let (light_mixed, heavy_mixed) = at_once((light, mix * (1.0 - HEAVY)), (heavy, mix * HEAVY), long)?;
    let (share, sleepers) = BESIDE_SLEEPERS;
    let (beside, _) = at_once((light, light_most * share), (sleeper, sleepers), long)?;
    Ok([light_alone, heavy_alone, light_mixed, heavy_mixed, beside])
}

/// Two loads at the same time, each with its rate.
fn at_once(first: (Page<'_>, f64), second: (Page<'_>, f64), seconds: f64) -> Result<(Sample, Sample)> {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| second.0.open(second.1, seconds));
        let own = first.0.open(first.1, seconds)?;
        let other = other.join().unwrap_or_else(|_| anyhow::bail!("the second generator broke"))?;
        Ok((own, other))
    })
}

fn row(mut what: String, rounds: &Rounds) -> Vec<String> {
    if rounds.failed() > 0 {
        what.push_str(&format!(", {} failed", rounds.failed()));
    }
    let milliseconds = |figure: fn(&Sample) -> f64| format!("{:.2}", rounds.middle(figure) * 1e3);
    vec![
        what,
        format!("{:.0}", rounds.middle(|sample| sample.rate)),
        milliseconds(|sample| sample.p50),
        milliseconds(|sample| sample.p99),
        milliseconds(|sample| sample.p999),
        rounds.against(|sample| sample.p999, rounds, |sample| sample.p50),
    ]
}
