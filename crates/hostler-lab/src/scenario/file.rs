//! A scenario's file: what it may leave out is filled from the plan of the whole file.

use super::{Case, Published, Quick, Scenario, Shape, check};
use crate::load::{Phase, Plan, Protocol, Stop};
use anyhow::{Result, anyhow};
use serde::Deserialize;

/// Seconds after which a request counts as failed where no plan says otherwise.
const PATIENCE: f64 = 30.0;

/// As the file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    question: String,
    report: Shape,
    contestants: Vec<String>,
    application: String,
    #[serde(default)]
    configuration: String,
    #[serde(default = "super::wanted")]
    advice: bool,
    rounds: u32,
    quick: Quick,
    #[serde(default)]
    plan: PartOfPlan,
    #[serde(default)]
    saturation: Option<PartOfPlan>,
    #[serde(rename = "case")]
    cases: Vec<CaseOfFile>,
    #[serde(default)]
    published: Vec<Published>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseOfFile {
    name: String,
    title: String,
    technique: String,
    path: String,
    #[serde(default = "super::localhost")]
    hosts: Vec<String>,
    #[serde(default)]
    tls: bool,
    form: Option<String>,
    contestants: Option<Vec<String>>,
    #[serde(default)]
    plan: PartOfPlan,
    #[serde(default)]
    saturation: Option<PartOfPlan>,
}

/// A plan, or what differs from one.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartOfPlan {
    phases: Option<Vec<Phase>>,
    keep_alive: Option<bool>,
    protocol: Option<Protocol>,
    warm_up: Option<f64>,
    timeout: Option<f64>,
    stop: Option<Stop>,
    seed: Option<u64>,
    keep_requests: Option<bool>,
}

impl PartOfPlan {
    /// Fills missing values from `other`.
    fn or(self, other: &Self) -> Self {
        Self {
            phases: self.phases.or_else(|| other.phases.clone()),
            keep_alive: self.keep_alive.or(other.keep_alive),
            protocol: self.protocol.or(other.protocol),
            warm_up: self.warm_up.or(other.warm_up),
            timeout: self.timeout.or(other.timeout),
            stop: self.stop.or(other.stop),
            seed: self.seed.or(other.seed),
            keep_requests: self.keep_requests.or(other.keep_requests),
        }
    }

    /// The plan, with its own defaults for what nobody said.
    fn whole(self) -> Plan {
        Plan {
            phases: self.phases.unwrap_or_default(),
            keep_alive: self.keep_alive.unwrap_or(true),
            protocol: self.protocol.unwrap_or_default(),
            warm_up: self.warm_up.unwrap_or_default(),
            timeout: self.timeout.unwrap_or(PATIENCE),
            stop: self.stop,
            seed: self.seed.unwrap_or_default(),
            keep_requests: self.keep_requests.unwrap_or_default(),
        }
    }
}

impl CaseOfFile {
    fn whole(self, plan: &PartOfPlan, saturation: Option<&PartOfPlan>) -> Case {
        let saturation = match (self.saturation, saturation) {
            (Some(own), Some(common)) => Some(own.or(common)),
            (own, common) => own.or_else(|| common.cloned()),
        };
        Case {
            name: self.name,
            title: self.title,
            technique: self.technique,
            path: self.path,
            hosts: self.hosts,
            tls: self.tls,
            form: self.form,
            contestants: self.contestants,
            plan: self.plan.or(plan).whole(),
            saturation: saturation.map(PartOfPlan::whole),
        }
    }
}

/// A scenario from a file's text; `file` is its name for messages.
///
/// # Errors
/// File, line and key of what is not understood; case and key of what makes no sense, and what was expected.
pub fn parse(text: &str, file: &str) -> Result<Scenario> {
    let said: File = toml::from_str(text).map_err(|e| anyhow!("{file}: {}", e.to_string().trim_end()))?;
    let (plan, saturation) = (said.plan, said.saturation);
    let cases = said.cases.into_iter().map(|case| case.whole(&plan, saturation.as_ref())).collect();
    let scenario = Scenario {
        name: said.name,
        title: said.title,
        source: said.source,
        question: said.question,
        report: said.report,
        contestants: said.contestants,
        application: said.application,
        configuration: said.configuration,
        advice: said.advice,
        rounds: said.rounds,
        quick: said.quick,
        cases,
        published: said.published,
    };
    check::scenario(&scenario).map_err(|why| anyhow!("{file}: {why}"))?;
    Ok(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
name = "mine"
title = "Mine"
report = "comparison"
contestants = ["hostler"]
application = "registry"
rounds = 2
quick = { rounds = 1, scale = 0.1 }
[plan]
keep_alive = false
phases = [{ kind = "closed", clients = 2, requests = 100 }]
[[case]]
name = "a"
title = "A"
technique = "handler"
path = "/a"
[[case]]
name = "b"
title = "B"
technique = "handler"
path = "/b"
plan = { keep_alive = true, seed = 7 }
"#;

    fn refused(text: &str) -> String {
        parse(text, "mine.toml").unwrap_err().to_string()
    }

    #[test]
    fn cases_have_the_files_plan_where_they_say_nothing_else() {
        let scenario = parse(SMALL, "mine.toml").unwrap();
        let [a, b] = &scenario.cases[..] else { panic!("two cases") };
        assert!(!a.plan.keep_alive && b.plan.keep_alive);
        assert_eq!(a.plan.phases, b.plan.phases);
        assert_eq!((a.plan.seed, b.plan.seed), (0, 7));
        assert!((b.plan.timeout - 30.0).abs() < f64::EPSILON);
    }

    #[test]
    fn what_is_not_understood_is_shown_with_its_line() {
        let why = refused(&SMALL.replace("rounds = 2", "round = 2"));
        assert!(why.starts_with("mine.toml: ") && why.contains("line 7") && why.contains("`round`"), "{why}");
        assert!(why.contains("expected one of"), "{why}");
        let why = refused(&SMALL.replace("\"comparison\"", "\"compare\""));
        assert!(why.contains("line 4") && why.contains("comparison"), "{why}");
    }

    #[test]
    fn what_makes_no_sense_is_said_with_case_and_key() {
        let both = SMALL.replace("requests = 100", "requests = 100, seconds = 2");
        assert_eq!(refused(&both), "mine.toml: case a: plan: a closed phase has either seconds or requests");
        let neither = SMALL.replace(", requests = 100", "");
        assert_eq!(
            refused(&neither),
            "mine.toml: case a: plan: a closed phase has either seconds or requests"
        );
        let twice = SMALL.replace("name = \"b\"", "name = \"a\"");
        assert_eq!(refused(&twice), "mine.toml: case a: the name is used twice");
        let path = SMALL.replace("\"/b\"", "\"b\"");
        assert_eq!(refused(&path), "mine.toml: case b: path = \"b\": a path must begin with /");
        let who = SMALL.replace("[\"hostler\"]", "[\"hostlr\"]");
        let why = refused(&who);
        assert!(
            why.contains("contestants: unknown contestant \"hostlr\" (expected one of hostler, hostler-ajp"),
            "{why}"
        );
        let published =
            format!("{SMALL}[[published]]\nrow = \"c\"\ncolumn = \"x\"\nunit = \"ms\"\nvalue = 1\n");
        assert_eq!(refused(&published), "mine.toml: published: row = \"c\": unknown case");
    }
}
