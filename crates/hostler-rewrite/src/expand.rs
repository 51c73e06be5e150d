//! From a text taken apart to its value for a request.

use crate::flags::Escapes;
use crate::host::{Host, Need};
use crate::map::Source;
use crate::template::{Piece, Template};
use crate::uri::push_escaped;
use crate::variable::Variable;
use hostler_expr::{Answer, Captures, RegexError, effort};
use std::collections::HashMap;

/// Maps by name.
pub type Maps = HashMap<Box<str>, Source>;

/// Longest value of a text in bytes. Rules can double a text again and again.
pub(crate) const LONGEST: usize = 64 << 10;

/// Why a rule's evaluation ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It continues when this is there.
    Need(Need),
    /// It can't be carried out, and what it guards must not be passed.
    Failed(String),
}

impl From<effort::Exhausted> for Stop {
    fn from(error: effort::Exhausted) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<RegexError> for Stop {
    fn from(error: RegexError) -> Self {
        if error.is_postponed() { Self::Need(Need::Turn) } else { Self::Failed(error.to_string()) }
    }
}

/// The effects of a rule, gathered while it is evaluated, and applied if it matches.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Lines of the trace.
    pub(crate) lines: Vec<(u8, Vec<u8>)>,
    /// Fields of the request's header that the text or condition of just now has looked at.
    pub(crate) looked_at: Vec<Box<str>>,
    /// Fields on which the answer varies if the rule applies.
    pub(crate) vary: Vec<Box<str>>,
    /// Variables that it sets and removes.
    pub(crate) env: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// The origin of a text's first and last question mark: `true`: a value, which may be the client's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuestionMarks {
    pub(crate) first: Option<bool>,
    pub(crate) last: Option<bool>,
}

impl QuestionMarks {
    fn note(&mut self, piece: &Piece, text: &[u8]) {
        if text.contains(&b'?') {
            let is_value = !matches!(piece, Piece::Literal(_));
            self.first = self.first.or(Some(is_value));
            self.last = Some(is_value);
        }
    }
}

/// The values that a text depends on.
pub(crate) struct Scene<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) maps: &'a Maps,
    pub(crate) trace: u8,
    /// The groups of the rule's pattern.
    pub(crate) rule: Captures,
    /// The groups of the last condition.
    pub(crate) condition: Captures,
    /// The groups of an expression that has stopped in the middle.
    pub(crate) expression: Option<Captures>,
    /// Those of the text that was expanded last.
    pub(crate) question_marks: QuestionMarks,
    pub(crate) notes: Notes,
}

