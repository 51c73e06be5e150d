//! Requirements of a scenario that its types do not express. Each error names the case, the key, and the expected form.

use super::{Case, Scenario};
use std::collections::BTreeSet;

/// Names that contestants may have.
const CONTESTANTS: &[&str] = &[
    "hostler",
    "hostler-ajp",
    "apache-prefork",
    "apache-event",
    "apache-itk",
    "apache-ajp",
    "apache-fpm",
    "nginx",
    "nginx-fpm",
    "starman",
    "gunicorn",
    "uvicorn",
    "granian",
    "granian-asgi",
    "tomcat",
];

type Checked = Result<(), String>;

fn ensure(good: bool, why: impl FnOnce() -> String) -> Checked {
    if good { Ok(()) } else { Err(why()) }
}

/// The whole.
pub(super) fn scenario(scenario: &Scenario) -> Checked {
    ensure(is_name(&scenario.name), || format!("name = {:?}: {NAME}", scenario.name))?;
    ensure(scenario.rounds > 0, || "rounds = 0: at least one".to_owned())?;
    let quick = scenario.quick;
    ensure(quick.rounds > 0, || "quick: rounds = 0: at least one".to_owned())?;
    ensure(quick.scale > 0.0 && quick.scale <= 1.0, || {
        format!("quick: scale = {}: more than 0, at most 1", quick.scale)
    })?;
    contestants(&scenario.contestants).map_err(|why| format!("contestants: {why}"))?;
    ensure(!scenario.cases.is_empty(), || "a scenario needs at least one [[case]]".to_owned())?;
    let mut names = BTreeSet::new();
    for one in &scenario.cases {
        let wrong = |why| format!("case {}: {why}", one.name);
        ensure(names.insert(one.name.as_str()), || "the name is used twice".to_owned()).map_err(wrong)?;
        case(one, scenario)?;
    }
    for one in &scenario.published {
        ensure(names.contains(one.row.as_str()), || format!("published: row = {:?}: unknown case", one.row))?;
    }
    Ok(())
}

const NAME: &str = "a name is letters, digits, - and _";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn contestants(names: &[String]) -> Checked {
    ensure(!names.is_empty(), || "name at least one".to_owned())?;
    for (at, name) in names.iter().enumerate() {
        ensure(CONTESTANTS.contains(&name.as_str()), || {
            format!("unknown contestant {name:?} (expected one of {})", CONTESTANTS.join(", "))
        })?;
        ensure(!names[..at].contains(name), || format!("{name} is named twice"))?;
    }
    Ok(())
}

fn case(case: &Case, scenario: &Scenario) -> Checked {
    let name = &case.name;
    let wrong = |why: String| format!("case {name}: {why}");
    ensure(is_name(name), || NAME.to_owned()).map_err(wrong)?;
    ensure(is_path(&case.path), || format!("path = {:?}: a path must begin with /", case.path))
        .map_err(wrong)?;
    ensure(!case.hosts.is_empty() && !case.hosts.iter().any(|host| !is_word(host)), || {
        "hosts: at least one, none of them empty".to_owned()
    })
    .map_err(wrong)?;
    if let Some(own) = &case.contestants {
        contestants(own).map_err(|why| wrong(format!("contestants: {why}")))?;
        let stranger = own.iter().find(|one| !scenario.contestants.contains(one));
        ensure(stranger.is_none(), || {
            wrong(format!("contestants: {} is not one of the scenario's", stranger.map_or("", |s| s)))
        })?;
    }
    case.plan.check().map_err(|why| wrong(format!("plan: {why}")))?;
    case.saturation.as_ref().map_or(Ok(()), |of| {
        of.check().map_err(|why| wrong(format!("saturation: {why}")))?;
        ensure(of.stop.is_some(), || {
            wrong("saturation: needs a stop, the limit that is looked for".to_owned())
        })
    })
}

/// Returns whether a path may be written into a request line unchanged.
fn is_path(path: &str) -> bool {
    path.starts_with('/') && is_word(path)
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_graphic())
}
