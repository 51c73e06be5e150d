//! Runs subjects: Apache first, then Hostler, each case against the table and against each other.

use crate::asking;
use crate::check::{self, Observation};
use crate::differences::{Difference, Differences};
use crate::server::{Kind, Server, missing_module};
use crate::table::{Case, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The cases to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The servers in order.
    pub kinds: Vec<Kind>,
    /// `subject` or `subject/case`; nothing else is run.
    pub only: Option<String>,
    /// Intended differences.
    pub differences: Differences,
    /// Print every answer.
    pub print: bool,
}

/// The result of a subject on one server.
#[derive(Debug, Default)]
pub struct Report {
    /// `subject`.
    pub subject: String,
    /// Cases run, per server.
    pub cases: BTreeMap<char, usize>,
    /// Failed cases with their findings, ready to print.
    pub failures: Vec<String>,
    /// Cases that Apache answers now like Hostler and now otherwise.
    pub undecided: Vec<String>,
    /// The entries of [`Differences::fields`] that applied.
    pub fields: BTreeSet<usize>,
    /// Answers, when they were asked for.
    pub printed: String,
}

impl Plan {
    /// Returns whether a case is to run.
    #[must_use]
    pub fn wants(&self, subject: &str, case: &str) -> bool {
        let Some(only) = &self.only else { return true };
        only.split(',').any(|only| match only.split_once('/') {
            Some((of, name)) => of == subject && name == case,
            None => only == subject,
        })
    }

    fn difference(&self, subject: &str, case: &str) -> Option<&Difference> {
        let id = format!("{subject}/{case}");
        self.differences.cases.iter().find(|difference| difference.case == id)
    }
}

/// The number of attempts that Apache has to answer as the table says. Some of its responses depend on which of two
/// processes is faster.
const TRIES: usize = 3;

/// Runs one subject on every server of the plan.
#[must_use]
pub fn subject(plan: &Plan, subject: &Subject, parent: &Path) -> Report {
    let mut report = Report { subject: subject.name.clone(), ..Report::default() };
    let cases: Vec<&Case> =
        subject.cases.iter().filter(|case| plan.wants(&subject.name, &case.name)).collect();
    if cases.is_empty() {
        return report;
    }
    if let Some(file) = subject.needs.iter().find(|file| !Path::new(file).exists()) {
        let why = format!("{file} is not installed (./setup.sh test)");
        hostler_untested::not_tested(&format!("{} (conformance)", subject.name), &why);
        return report;
    }
    let mut model = None;
    for &kind in &plan.kinds {
        if let Some(module) = missing_module(subject).filter(|_| kind == Kind::Apache) {
            let why = format!("Apache's mod_{module} is not installed (./setup.sh test)");
            hostler_untested::not_tested(&format!("{} beside Apache", subject.name), &why);
            continue;
        }
        let round = Round { plan, kind, subject, cases: &cases, parent };
        let judged = match kind {
            Kind::Apache => as_the_table(&round, &mut model),
            Kind::Hostler => as_apache(&round, model.as_ref(), &mut report),
        };
        match judged {
            Ok(failures) => report.failures.extend(failures.into_values()),
            Err(error) => report.failures.push(error),
        }
        report.cases.insert(kind.letter(), cases.len());
    }
    let printed = model.into_iter().map(|answers| answers.printed).collect::<String>();
    report.printed.insert_str(0, &printed);
    report
}

/// Failures of each case, ready to print.
type Failures<'a> = BTreeMap<&'a str, String>;

/// Apache's answers, of the first try in which it answers as the table says, or of the last.
fn as_the_table<'a>(round: &Round<'a>, model: &mut Option<Answers<'a>>) -> Result<Failures<'a>, String> {
    let mut failures = Failures::new();
    for _ in 0..TRIES {
        let answers = round.answers(&|_| true)?;
        failures = round.failures(&answers, None);
        *model = Some(answers);
        if failures.is_empty() {
            break;
        }
    }
    Ok(failures)
}

/// Lists Hostler's responses that match neither Apache's first nor its second response.
fn as_apache<'a>(
    round: &Round<'a>,
    model: Option<&Answers<'a>>,
    report: &mut Report,
) -> Result<Failures<'a>, String> {
    let stable = |case: &Case| model.is_none_or(|model| model.stable(case));
    let answers = round.answers(&stable)?;
    report.fields.extend(&answers.fields);
    report.printed.push_str(&answers.printed);
    let mut failures = round.failures(&answers, model);
    if !failures.is_empty() && model.is_some() {
        let second = Round { kind: Kind::Apache, ..*round }.answers(&|_| true)?;
        let still = round.failures(&answers, Some(&second));
        let undecided = failures.keys().filter(|case| !still.contains_key(*case)).map(ToString::to_string);
        report.undecided.extend(undecided);
        failures.retain(|case, _| still.contains_key(case));
    }
    Ok(failures)
}

/// A subject's cases on one server, once.
#[derive(Clone, Copy)]
struct Round<'a> {
    plan: &'a Plan,
    kind: Kind,
    subject: &'a Subject,
    cases: &'a [&'a Case],
    parent: &'a Path,
}

/// A server's responses to the cases of a subject.
#[derive(Debug, Default)]
struct Answers<'a> {
    /// To each case's request, and to the last of its repetitions.
    cases: BTreeMap<&'a str, (Observation, Option<Observation>)>,
    fields: BTreeSet<usize>,
    printed: String,
}

