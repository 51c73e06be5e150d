//! Response times at 80 % of what a server can do, alone and mixed: an open load, so that a request that has to wait is
//! counted from when it was to be sent. In windows, of which those count in which it was 80 % ([`crate::window`]).
//!
//! Of a mix nine in ten requests are light and one is heavy; what it takes follows from the two alone. *Sleepers* need no
//! processor but hold their worker, so a light request that waits for one shows in milliseconds. A file of nginx's at
//! the rate of the light page shows what the machine and the generator add.

use crate::Options;
use crate::drive::{Page, order};
use crate::report::Report;
use crate::stage::{Stage, present, title};
use crate::window::{Probes, SHARE, Window, Windows};
use anyhow::Result;
use hostler_lab::contestant::Running;
use hostler_lab::method::statistics::median;

/// Heavy requests of a mix.
const HEAVY: f64 = 0.1;
/// The rate of light requests beside sleepers, as a part of the rate at saturation, and the number of sleepers per
/// second.
const BESIDE_SLEEPERS: (f64, f64) = (0.25, 40.0);
/// Rounds of all servers; with `--quick`.
const ROUNDS: (u32, u32) = (12, 2);
/// Seconds of a probe and of a window. All together takes three and a half minutes.
const SECONDS: (f64, f64) = (0.25, 1.2);
/// The page requested from nginx.
const FILE: &str = "/file.txt";

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

/// The rows of a contestant: what they are about, and of which windows which page.
const ROWS: [(&str, usize, usize); 5] = [
    ("light", 0, 0),
    ("heavy", 1, 0),
    ("light of a mix", 2, 0),
    ("heavy of that mix", 2, 1),
    ("light beside requests that sleep 50 ms", 3, 0),
];

/// A server that runs Perl, with what was found of it.
struct Contestant {
    name: &'static str,
    server: Running,
    light: Probes,
    heavy: Probes,
    /// Light, heavy, a mix, beside sleepers.
    windows: [Windows; 4],
}

/// The machine's own: a file of nginx's.
struct Machine {
    server: Running,
    probes: Probes,
    windows: Windows,
}

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    let stage = Stage::new("registry", SLEEPERS)?.file("lib/Lab/Sleeper.pm", SLEEPER)?;
    let stage = stage.file(&format!("htdocs{FILE}"), &"x".repeat(4096))?;
    let mut contestants = Vec::new();
    for name in present(&["hostler", "apache-prefork"], report) {
        contestants.push(Contestant::start(name, &stage, options)?);
    }
    let mut machine = None;
    for name in present(&["nginx"], report) {
        machine = Some(Machine::start(name, &stage, options)?);
    }
    let rounds = if options.quick { ROUNDS.1 } else { ROUNDS.0 };
    for round in 0..rounds {
        for turn in order(round, contestants.len()) {
            contestants[turn].round()?;
        }
        if let Some(machine) = &mut machine {
            machine.round(contestants.first().map_or(f64::INFINITY, |first| first.light.rate()))?;
        }
    }
    tell(&contestants, machine.as_ref(), report);
    Ok(())
}

