//! The same load on one virtual host, and spread over two that run as two users.

use crate::Options;
use crate::drive::{Page, Rounds, Sample, order};
use crate::report::Report;
use crate::stage::{Stage, present};
use anyhow::Result;
use rustix::process::geteuid;

const PROGRAMS: [(&str, &str, u32); 3] = [
    ("light handler, 15 clients", "/light", 15),
    ("light handler, 64 clients", "/light", 64),
    ("heavy handler, 15 clients", "/heavy", 15),
];
const ONE: &[&str] = &["a.test"];
const TWO: &[&str] = &["a.test", "b.test"];

const SITES: &str = r#"
<VirtualHost *:@PORT@>
    ServerName a.test
    DocumentRoot "@ROOT@/htdocs"
    AssignUserID "@SITE_USER@" "@SITE_USER@"
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName b.test
    DocumentRoot "@ROOT@/htdocs"
    AssignUserID "@SECOND_USER@" "@SECOND_USER@"
</VirtualHost>
"#;

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    if !geteuid().is_root() {
        report.absent("two sites under two users", "needs root to change users");
        return Ok(());
    }
    if present(&["hostler"], report).is_empty() {
        return Ok(());
    }
    let stage = Stage::new("registry", SITES)?;
    let server = stage.start("hostler")?;
    let mut rows = Vec::new();
    for (title, path, clients) in PROGRAMS {
        let pages = [ONE, TWO].map(|hosts| Page { server: &server, hosts, path });
        for page in &pages {
            page.warm_up(clients, options.seconds())?;
        }
        let mut found = [Rounds::default(), Rounds::default()];
        for round in 0..options.rounds() {
            for turn in order(round, 2) {
                found[turn].0.push(pages[turn].closed(clients, options.seconds())?);
            }
        }
        let [one, two] = &found;
        if let Some(figure) = two.ratio(|sample| sample.rate, one, |sample| sample.rate) {
            report.figure(&format!("users/{}-{clients}/rate", path.trim_start_matches('/')), figure);
        }
        rows.push(row(title, &found));
    }
    let about = "The same load on one site, and spread over two that run as two users (second to first, with its 95 % \
                 interval; one Hostler has both):";
    let head = ["what", "one site, requests/s", "two sites", "two : one", "processor time, two : one"];
    report.table(about, &head, &rows);
    Ok(())
}

fn row(title: &str, [one, two]: &[Rounds; 2]) -> Vec<String> {
    let rate = |sample: &Sample| sample.rate;
    let processor = |sample: &Sample| sample.processor;
    let failed = one.failed() + two.failed();
    let title = if failed > 0 { format!("{title}, {failed} failed") } else { title.to_owned() };
    vec![
        title,
        format!("{:.0}", one.middle(rate)),
        format!("{:.0}", two.middle(rate)),
        two.against(rate, one, rate),
        two.against(processor, one, processor),
    ]
}