impl Answers<'_> {
    /// Returns whether the last answer to a case's request is as expected and as the first.
    fn stable(&self, case: &Case) -> bool {
        self.cases.get(case.name.as_str()).is_none_or(|(first, last)| {
            last.as_ref().is_some_and(|last| {
                check::against_table(&case.expect, last).is_empty()
                    && check::against_apache(&case.expect, first, last).is_empty()
            })
        })
    }
}

impl<'a> Round<'a> {
    /// Starts the server and asks it for each case; those in `again` several times.
    fn answers(&self, again: &dyn Fn(&Case) -> bool) -> Result<Answers<'a>, String> {
        let server = Server::start(self.kind, self.subject, self.parent)?;
        let mut answers = Answers::default();
        for &case in self.cases {
            let mut first = asking::observe(&server, case);
            if self.plan.print {
                answers.printed.push_str(&printed(self.kind, &self.subject.name, &case.name, &first));
            }
            let repeats = case.request.is_plain() && !self.subject.once && again(case);
            let mut last = repeats.then(|| asked_again(&server, case, &first));
            if self.kind == Kind::Hostler {
                for observed in [Some(&mut first), last.as_mut()].into_iter().flatten() {
                    let (exchange, used) = self.plan.differences.as_apache(&observed.exchange);
                    observed.exchange = exchange;
                    answers.fields.extend(used);
                }
            }
            answers.cases.insert(&case.name, (first, last));
        }
        Ok(answers)
    }

    /// Lists the cases whose response is not the expected one.
    fn failures(&self, answers: &Answers<'a>, model: Option<&Answers<'_>>) -> Failures<'a> {
        let mut failures = Failures::new();
        for &case in self.cases {
            let Some((first, last)) = answers.cases.get(case.name.as_str()) else { continue };
            let model = model.and_then(|model| model.cases.get(case.name.as_str())).map(|(first, _)| first);
            let mut findings = judge(self.plan, self.kind, &self.subject.name, case, model, first);
            let mut heading = format!("{:?} {}/{}", self.kind, self.subject.name, case.name);
            // Apache need not answer the same each time.
            if let Some(last) = last.as_ref().filter(|_| findings.is_empty() && self.kind == Kind::Hostler) {
                findings = judge(self.plan, self.kind, &self.subject.name, case, model, last);
                heading.push_str(", asked again");
            }
            if !findings.is_empty() {
                let text = format!("{heading}\n    expected {}", findings.join("\n    expected "));
                failures.insert(&case.name, text);
            }
        }
        failures
    }
}

/// The number of repetitions of a case. Each of the front's threads has a memory of its own.
const AGAIN: usize = 4;

/// Repeats a case: responses from the memory of URLs must equal those of the whole way, where Apache's are the same
/// each time. Logs are those of the first time.
fn asked_again(server: &Server, case: &Case, first: &Observation) -> Observation {
    let mut observed = first.clone();
    for _ in 0..AGAIN {
        observed.exchange = asking::exchanged(server, case);
    }
    observed
}

fn judge(
    plan: &Plan,
    kind: Kind,
    subject: &str,
    case: &Case,
    model: Option<&Observation>,
    observed: &Observation,
) -> Vec<String> {
    let as_apache = || {
        let mut findings = check::against_table(&case.expect, observed);
        if let Some(apache) = model {
            findings.extend(check::against_apache(&case.expect, apache, observed));
        }
        findings
    };
    match plan.difference(subject, &case.name) {
        Some(difference) if kind == Kind::Hostler => {
            if as_apache().is_empty() {
                return vec![
                    "a difference, which differences.toml lists, but there is none any more".to_owned(),
                ];
            }
            check::against_table(&difference.hostler, observed)
        }
        _ => as_apache(),
    }
}

fn printed(kind: Kind, subject: &str, case: &str, observed: &Observation) -> String {
    let mut text = format!("==== {kind:?} {subject}/{case} {:?}\n", observed.exchange.interim);
    for response in &observed.exchange.responses {
        text.push_str(&format!("{} {}\n", response.status, response.reason));
        for (name, value) in &response.fields {
            text.push_str(&format!("{name}: {value}\n"));
        }
        text.push_str(&format!("\n{}\n", response.body.chars().take(1500).collect::<String>()));
    }
    let logs = [("closed", observed.exchange.closed.to_string()), ("log", observed.access_log.clone())];
    for (what, value) in logs.into_iter().chain([("error", observed.error_log.clone())]) {
        text.push_str(&format!("-- {what}: {}\n", value.trim_end()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client;
    use crate::table::{Expect, Request};

    #[test]
    fn a_difference_must_differ_and_be_as_listed() {
        let not_found = || {
            let exchange = client::Exchange {
                responses: vec![client::Response { status: 404, ..Default::default() }],
                ..Default::default()
            };
            Observation { exchange, ..Default::default() }
        };
        let expecting = |status| Expect { status: Some(status), ..Expect::default() };
        let case =
            |status| Case { name: "x".to_owned(), request: Request::default(), expect: expecting(status) };
        let listed = |status| Plan {
            kinds: vec![Kind::Hostler],
            only: None,
            differences: Differences {
                cases: vec![Difference {
                    case: "s/x".to_owned(),
                    reason: "because".to_owned(),
                    hostler: expecting(status),
                }],
                fields: Vec::new(),
            },
            print: false,
        };
        let judged =
            |plan: &Plan, kind, status| judge(plan, kind, "s", &case(status), None, &not_found()).is_empty();
        assert!(judged(&listed(404), Kind::Hostler, 200));
        assert!(!judged(&listed(404), Kind::Hostler, 404), "no longer differs");
        assert!(!judged(&listed(403), Kind::Hostler, 200), "differs otherwise than listed");
        assert!(!judged(&listed(404), Kind::Apache, 200), "Apache must meet the table");
    }
}
