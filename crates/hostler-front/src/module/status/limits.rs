//! Each site's use of its cgroup limits (`HostlerSiteMemory`, `HostlerSiteCPU`, `HostlerSiteTasks`): a table for the
//! status page, lines for Prometheus. Without limits there are neither.

use super::Site;
use super::html::escaped;
use super::metrics::{head, label};
use hostler_wire::report::{Limits, Usage};
use std::fmt::{Display, Write};

/// The sites with limits.
fn limited(sites: &[Site]) -> impl Iterator<Item = &Site> {
    sites.iter().filter(|site| site.limits != Limits::None)
}

/// The table, below that of the sites.
pub(super) fn table(out: &mut String, sites: &[Site]) {
    if limited(sites).next().is_none() {
        return;
    }
    out.push_str(
        "<h2>Limits of sites</h2>\n<div><table><tr><th>User</th><th>Memory</th><th>Processor time</th>\
         <th>Tasks</th></tr>\n",
    );
    for site in limited(sites) {
        let _ = write!(out, "<tr><td>{}</td>", escaped(&site.name));
        let _ = match &site.limits {
            Limits::Held(usage) => row(out, usage),
            Limits::NotHere(why) => {
                write!(out, "<td colspan=\"3\" class=\"bad\">not limited here: {}</td>", escaped(why))
            }
            Limits::Unused | Limits::None => write!(out, "<td colspan=\"3\">no process yet</td>"),
        };
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

fn row(out: &mut String, usage: &Usage) -> std::fmt::Result {
    let mebibytes = |bytes: u64| format!("{} MiB", bytes >> 20);
    let seconds = |micros: u64| format!("{}.{} s", micros / 1_000_000, micros / 100_000 % 10);
    write!(
        out,
        "<td>{}</td><td>{}</td><td>{}</td>",
        of(usage.memory.map(mebibytes), usage.memory_max.map(mebibytes)),
        of(usage.processor.map(seconds), usage.processor_max.map(|percent| format!("{percent} %"))),
        of(usage.tasks, usage.tasks_max),
    )
}

/// `7 of 24`
fn of(now: Option<impl Display>, most: Option<impl Display>) -> String {
    let now = now.map_or_else(|| "-".to_owned(), |now| now.to_string());
    most.map_or_else(|| now.clone(), |most| format!("{now} of {most}"))
}

/// A metric's name, kind and help, and its value of a group.
type Row = (&'static str, &'static str, &'static str, fn(&Usage) -> Option<f64>);

/// In Prometheus's base units: bytes and seconds; processors instead of percent.
#[expect(clippy::cast_precision_loss, reason = "for display")]
const ROWS: [Row; 6] = [
    ("hostler_site_memory_bytes", "gauge", "Memory of a site's processes.", |u| Some(u.memory? as f64)),
    ("hostler_site_memory_max_bytes", "gauge", "HostlerSiteMemory.", |u| Some(u.memory_max? as f64)),
    ("hostler_site_cpu_seconds_total", "counter", "Processor time of a site's processes.", |u| {
        Some(u.processor? as f64 / 1e6)
    }),
    ("hostler_site_cpu_max", "gauge", "HostlerSiteCPU, in processors.", |u| {
        Some(f64::from(u.processor_max?) / 100.0)
    }),
    ("hostler_site_tasks", "gauge", "Processes and threads of a site.", |u| Some(u.tasks? as f64)),
    ("hostler_site_tasks_max", "gauge", "HostlerSiteTasks.", |u| Some(u.tasks_max? as f64)),
];

/// The lines.
pub(super) fn metrics(out: &mut String, sites: &[Site]) {
    if limited(sites).next().is_none() {
        return;
    }
    let name = "hostler_site_limits_hold";
    head(out, name, "gauge", "Whether a site is held to its limits by a control group.");
    for site in limited(sites) {
        let holds = u8::from(!matches!(site.limits, Limits::NotHere(_)));
        let _ = writeln!(out, "{name}{{site=\"{}\"}} {holds}", label(&site.name));
        if let Limits::NotHere(why) = &site.limits {
            let _ = writeln!(out, "# {} is not limited here: {}", label(&site.name), label(why));
        }
    }
    for (name, kind, help, value) in ROWS {
        head(out, name, kind, help);
        for site in limited(sites) {
            let Limits::Held(usage) = &site.limits else { continue };
            if let Some(value) = value(usage) {
                let _ = writeln!(out, "{name}{{site=\"{}\"}} {value}", label(&site.name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(limits: Limits) -> [Site; 2] {
        let site = |name: &str, limits| Site {
            name: name.to_owned(),
            totals: super::super::Totals::default(),
            limits,
            programs: super::super::Figures::default(),
        };
        [site("anna", limits), site("bert", Limits::None)]
    }

    fn shown(limits: Limits) -> (String, String) {
        let (mut page, mut lines) = (String::new(), String::new());
        table(&mut page, &sites(limits.clone()));
        metrics(&mut lines, &sites(limits));
        (page, lines)
    }

    #[test]
    fn what_is_taken_stands_beside_what_may_be() {
        let (page, lines) = shown(Limits::Held(Usage {
            memory: Some(150 << 20),
            memory_max: Some(200 << 20),
            processor: Some(1_250_000),
            processor_max: Some(150),
            tasks: Some(7),
            tasks_max: None,
        }));
        assert!(
            page.contains("<td>anna</td><td>150 MiB of 200 MiB</td><td>1.2 s of 150 %</td><td>7</td>"),
            "{page}"
        );
        assert!(!page.contains("bert"));
        for line in [
            "hostler_site_limits_hold{site=\"anna\"} 1\n",
            "hostler_site_memory_bytes{site=\"anna\"} 157286400\n",
            "hostler_site_cpu_seconds_total{site=\"anna\"} 1.25\n",
            "hostler_site_cpu_max{site=\"anna\"} 1.5\n",
            "hostler_site_tasks{site=\"anna\"} 7\n",
        ] {
            assert!(lines.contains(line), "{line} {lines}");
        }
        assert!(!lines.contains("tasks_max{") && !lines.contains("bert"), "{lines}");
    }

    #[test]
    fn what_does_not_hold_says_why() {
        let (page, lines) = shown(Limits::NotHere("only cgroup <version> 1".to_owned()));
        assert!(page.contains("not limited here: only cgroup &lt;version&gt; 1</td>"), "{page}");
        assert!(
            lines.contains("hostler_site_limits_hold{site=\"anna\"} 0\n# anna is not limited here: "),
            "{lines}"
        );
        assert_eq!(shown(Limits::None), (String::new(), String::new()));
    }
}
