//! The aims (bench/aims.toml) with the figures of this run and the verdicts that follow from them.

use crate::figures::{Figure, Figures};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::fmt::Write;

const AIMS: &str = include_str!("../aims.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    aim: Vec<Aim>,
}

/// An aim; the file's head explains the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Aim {
    says: String,
    figure: String,
    at_least: Option<f64>,
    at_most: Option<f64>,
    #[serde(default)]
    beside: Vec<String>,
    limit: Option<String>,
    #[serde(default)]
    why: String,
}

/// True if an aim is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Yes,
    No,
    /// The interval has the threshold in it.
    Noise,
    /// The machine's own figure is beyond the threshold.
    Untold,
    /// The figure is not there.
    Unmeasured,
}

impl Verdict {
    fn text(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "**no**",
            Self::Noise => "within noise",
            Self::Untold => "not to be told here",
            Self::Unmeasured => "not measured",
        }
    }
}

/// The table, in Markdown.
pub(crate) fn table(figures: &Figures) -> Result<String> {
    let mut text = String::from("| aim | reached | |\n|---|---|---|\n");
    for aim in all()? {
        let figure = figures.find(&aim.figure)?;
        let limit = aim.limit.as_ref().map(|limit| figures.find(limit)).transpose()?.flatten();
        let verdict = aim.verdict(figure, limit);
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            aim.says,
            verdict.text(),
            aim.told(figure, limit, verdict, figures)?
        );
    }
    Ok(text)
}

fn all() -> Result<Vec<Aim>> {
    Ok(toml::from_str::<File>(AIMS).context("bench/aims.toml")?.aim)
}

impl Aim {
    /// Returns whether a value is on the right side.
    fn holds(&self, value: f64) -> bool {
        self.at_least.is_none_or(|least| value >= least) && self.at_most.is_none_or(|most| value <= most)
    }

    fn verdict(&self, figure: Option<Figure>, limit: Option<Figure>) -> Verdict {
        let Some(figure) = figure else { return Verdict::Unmeasured };
        let (low, high) = figure.interval.unwrap_or((figure.value, figure.value));
        match (self.holds(low), self.holds(high)) {
            (true, true) => Verdict::Yes,
            _ if limit.is_some_and(|limit| !self.holds(limit.value)) => Verdict::Untold,
            (false, false) => Verdict::No,
            _ => Verdict::Noise,
        }
    }

    fn told(
        &self,
        figure: Option<Figure>,
        limit: Option<Figure>,
        verdict: Verdict,
        figures: &Figures,
    ) -> Result<String> {
        let mut parts = Vec::new();
        parts.extend(figure.map(|figure| shown(&self.figure, figure)));
        for beside in &self.beside {
            if let Some(figure) = figures.find(beside)? {
                parts.push(format!("{}: {}", named(beside), shown(beside, figure)));
            }
        }
        if let (Some(limit), Some(name)) = (limit, &self.limit) {
            parts.push(format!("the machine's own: {}", shown(name, limit)));
        }
        if !matches!(verdict, Verdict::Yes | Verdict::Unmeasured) && !self.why.is_empty() {
            parts.push(self.why.clone());
        }
        Ok(parts.join("; "))
    }
}

/// A figure with its unit: a ratio, or what stands behind the comma.
fn shown(name: &str, figure: Figure) -> String {
    let ratio = !name.starts_with("measured") && name.split(' ').count() > 2;
    let unit = match name.split_once(", ") {
        Some((_, unit)) => format!(" {unit}"),
        None if ratio || name.starts_with("measured") => String::new(),
        None if name.starts_with("p99") => " ms".to_owned(),
        None => " 1/s".to_owned(),
    };
    let digits = |value: f64| if value.abs() < 99.5 { format!("{value:.2}") } else { format!("{value:.0}") };
    let interval = figure.interval.map(|(low, high)| format!(" ({} to {})", digits(low), digits(high)));
    format!("{}{}{unit}", digits(figure.value), interval.unwrap_or_default())
}

/// Returns the subject of the figure beside an aim.
fn named(name: &str) -> String {
    let words: Vec<&str> = name.split(' ').collect();
    match words[..] {
        ["processor", _, other] => format!("processor time, of {}'s", server(other)),
        ["rate", one, other] => format!("rate of {one}, of {}'s", server(other)),
        ["measured", name, ..] => name.trim_end_matches(',').replace('/', ", "),
        _ => name.to_owned(),
    }
}

fn server(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim(at_least: Option<f64>, at_most: Option<f64>) -> Aim {
        let (says, figure) = ("x".to_owned(), "measured x".to_owned());
        Aim { says, figure, at_least, at_most, beside: Vec::new(), limit: None, why: "because".to_owned() }
    }

    #[test]
    fn every_aim_has_a_figure_and_one_threshold() {
        let figures = Figures::default();
        for aim in all().unwrap() {
            assert!(aim.at_least.is_some() != aim.at_most.is_some(), "{}", aim.says);
            for figure in aim.beside.iter().chain([&aim.figure]).chain(&aim.limit) {
                assert_eq!(figures.find(figure).unwrap(), None, "{figure}");
            }
            assert!(
                !aim.why.contains(|c: char| c.is_ascii_digit() && !aim.why.contains("15 connections")),
                "{}",
                aim.why
            );
        }
    }

    #[test]
    fn verdicts_follow_from_the_interval() {
        let figure = |value, low, high| Some(Figure { value, interval: Some((low, high)) });
        let twice = aim(Some(2.0), None);
        assert_eq!(twice.verdict(figure(2.2, 2.1, 2.3), None), Verdict::Yes);
        assert_eq!(twice.verdict(figure(2.2, 1.9, 2.3), None), Verdict::Noise);
        assert_eq!(twice.verdict(figure(1.5, 1.4, 1.9), None), Verdict::No);
        assert_eq!(twice.verdict(None, None), Verdict::Unmeasured);
        let most = aim(None, Some(5.0));
        assert_eq!(most.verdict(Some(Figure::of(4.0)), Some(Figure::of(90.0))), Verdict::Yes);
        assert_eq!(most.verdict(Some(Figure::of(40.0)), Some(Figure::of(90.0))), Verdict::Untold);
        assert_eq!(most.verdict(Some(Figure::of(40.0)), Some(Figure::of(2.0))), Verdict::No);
    }

    #[test]
    fn the_cause_is_told_of_what_is_not_reached() {
        let figures = Figures::default();
        let twice = aim(Some(2.0), None);
        let told = |value| {
            twice.told(Some(Figure::of(value)), None, twice.verdict(Some(Figure::of(value)), None), &figures)
        };
        assert_eq!(told(1.5).unwrap(), "1.50; because");
        assert_eq!(told(2.5).unwrap(), "2.50");
        assert!(table(&figures).unwrap().contains("| not measured |"));
    }
}