impl Scene<'_> {
    /// Adds a line to the trace. `text` is made only if the line is wanted.
    pub(crate) fn trace(&mut self, level: u8, text: impl FnOnce() -> Vec<u8>) {
        if self.trace >= level {
            self.notes.lines.push((level, text()));
        }
    }

    /// The value of a text.
    pub(crate) fn expand(&mut self, template: &Template, escapes: &Escapes) -> Result<Vec<u8>, Stop> {
        let mut out = Vec::new();
        let mut question_marks = QuestionMarks::default();
        for piece in &template.pieces {
            let start = out.len();
            self.piece(piece, escapes, &mut out)?;
            question_marks.note(piece, &out[start..]);
            effort::spend(50)?;
            if out.len() > LONGEST {
                return Err(Stop::Failed(format!(
                    "\"{}\" becomes longer than {LONGEST} bytes",
                    template.source()
                )));
            }
        }
        effort::spend(out.len())?;
        // Keys of maps are expanded on the way.
        self.question_marks = question_marks;
        Ok(out)
    }

    fn piece(&mut self, piece: &Piece, escapes: &Escapes, out: &mut Vec<u8>) -> Result<(), Stop> {
        match piece {
            Piece::Literal(text) => out.extend_from_slice(text),
            Piece::RuleGroup(index) => self.push_group(true, *index, escapes, out),
            Piece::ConditionGroup(index) => self.push_group(false, *index, escapes, out),
            Piece::Variable(variable) => {
                let value = self.variable(variable)?;
                out.extend(value);
            }
            Piece::Map { map, key, default } => {
                let key = self.expand(key, escapes)?;
                match (self.map(map, key)?, default) {
                    (Some(value), _) => out.extend(value),
                    (None, Some(default)) => out.extend(self.expand(default, escapes)?),
                    (None, None) => {}
                }
            }
        }
        Ok(())
    }

    fn push_group(&mut self, of_rule: bool, index: usize, escapes: &Escapes, out: &mut Vec<u8>) {
        let groups = if of_rule { &self.rule } else { &self.condition };
        let group = groups.group(index).unwrap_or_default();
        if !escapes.any() {
            out.extend_from_slice(group);
            return;
        }
        let start = out.len();
        for &byte in group {
            if !escapes.wants(byte) {
                out.push(byte);
            } else if byte == b' ' && !escapes.no_plus {
                out.push(b'+');
            } else {
                push_escaped(out, byte);
            }
        }
        if self.trace >= 5 && !group.is_empty() {
            let line = [b"escaping backreference '", group, b"' to '", &out[start..], b"'"].concat();
            self.notes.lines.push((5, line));
        }
    }

    /// A variable's value; empty if it has none.
    fn variable(&mut self, variable: &Variable) -> Result<Vec<u8>, Stop> {
        let host = self.host;
        let value = match variable {
            Variable::Filename => Some(host.filename().into()),
            Variable::Query => host.query_string().map(Into::into),
            Variable::PathInfo => Some(host.path_info().into()),
            Variable::ServerAddress => host.server_address(),
            Variable::Core(core) => host.variable(*core),
            Variable::Header(name) => {
                let value = host.header(name);
                // Caches tell hosts apart by the URL.
                if value.is_some() && !name.eq_ignore_ascii_case("Host") {
                    self.notes.looked_at.push(name.clone());
                }
                value
            }
            Variable::Env(name) => {
                let set = self.notes.env.iter().rev().find(|(known, _)| **known == *name.as_bytes());
                match set {
                    Some((_, value)) => value.as_deref().map(Into::into),
                    None => host.env(name),
                }
            }
            Variable::Ssl(name) => host.ssl_variable(name),
            Variable::Ahead(how, inner, name) => {
                let path = match how {
                    crate::Ahead::Uri => host.uri(),
                    crate::Ahead::File => host.filename(),
                };
                let Answer::Ready(value) = host.look_ahead(*how, path, inner) else {
                    return Err(Stop::Need(Need::Ahead(*how, path.to_vec(), inner.clone())));
                };
                if let Some(value) = &value {
                    let line =
                        [b"lookahead: path=", path, b" var=", name.as_bytes(), b" -> val=", value].concat();
                    self.trace(5, || line);
                }
                value
            }
            Variable::Unknown => None,
        };
        Ok(value.map_or_else(Vec::new, std::borrow::Cow::into_owned))
    }

    fn map(&mut self, name: &str, key: Vec<u8>) -> Result<Option<Vec<u8>>, Stop> {
        let host = self.host;
        if self
            .maps
            .get(name)
            .is_some_and(|source| !matches!(source, Source::Function(_) | Source::Program(_)))
        {
            self.trace(6, || b"cache lookup FAILED, forcing new map lookup".to_vec());
        }
        let value = match self.maps.get(name) {
            None => return Ok(None),
            Some(Source::Function(function)) => Some(function.apply(&key)),
            Some(source) => {
                let Answer::Ready(value) = host.map(name, &key) else {
                    return Err(Stop::Need(Need::Map(name.into(), key)));
                };
                let random = matches!(source, Source::Random(_));
                value.map(|value| {
                    if random { crate::map::part(&value, host.random()).to_vec() } else { value.into_owned() }
                })
            }
        };
        let kind = match self.maps.get(name) {
            Some(Source::Function(_) | Source::Program(_)) => "",
            Some(Source::Random(_)) => "[rnd]",
            Some(Source::Dbm(..)) => "[dbm]",
            _ => "[txt]",
        };
        self.trace(5, || {
            let about = [b"map=", name.as_bytes(), kind.as_bytes(), b" key=", &key].concat();
            match &value {
                Some(value) => [b"map lookup OK: ", &about[..], b" -> val=", value].concat(),
                None => [b"map lookup FAILED: ", &about[..]].concat(),
            }
        });
        Ok(value)
    }
}

impl Escapes {
    fn wants(&self, byte: u8) -> bool {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            return false;
        }
        if self.never.as_ref().is_some_and(|never| never.contains(&byte)) {
            return false;
        }
        let control = byte < b' ' || byte == 0x7f || byte == b' ';
        (self.controls && control) || (self.all && self.only.as_ref().is_none_or(|only| only.contains(&byte)))
    }
}
