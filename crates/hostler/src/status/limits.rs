//! Each site's use of `HostlerSiteMemory`, `HostlerSiteCPU` and `HostlerSiteTasks`, or the reason why they are not
//! enforced.

use hostler_wire::report::{Limits, Site, Usage};
use serde_json::{Value, json};
use std::fmt::Write;

use super::columns::{lines, row};
use super::figures::{bytes, tame};

/// A table of the sites that have limits; nothing where none has.
pub(super) fn table(sites: &[Site]) -> String {
    let mut rows = vec![row(["LIMITS", "MEMORY", "CPU TIME", "TASKS"])];
    let mut notes = String::new();
    for site in sites {
        let name = tame(&site.name);
        match &site.limits {
            Limits::None => {}
            Limits::Held(usage) => rows.push(held(name, usage)),
            Limits::Unused => rows.push(vec![name, "-".to_owned(), "-".to_owned(), "-".to_owned()]),
            Limits::NotHere(why) => {
                let _ = writeln!(notes, "{name} is not limited here: {}", tame(why));
            }
        }
    }
    let table = if rows.len() > 1 { lines(&rows) } else { String::new() };
    if table.is_empty() && notes.is_empty() { String::new() } else { format!("\n{table}{notes}") }
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn held(name: String, usage: &Usage) -> Vec<String> {
    let seconds = |micros: u64| format!("{:.1} s", micros as f64 / 1e6);
    let percent = |most: u32| format!("{most} %");
    let count = |count: u64| count.to_string();
    vec![
        name,
        of(usage.memory.map(bytes), usage.memory_max.map(bytes)),
        of(usage.processor.map(seconds), usage.processor_max.map(percent)),
        of(usage.tasks.map(count), usage.tasks_max.map(count)),
    ]
}

/// `7 of 24`
fn of(now: Option<String>, most: Option<String>) -> String {
    let now = now.unwrap_or_else(|| "-".to_owned());
    most.map_or_else(|| now.clone(), |most| format!("{now} of {most}"))
}

/// `null` without limits; `held` tells whether the rest is there, or why not.
pub(super) fn json(limits: &Limits) -> Value {
    match limits {
        Limits::None => Value::Null,
        Limits::Unused => json!({ "held": true }),
        Limits::NotHere(why) => json!({ "held": false, "why": tame(why) }),
        Limits::Held(usage) => json!({
            "held": true,
            "memory_bytes": usage.memory,
            "memory_max_bytes": usage.memory_max,
            "processor_ms": usage.processor.map(|micros| micros / 1000),
            "processor_max_percent": usage.processor_max,
            "tasks": usage.tasks,
            "tasks_max": usage.tasks_max,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(name: &str, limits: Limits) -> Site {
        Site { name: name.to_owned(), limits, ..Site::default() }
    }

    #[test]
    fn sites_without_limits_are_not_listed() {
        assert_eq!(table(&[site("anna", Limits::None)]), "");
        let usage =
            Usage { memory: Some(1 << 20), memory_max: Some(2 << 20), tasks: Some(7), ..Usage::default() };
        let sites =
            [site("anna", Limits::Held(usage)), site("bert", Limits::None), site("cleo", Limits::Unused)];
        assert_eq!(
            table(&sites),
            "\nLIMITS              MEMORY  CPU TIME  TASKS\nanna    1.0 MiB of 2.0 MiB         -      7\n\
             cleo                     -         -      -\n"
        );
        assert_eq!(json(&sites[0].limits)["tasks"], 7);
        assert_eq!(json(&sites[1].limits), Value::Null);
    }

    #[test]
    fn what_does_not_hold_says_why() {
        let sites = [site("anna", Limits::NotHere("only cgroup version 1 is mounted".to_owned()))];
        assert_eq!(table(&sites), "\nanna is not limited here: only cgroup version 1 is mounted\n");
        assert_eq!(json(&sites[0].limits)["held"], false);
    }
}
