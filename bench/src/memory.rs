//! A warm worker's own memory, in Hostler and in Apache's mod_perl and mod_php: four of each, all of which have served
//! requests.

use crate::Options;
use crate::drive::{Page, float};
use crate::figures::Figure;
use crate::report::Report;
use crate::stage::{Stage, present, title};
use anyhow::Result;
use hostler_lab::contestant::{ProcessMemory, Running};

const WORKERS: u32 = 4;

/// Needs what programs of its time need.
const SCRIPT: &str = "#!/usr/bin/perl
use strict;
use warnings;
use CGI ();
use DBI ();

my $query = CGI->new;
print $query->header('text/plain'), 'Hello';
";

const PRELOADED: &str = "<IfModule mod_perl.c>\nPerlModule CGI DBI\n</IfModule>\n";

/// The code that workers have loaded.
struct Case {
    title: &'static str,
    /// The figure that aims refer to.
    figure: Option<&'static str>,
    application: &'static str,
    configuration: &'static str,
    /// The pages they have served.
    paths: &'static [&'static str],
}

const CASES: [Case; 4] = [
    Case {
        title: "light handler",
        figure: Some("light"),
        application: "registry",
        configuration: "",
        paths: &["/light"],
    },
    Case {
        title: "a Registry script has loaded CGI.pm and DBI",
        figure: None,
        application: "registry",
        configuration: "",
        paths: &["/light", "/perl/modules.pl"],
    },
    Case {
        title: "the same, with both preloaded",
        figure: None,
        application: "registry",
        configuration: PRELOADED,
        paths: &["/light", "/perl/modules.pl"],
    },
    Case {
        title: "PHP, a hello",
        figure: Some("php"),
        application: "hello",
        configuration: "",
        paths: &["/php/hello.php"],
    },
];

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    let names = present(&["hostler", "apache-prefork"], report);
    let mut rows = Vec::new();
    for case in CASES {
        for name in &names {
            let mut stage = Stage::new(case.application, case.configuration)?;
            if case.application == "registry" {
                stage = stage.file("perl/modules.pl", SCRIPT)?;
            }
            // Outside of virtual hosts Hostler would bound the connections with it, too.
            stage.site.own.insert("apache".to_owned(), pool());
            let hostlers = stage.site.own.entry("hostler".to_owned()).or_default();
            hostlers.push_str(&format!("<VirtualHost *:@PORT@>\n{}</VirtualHost>\n", pool()));
            let server = stage.start(name)?;
            for path in case.paths {
                // More at a time than there are workers: none is left out.
                Page { server: &server, hosts: &[], path }.warm_up(16 * WORKERS, options.seconds())?;
            }
            let most = workers(&server).iter().map(|held| held.private).max().map_or(f64::NAN, float);
            if let Some(figure) = case.figure {
                report.figure(&format!("memory/{name}/{figure}"), Figure::of(most / 1_048_576.0));
            }
            rows.push(row(format!("{}: {}", title(name), case.title), &workers(&server), &server.held()));
        }
    }
    let about = "Memory of warm workers in MiB: what each of them holds alone (USS), and with its part of what it shares \
                 (PSS); the least and the most of all workers.";
    let head = ["what", "workers", "of its own (USS)", "PSS", "all processes (PSS)"];
    report.table(about, &head, &rows);
    Ok(())
}

/// A pool of exactly so many.
fn pool() -> String {
    ["StartServers", "MinSpareServers", "MaxSpareServers", "MaxRequestWorkers"]
        .map(|directive| format!("{directive} {WORKERS}\n"))
        .concat()
}

/// Processes of the same name as their parent: forked, and no other program since.
fn workers(server: &Running) -> Vec<ProcessMemory> {
    let all = server.held();
    let forked = |held: &&ProcessMemory| {
        all.iter().any(|parent| parent.pid == held.parent && parent.name == held.name)
    };
    all.iter().filter(forked).cloned().collect()
}

fn row(what: String, workers: &[ProcessMemory], all: &[ProcessMemory]) -> Vec<String> {
    let whole: u64 = all.iter().map(|held| held.proportional).sum();
    vec![
        what,
        workers.len().to_string(),
        range(workers.iter().map(|held| held.private)),
        range(workers.iter().map(|held| held.proportional)),
        mebibytes(whole),
    ]
}

fn range(bytes: impl Iterator<Item = u64> + Clone) -> String {
    match (bytes.clone().min(), bytes.max()) {
        (Some(least), Some(most)) => format!("{} to {}", mebibytes(least), mebibytes(most)),
        _ => "–".to_owned(),
    }
}

pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", crate::drive::float(bytes) / 1_048_576.0)
}
