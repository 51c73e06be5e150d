//! A page with server-side includes: read, then run to its end.

use super::host::Host as Request;
use crate::Dice;
use hostler_ssi::time::{CivilTime, format};
use hostler_ssi::{Answer, Environment, Host, Markers, Need, Page, Run, Settings, Severity, Step, Zone};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// More than any page of the smoke run needs; a page that asks again and again is caught by it.
const STEPS: usize = 100_000;

/// More than a page of this size can honestly make.
const OUTPUT: usize = 64 << 20;

/// The input is a page.
pub fn target(data: &[u8]) {
    let mut dice = Dice::of(data);
    let markers = match dice.below(4) {
        0 => Markers::new(b"<<", b">>"),
        1 => Markers::new(b"##", b"##"),
        _ => Ok(Markers::default()),
    };
    let page = Arc::new(Page::parse(data.to_vec(), &markers.unwrap_or_default(), dice.one_in(2)));
    let settings = Settings { no_exec: dice.one_in(4), ..Settings::default() };
    let mut run = Run::new(Arc::clone(&page), settings);
    let mut host = Document::new(dice.clone());
    let mut out = Vec::new();
    for _ in 0..STEPS {
        let answer = match run.step(&mut host, &mut out) {
            Step::Done => {
                assert!(!page.is_plain() || out == page.source());
                return assert!(out.len() <= OUTPUT, "{} bytes", out.len());
            }
            Step::Full => continue,
            Step::Need(need) => answer(&need, &mut dice),
        };
        run.resume(answer);
    }
    panic!("the page does not end");
}

fn answer(need: &Need<'_>, dice: &mut Dice) -> Answer {
    if dice.one_in(4) {
        return Answer::Failed("no such file".to_owned());
    }
    match need {
        Need::Cgi { .. } if dice.one_in(2) => Answer::Location(b"/else\"where".to_vec()),
        Need::File { .. } => {
            Answer::File { size: dice.one_in(4).then(|| dice.roll()), modified: dice.roll().cast_signed() }
        }
        // What does not fit the question, too.
        _ if dice.one_in(16) => Answer::File { size: None, modified: 0 },
        _ => Answer::Done,
    }
}

struct Document {
    variables: Environment,
    request: Request,
}

impl Document {
    fn new(dice: Dice) -> Self {
        let mut variables = Environment::new();
        hostler_ssi::DOCUMENT_VARIABLES[..4].iter().for_each(|name| variables.defer(name));
        variables.set_query(b"a=<b>&%41=$c");
        Self { variables, request: Request::new(dice) }
    }
}

fn date(time_format: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    format(time_format, &CivilTime::gmt(1_700_000_000), &mut out);
    out
}

impl Host for Document {
    fn variable(&self, name: &[u8], time_format: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.variables.value(name, |_| date(time_format)).map(Cow::Borrowed)
    }

    fn set_variable(&mut self, name: &[u8], value: &[u8]) {
        self.variables.set(name, value);
    }

    fn format_dates(&mut self, time_format: &[u8]) {
        self.variables.set_known("DATE_GMT", date(time_format));
    }

    fn format_time(&self, seconds: i64, _: Zone, time_format: &[u8], out: &mut Vec<u8>) {
        format(time_format, &CivilTime::gmt(seconds), out);
    }

    fn each_variable(&self, time_format: &[u8], visit: &mut dyn FnMut(&[u8], &[u8])) {
        self.variables.each(|_| date(time_format), visit);
    }

    fn expression(&self) -> &dyn hostler_expr::Host {
        &self.request
    }

    fn log(&self, _: Severity, line: usize, message: fmt::Arguments<'_>) {
        assert!(line > 0);
        let _ = message.to_string();
    }
}
