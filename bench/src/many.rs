//! Many sites, each with a user of its own: started, asked in turn, and asked again.
//!
//! 500 with a Perl handler, three times: with everything at its default, with a budget of memory that is too small for all,
//! and with pools and site processes that end soon, so that in the end nothing but the configuration is left. 200 with a
//! script in PHP, which end soon, too.

use crate::Options;
use crate::drive::{float, target};
use crate::figures::Figure;
use crate::memory::mebibytes;
use crate::report::Report;
use crate::stage::{Stage, present};
use anyhow::{Result, ensure};
use hostler_lab::contestant::Running;
use hostler_lab::method::ask;
use hostler_lab::method::statistics::{median, spread};
use rustix::process::geteuid;
use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

/// The sites' users: numbers that no account has.
const FIRST_USER: u32 = 64_300;
/// The time limit for pools and sites to exit.
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST: &str = "each site's first request";

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    if present(&["hostler"], report).is_empty() {
        return Ok(());
    }
    if !geteuid().is_root() {
        report.absent("many sites", "needs root for a user for each");
        return Ok(());
    }
    // A site's pool takes about four megabytes.
    let sites = PERL.sites(options);
    let too_small = format!("HostlerMemory {}M\n", 2 * sites);
    let mut rows = case(&PERL, options, "", report)?;
    rows.extend(case(&PERL, options, &too_small, report)?);
    rows.extend(case(&PERL, options, SOON, report)?);
    rows.extend(case(&PHP, options, SOON, report)?);
    let about = format!(
        "{sites} sites with a Perl handler and {} with a script in PHP, a user for each, each asked once and then once more, \
         one after the other (processes and memory are of all of Hostler, PSS):",
        PHP.sites(options)
    );
    let head = [
        "what",
        "time to an answer",
        "answers",
        "processes",
        "MiB",
        "of it engines and workers",
        "lines in the error log",
    ];
    report.table(&about, &head, &rows);
    Ok(())
}

/// Pools and sites go by themselves.
const SOON: &str = "HostlerPoolIdle 5\nHostlerSiteIdle 5\n";

/// The technique of the sites.
struct Kind {
    title: &'static str,
    name: &'static str,
    application: &'static str,
    path: &'static str,
    /// The name of its engine's processes.
    engine: &'static str,
    sites: u32,
}

const PERL: Kind = Kind {
    title: "Perl",
    name: "perl",
    application: "registry",
    path: "/light",
    engine: "hostler-perl",
    sites: 500,
};

const PHP: Kind = Kind {
    title: "PHP",
    name: "php",
    application: "hello",
    path: "/php/hello.php",
    engine: "hostler-php",
    sites: 200,
};

impl Kind {
    fn sites(&self, options: &Options) -> u32 {
        if options.quick { self.sites / 8 } else { self.sites }
    }
}

/// Hostler at a moment: processes, and their memory (PSS); of them the engines' with their workers.
struct Look {
    processes: usize,
    memory: u64,
    engines: u64,
}

impl Look {
    fn at(server: &Running, kind: &Kind) -> Self {
        let all = server.held();
        let sum = |name: &str| {
            all.iter().filter(|held| held.name.starts_with(name)).map(|held| held.proportional).sum()
        };
        Self { processes: all.len(), memory: sum(""), engines: sum(kind.engine) }
    }
}

/// A walk over all sites: seconds to each answer, and how many were not what they should be.
struct Walk {
    seconds: Vec<f64>,
    wrong: Vec<String>,
}

/// The rows of a configuration.
fn case(
    kind: &Kind,
    options: &Options,
    configuration: &str,
    report: &mut Report,
) -> Result<Vec<Vec<String>>> {
    let sites = kind.sites(options);
    let words = match configuration {
        "" => "defaults".to_owned(),
        words => words.trim().replace('\n', ", "),
    };
    let title = format!("{}, {words}", kind.title);
    eprintln!("{sites} sites: {title}");
    let stage = Stage::new(kind.application, &format!("{configuration}{}", hosts(sites)))?;
    let server = stage.start("hostler")?;
    let log = stage.logs("hostler").join("error.log");
    let row = |what: &str, time: String, answers: String, look: &Look| {
        let lines = fs::read_to_string(&log).unwrap_or_default().lines().count();
        let (memory, engines) = (mebibytes(look.memory), mebibytes(look.engines));
        vec![
            format!("{title}: {what}"),
            time,
            answers,
            look.processes.to_string(),
            memory,
            engines,
            lines.to_string(),
        ]
    };
    let begin = Look::at(&server, kind);
    let mut rows = vec![row("started", format!("{:.0} ms", server.start_up * 1e3), "–".into(), &begin)];
    for what in [FIRST, "each site's second"] {
        let walk = walk(&server, kind, sites);
        if what == FIRST
            && let Some((_, longest)) = spread(&walk.seconds)
        {
            let longest = if walk.wrong.is_empty() { longest * 1e3 } else { f64::NAN };
            report.figure(&format!("sites/{}/first", kind.name), Figure::of(longest));
        }
        // Pools are looked at twice a second.
        std::thread::sleep(Duration::from_secs(2));
        rows.push(row(what, walk.times(), walk.answers(sites), &Look::at(&server, kind)));
    }
    if configuration == SOON {
        let since = Instant::now();
        let mut end = Look::at(&server, kind);
        while end.processes > begin.processes && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(500));
            end = Look::at(&server, kind);
        }
        let each = float(end.memory.saturating_sub(begin.memory)) / 1024.0 / f64::from(sites);
        let seconds = since.elapsed().as_secs_f64();
        report.figure(&format!("sites/{}/left", kind.name), Figure::of(each));
        rows.push(row("left alone", format!("{seconds:.0} s"), format!("{each:.1} KiB left of each"), &end));
    }
    ensure!(Look::at(&server, kind).processes > 0, "Hostler is gone");
    Ok(rows)
}

fn walk(server: &Running, kind: &Kind, sites: u32) -> Walk {
    let mut walk = Walk { seconds: Vec::new(), wrong: Vec::new() };
    for number in 0..sites {
        let begin = Instant::now();
        let answer = target(server, &host(number), kind.path).and_then(|target| ask(&target, &host(number)));
        let seconds = begin.elapsed().as_secs_f64();
        match answer {
            Ok(answer) if answer.status == 200 && answer.body == b"Hello" => walk.seconds.push(seconds),
            Ok(answer) => walk.wrong.push(format!("{}: status {}", host(number), answer.status)),
            Err(error) => walk.wrong.push(format!("{}: {error:#}", host(number))),
        }
    }
    walk
}

impl Walk {
    fn times(&self) -> String {
        let (Some(middle), Some((_, longest))) = (median(&self.seconds), spread(&self.seconds)) else {
            return "–".to_owned();
        };
        format!("{:.1} ms (longest {:.1} ms)", middle * 1e3, longest * 1e3)
    }

    fn answers(&self, sites: u32) -> String {
        let first = self.wrong.first().map(|wrong| format!(" ({wrong})"));
        format!("{} of {sites}{}", self.seconds.len(), first.unwrap_or_default())
    }
}

fn host(number: u32) -> String {
    format!("site{number}.example")
}

fn hosts(sites: u32) -> String {
    let mut text = String::new();
    for number in 0..sites {
        let (name, user) = (host(number), FIRST_USER + number);
        // Can't fail: it is a String.
        let _ = write!(
            text,
            "<VirtualHost *>\n  ServerName {name}\n  DocumentRoot \"@ROOT@/htdocs\"\n  AssignUserID \"#{user}\" \
             \"#{user}\"\n</VirtualHost>\n"
        );
    }
    text
}