fn tell(contestants: &[Contestant], machine: Option<&Machine>, report: &mut Report) {
    let windows = contestants.iter().flat_map(|contestant| &contestant.windows);
    let windows = windows.chain(machine.map(|machine| &machine.windows));
    let usual = median(&windows.flat_map(Windows::speeds).collect::<Vec<_>>()).unwrap_or(0.0);
    let row = |what: String, windows: &Windows, page| [vec![what], windows.cells(page, usual)].concat();
    let mut rows = Vec::new();
    for (what, kind, page) in ROWS {
        for contestant in contestants {
            let what = format!("{}: {what}", title(contestant.name));
            rows.push(row(what, &contestant.windows[kind], page));
        }
    }
    for contestant in contestants {
        if let Some(figure) = contestant.windows[0].tail(0, usual) {
            report.figure(&format!("steady/{}/light", contestant.name), figure);
        }
    }
    if let Some(figure) = machine.and_then(|machine| machine.windows.tail(0, usual)) {
        report.figure("steady/machine", figure);
    }
    if let Some(machine) = machine {
        rows.push(row("nginx: a file of 4 KB at the rate of the first row".into(), &machine.windows, 0));
    }
    let about = "At 80 % of each server's own rate at saturation, in windows of 1.2 s with a probe of the saturation before \
                 and after each: times from when a request was to be sent, in ms, of all windows that count. A window does \
                 not count in which it was more than 90 % of the probe after it, or not all was answered (overload), or in \
                 which the machine was slower than usual. Of a mix one request in ten is heavy; beside sleepers light ones \
                 come at a quarter of the saturation's rate.";
    let head = ["what", "requests/s", "p50", "p99", "p99.9", "p99.9 : p50 (single windows)", "windows"];
    report.table(about, &head, &rows);
}

impl Contestant {
    fn start(name: &'static str, stage: &Stage, options: &Options) -> Result<Self> {
        let server = stage.start(name)?;
        for path in ["/light", "/heavy", "/sleeper"] {
            Page { server: &server, hosts: &[], path }.warm_up(64, options.seconds() / 2.0)?;
        }
        let (light, heavy) = Default::default();
        let mut contestant = Self { name, server, light, heavy, windows: Default::default() };
        contestant.probe()?;
        Ok(contestant)
    }

    fn probe(&mut self) -> Result<()> {
        let page = |path| Page { server: &self.server, hosts: &[], path };
        self.light.take(&page("/light"), SECONDS.0)?;
        self.heavy.take(&page("/heavy"), SECONDS.0)
    }

    /// A window of each kind.
    fn round(&mut self) -> Result<()> {
        self.probe()?;
        for kind in 0..self.windows.len() {
            let (most_light, most_heavy) = (self.light.rate(), self.heavy.rate());
            let page = |path| Page { server: &self.server, hosts: &[], path };
            let (light, heavy, sleeper) = (page("/light"), page("/heavy"), page("/sleeper"));
            let mix = SHARE / ((1.0 - HEAVY) / most_light + HEAVY / most_heavy);
            let (share, sleepers) = BESIDE_SLEEPERS;
            let window = match kind {
                0 => Window::run(&[(light, SHARE * most_light)], SECONDS.1),
                1 => Window::run(&[(heavy, SHARE * most_heavy)], SECONDS.1),
                2 => Window::run(&[(light, mix * (1.0 - HEAVY)), (heavy, mix * HEAVY)], SECONDS.1),
                _ => Window::run(&[(light, most_light * share), (sleeper, sleepers)], SECONDS.1),
            }?;
            self.probe()?;
            let (light, heavy) = (&self.light, &self.heavy);
            let probes: &[&Probes] = match kind {
                1 => &[heavy],
                2 => &[light, heavy],
                _ => &[light],
            };
            self.windows[kind].0.push(window.judged(probes));
        }
        Ok(())
    }
}

impl Machine {
    fn start(name: &str, stage: &Stage, options: &Options) -> Result<Self> {
        let server = stage.start(name)?;
        Page { server: &server, hosts: &[], path: FILE }.warm_up(64, options.seconds() / 2.0)?;
        Ok(Self { server, probes: Probes::default(), windows: Windows::default() })
    }

    /// `rate`: of another page at saturation.
    fn round(&mut self, rate: f64) -> Result<()> {
        let page = Page { server: &self.server, hosts: &[], path: FILE };
        self.probes.take(&page, SECONDS.0)?;
        let window = Window::run(&[(page, SHARE * rate.min(self.probes.rate()))], SECONDS.1)?;
        self.probes.take(&page, SECONDS.0)?;
        self.windows.0.push(window.judged(&[&self.probes]));
        Ok(())
    }
}
