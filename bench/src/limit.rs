//! The heavy handler and Registry script beside the same work without any server, on all processors at once.

use crate::Options;
use crate::drive::{Page, Rounds, Sample, order};
use crate::report::Report;
use crate::stage::{Stage, present, title};
use anyhow::Result;
use hostler_lab::application::bare_work_everywhere;
use hostler_lab::contestant::Running;

const PROGRAMS: [(&str, &str); 2] =
    [("heavy handler", "/heavy"), ("heavy Registry script", "/perl/heavy.pl")];
const CLIENTS: u32 = 15;

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    let stage = Stage::new("registry", "")?;
    let mut servers: Vec<(&str, Running)> = Vec::new();
    for name in present(&["hostler", "apache-prefork"], report) {
        servers.push((name, stage.start(name)?));
    }
    let cases: Vec<(String, Page<'_>)> = servers
        .iter()
        .flat_map(|(name, server)| PROGRAMS.map(|(program, path)| (*name, server, program, path)))
        .map(|(name, server, program, path)| {
            (format!("{}: {program}", title(name)), Page { server, hosts: &[], path })
        })
        .collect();
    for (_, page) in &cases {
        page.warm_up(CLIENTS, options.seconds())?;
    }
    let processors = u32::try_from(std::thread::available_parallelism()?.get())?;
    let (mut bare, mut found) = (Rounds::default(), vec![Rounds::default(); cases.len()]);
    for round in 0..options.rounds() {
        // The bare work has its turn as the others have.
        for turn in order(round, cases.len() + 1) {
            match cases.get(turn) {
                Some((_, page)) => found[turn].0.push(page.closed(CLIENTS, options.seconds())?),
                None => bare.0.push(without_server(processors, options.seconds())?),
            }
        }
    }
    let about = format!(
        "Heavy work, {CLIENTS} clients, beside the same Perl without any server or generator on all {processors} \
         processors at once (part of it, with its 95 % interval):"
    );
    let head = ["what", "a second", "of the bare work's rate", "processor time for each, of the bare work's"];
    let own = [
        format!("bare work, {processors} processes"),
        format!("{:.0}", bare.middle(rate)),
        "1".into(),
        "1".into(),
    ];
    let names = cases.iter().map(|(name, _)| name.clone());
    for ((server, _, path), found) in servers
        .iter()
        .flat_map(|(name, _)| PROGRAMS.map(|(program, path)| (*name, program, path)))
        .zip(&found)
    {
        let program = if path == "/heavy" { "handler" } else { "registry" };
        for (what, of) in [("rate", rate as fn(&Sample) -> f64), ("processor", processor)] {
            if let Some(figure) = found.ratio(of, &bare, of).filter(|_| server == "hostler") {
                report.figure(&format!("limit/{program}/{what}"), figure);
            }
        }
    }
    let rows = names.zip(&found).map(|(name, found)| row(name, found, &bare));
    report.table(&about, &head, &std::iter::once(own.to_vec()).chain(rows).collect::<Vec<_>>());
    Ok(())
}

fn without_server(processors: u32, seconds: f64) -> Result<Sample> {
    let bare = bare_work_everywhere(processors, seconds)?;
    Ok(Sample { rate: bare.rate, processor: bare.processor, ..Sample::default() })
}

fn row(mut name: String, found: &Rounds, bare: &Rounds) -> Vec<String> {
    if found.failed() > 0 {
        name.push_str(&format!(", {} failed", found.failed()));
    }
    let rates = found.against(rate, bare, rate);
    vec![name, format!("{:.0}", found.middle(rate)), rates, found.against(processor, bare, processor)]
}

fn rate(sample: &Sample) -> f64 {
    sample.rate
}

fn processor(sample: &Sample) -> f64 {
    sample.processor
}
