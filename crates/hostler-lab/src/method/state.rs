//! Pages that keep state between requests: where a worker serves more than one, such a page answers otherwise each
//! time, and where each request has a process of its own it does not.

use super::answer::{Answer, ask, difference};
use crate::load::Target;
use crate::run::Advice;
use anyhow::Result;

/// The number of requests for a page. In some servers workers take turns: enough requests for one worker to be met
/// again.
const TIMES: usize = 12;

/// A contestant's responses to the same request, one after the other.
pub(super) struct Repetition {
    pub(super) title: String,
    pub(super) answers: Vec<Answer>,
}

/// Asks for a page again and again.
pub(super) fn repeated(title: &str, target: &Target, host: &str) -> Result<Repetition> {
    let answers = (0..TIMES).map(|_| ask(target, host)).collect::<Result<_>>()?;
    Ok(Repetition { title: title.to_owned(), answers })
}

impl Repetition {
    /// The first answer that is not as the one before.
    pub(super) fn changes(&self) -> Option<(&Answer, &Answer)> {
        self.answers.windows(2).find_map(|pair| (pair[0] != pair[1]).then_some((&pair[0], &pair[1])))
    }
}

/// Returns advice on a page whose responses change at some contestants and not at others. If they change everywhere,
/// the cause is a clock or chance; if they never change, there is nothing to report.
pub(super) fn kept(page: &str, contestants: &[Repetition]) -> Option<Advice> {
    let (changing, steady): (Vec<_>, Vec<_>) = contestants.iter().partition(|one| one.changes().is_some());
    let example = changing.first()?;
    let (before, after) = example.changes()?;
    let names = |of: &[&Repetition]| of.iter().map(|one| one.title.as_str()).collect::<Vec<_>>().join("; ");
    if steady.is_empty() {
        return None;
    }
    let diff = difference(("", ""), before, after).unwrap_or_default();
    // Behind the three lines of a diff's head.
    let changed = |line: &&str| line.starts_with('-') || line.starts_with('+');
    let lines: Vec<&str> = diff.lines().skip(3).filter(changed).collect();
    Some(Advice {
        says: format!(
            "This page keeps state between requests: {page}. It needs a worker that lives on, and each worker has \
             state of its own; under fork or exec it starts anew each time."
        ),
        evidence: vec![
            format!("Asked {TIMES} times, its answer changes at: {}", names(&changing)),
            format!("and is always the same at: {}", names(&steady)),
            format!("What changes from one answer to the next at {}: {}", example.title, lines.join(" ")),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contestant(title: &str, bodies: &[&str]) -> Repetition {
        let answer =
            |body: &&str| Answer { status: 200, kind: String::new(), body: body.as_bytes().to_vec() };
        Repetition { title: title.to_owned(), answers: bodies.iter().map(answer).collect() }
    }

    #[test]
    fn a_counter_is_found_and_its_line_shown() {
        let persistent = contestant("persistent", &["top\ncount 1\n", "top\ncount 2\n", "top\ncount 3\n"]);
        let fork = contestant("fork", &["top\ncount 1\n"; 3]);
        let found = kept("/count.pl", &[persistent, fork]).unwrap();
        assert!(found.says.contains("keeps state between requests: /count.pl"));
        assert!(found.evidence[0].ends_with("at: persistent") && found.evidence[1].ends_with("at: fork"));
        assert!(found.evidence[2].ends_with(": -count 1 +count 2"), "{:?}", found.evidence);
    }

    #[test]
    fn a_clock_and_a_steady_page_keep_none() {
        let clock = |title| contestant(title, &["1", "2", "3"]);
        assert_eq!(kept("/", &[clock("a"), clock("b")]), None);
        let steady = |title| contestant(title, &["1", "1", "1"]);
        assert_eq!(kept("/", &[steady("a"), steady("b")]), None);
        assert_eq!(kept("/", &[]), None);
    }
}
