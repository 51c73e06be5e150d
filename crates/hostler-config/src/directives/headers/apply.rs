//! Carrying out Header and RequestHeader rules.

use super::{Action, Condition, Piece, Rule, Value};
use crate::directives::alias::substitute;
use hostler_expr::{Captures, EvalError, Host, Question, Regex};
use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;

/// The fields that a rule changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The request's.
    Request,
    /// The answer's, that go unless an error page is sent instead (`headers_out`).
    Response,
    /// The answer's, that go with error pages too (`err_headers_out`).
    Always,
}

/// When rules are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The request has just been read.
    Early,
    /// For requests, before they are answered; for answers, before they are sent.
    Late,
}

/// The values that rules read and write. `Content-Type` is one field, whichever of the response's tables is meant.
pub trait Message {
    /// The values of all fields of this name, in order.
    fn values(&self, table: Table, name: &str) -> Vec<Vec<u8>>;
    /// Adds a field.
    fn add(&mut self, table: Table, name: &str, value: Vec<u8>);
    /// Removes all fields of this name.
    fn remove(&mut self, table: Table, name: &str);
    /// All fields of the request.
    fn request_fields(&self) -> Vec<(String, Vec<u8>)>;
    /// A variable of the request.
    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// A variable of the TLS connection.
    fn ssl_variable(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// Sets a note; `None` when the field does not exist.
    fn set_note(&mut self, name: &str, value: Option<Vec<u8>>);
    /// When the request arrived, and what time it is, both in microseconds since 1970.
    fn times(&self) -> (i64, i64);
    /// Load averages of the last 1, 5 and 15 minutes.
    fn load(&self) -> [f64; 3];
    /// Returns the percentage of busy workers.
    fn busy_percent(&self) -> u32;
    /// For expressions.
    fn expression_host(&self) -> &dyn Host;
    /// A rule that could not be carried out, for the error log.
    fn failed(&self, reason: &str);
    /// One whose regular expression gave up: it may have been to take away what nobody should see.
    fn gave_up(&self, reason: &str) {
        self.failed(reason);
    }
    /// Returns whether to pause before the next rule.
    fn is_overdue(&self) -> bool {
        false
    }
}

/// The rules have stopped: fetch what is needed and apply them again, beginning at this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Index of the rule.
    pub at: usize,
    /// The value to fetch; nothing if other work only gets its turn.
    pub need: Option<Box<Question>>,
}

/// Applies the rules of a phase to a table in order, beginning with the rule of this index.
///
/// # Errors
/// [`Pause`] when an expression needs something that is not known yet.
pub fn apply(
    rules: &[Arc<Rule>],
    from: usize,
    phase: Phase,
    table: Table,
    message: &mut dyn Message,
) -> Result<(), Pause> {
    for (at, rule) in rules.iter().enumerate().skip(from) {
        if rule.early != (phase == Phase::Early) {
            continue;
        }
        if at > from && message.is_overdue() {
            return Err(Pause { at, need: None });
        }
        match rule.carry_out(table, message) {
            Ok(()) => {}
            Err(EvalError::Pending(need)) => return Err(Pause { at, need: Some(need) }),
            Err(EvalError::Regex(error)) => {
                message.gave_up(&format!("{}: header {}: {error}", rule.place, rule.field));
            }
            Err(error) => message.failed(&format!("{}: header {}: {error}", rule.place, rule.field)),
        }
    }
    Ok(())
}

impl Rule {
    fn carry_out(&self, table: Table, message: &mut dyn Message) -> Result<(), EvalError> {
        let name = &*self.field;
        if !self.applies(message)? {
            return Ok(());
        }
        if self.is_settled_by_type(table, message)? {
            return Ok(());
        }
        match &self.action {
            Action::Set(value) => {
                let value = value.text(message)?;
                message.remove(table, name);
                message.add(table, name, value);
            }
            Action::SetIfEmpty(value) => {
                if message.values(table, name).is_empty() {
                    let value = value.text(message)?;
                    message.add(table, name, value);
                }
            }
            Action::Append(value) => append(table, name, value.text(message)?, message),
            Action::Merge(value) => {
                let value = value.text(message)?;
                let present =
                    message.values(table, name).first().is_some_and(|list| has_element(list, &value));
                if !present {
                    append(table, name, value, message);
                }
            }
            Action::Add(value) => {
                let value = value.text(message)?;
                message.add(table, name, value);
            }
            Action::Unset => message.remove(table, name),
            Action::Echo(regex) => echo(regex, message)?,
            Action::Edit { regex, replacement, all } => {
                let values = message.values(table, name);
                if !values.is_empty() {
                    let replacement = replacement.text(message)?;
                    let edited = values.iter().map(|value| edit(regex, value, &replacement, *all));
                    replace(table, name, edited.collect::<Result<_, _>>()?, message);
                }
            }
            Action::Note(note) => {
                let note = note.text(message)?;
                let value = message.values(table, name).into_iter().next();
                message.set_note(&String::from_utf8_lossy(&note), value);
            }
        }
        Ok(())
    }

    /// Handles the type of a response: it is applied last, and replaces what `add` and related actions have made;
    /// setting it among the fields that are always sent means the response's own.
    fn is_settled_by_type(&self, table: Table, message: &mut dyn Message) -> Result<bool, EvalError> {
        let name = &*self.field;
        if !name.eq_ignore_ascii_case("content-type") {
            return Ok(false);
        }
        let is_there = !message.values(table, name).is_empty();
        match &self.action {
            Action::Append(_) | Action::Merge(_) | Action::Add(_) => Ok(table == Table::Response && is_there),
            Action::Set(value) | Action::SetIfEmpty(value) if table == Table::Always && !is_there => {
                let value = value.text(message)?;
                message.remove(Table::Response, name);
                message.add(Table::Response, name, value);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn applies(&self, message: &dyn Message) -> Result<bool, EvalError> {
        match &self.condition {
            None => Ok(true),
            Some(Condition::Env { name, set }) => Ok(message.env(name).is_some() == *set),
            Some(Condition::Expr(expr)) => expr.test(message.expression_host(), &mut Captures::new()),
        }
    }
}

fn replace(table: Table, name: &str, values: Vec<Vec<u8>>, message: &mut dyn Message) {
    message.remove(table, name);
    for value in values {
        message.add(table, name, value);
    }
}

/// Appends to the first field of the name, after a comma.
fn append(table: Table, name: &str, value: Vec<u8>, message: &mut dyn Message) {
    let mut values = message.values(table, name);
    match values.first_mut() {
        None => message.add(table, name, value),
        Some(first) => {
            first.extend_from_slice(b", ");
            first.extend_from_slice(&value);
            replace(table, name, values, message);
        }
    }
}

/// Returns whether a comma-separated list has this element; commas in quotes do not separate.
fn has_element(list: &[u8], element: &[u8]) -> bool {
    let mut quoted = false;
    let separates = |byte: &u8| {
        quoted ^= *byte == b'"';
        *byte == b',' && !quoted
    };
    list.split(separates).any(|part| part.trim_ascii_start() == element)
}

fn echo(regex: &Regex, message: &mut dyn Message) -> Result<(), EvalError> {
    let mut matching = Vec::new();
    for (name, value) in message.request_fields() {
        if regex.is_match(name.as_bytes())? {
            matching.push((name, value));
        }
    }
    // Only now: a match that stops is asked for again with all others.
    for (name, value) in matching {
        message.add(Table::Response, &name, value);
    }
    Ok(())
}

/// Replaces the first match, or with `all` every one; after a match each search begins anew, so that `^`
/// matches there again, as in Apache. An empty match ends the search.
fn edit(regex: &Regex, value: &[u8], replacement: &[u8], all: bool) -> Result<Vec<u8>, EvalError> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    loop {
        let mut captures = Captures::new();
        let found = regex.capture(rest, &mut captures)?;
        let Some((start, end)) = captures.span(0).filter(|_| found) else { break };
        out.extend_from_slice(&rest[..start]);
        out.extend_from_slice(&substitute(replacement, &captures));
        rest = &rest[end..];
        if !all || start == end {
            break;
        }
    }
    out.extend_from_slice(rest);
    Ok(out)
}

impl Value {
    fn text(&self, message: &dyn Message) -> Result<Vec<u8>, EvalError> {
        match self {
            Self::Expr(expr) => expr.string(message.expression_host(), &Captures::new()),
            Self::Pieces(pieces) => {
                let mut text = Vec::new();
                for piece in pieces {
                    piece.write(message, &mut text);
                }
                Ok(text)
            }
        }
    }
}

impl Piece {
    fn write(&self, message: &dyn Message, out: &mut Vec<u8>) {
        let (began, now) = message.times();
        let written = match self {
            Self::Text(text) => out.write_all(text),
            Self::Began => write!(out, "t={began}"),
            Self::Duration => write!(out, "D={}", now - began),
            Self::Load => {
                let [one, five, fifteen] = message.load();
                write!(out, "l={one:.2}/{five:.2}/{fifteen:.2}")
            }
            Self::Busy => write!(out, "b={}", message.busy_percent()),
            Self::Idle => write!(out, "i={}", 100_u32.saturating_sub(message.busy_percent())),
            Self::Env(name) => out.write_all(&unfolded(message.env(name))),
            Self::Ssl(name) => out.write_all(&unfolded(message.ssl_variable(name))),
        };
        debug_assert!(written.is_ok(), "writing to memory cannot fail");
    }
}

/// A value on one line; what is not there is `(null)`.
fn unfolded(value: Option<Cow<'_, [u8]>>) -> Vec<u8> {
    let mut value = value.map_or_else(|| b"(null)".to_vec(), Cow::into_owned);
    for byte in &mut value {
        if matches!(byte, b'\r' | b'\n') {
            *byte = b' ';
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_expr::RegexOptions;

    #[test]
    fn editing() {
        for (pattern, value, replacement, all, expected) in [
            ("a", "banana", "x", false, "bxnana"),
            ("a", "banana", "x", true, "bxnxnx"),
            ("(a)(n)", "banana", "$2$1-", true, "bna-na-a"),
            ("^", "abc", "x-", true, "x-abc"),
            ("^.", "abc", "x", true, "xxx"),
            ("q", "abc", "x", true, "abc"),
            ("$", "abc", ";x", false, "abc;x"),
        ] {
            let regex = Regex::new(pattern, RegexOptions::default()).unwrap();
            let edited = edit(&regex, value.as_bytes(), replacement.as_bytes(), all).unwrap();
            assert_eq!(String::from_utf8(edited).unwrap(), expected, "{pattern}");
        }
    }

    #[test]
    fn elements_of_lists() {
        let list = b"a, \"b, c\",d e ,f";
        for (element, expected) in [
            ("a", true),
            ("\"b, c\"", true),
            ("c\"", false),
            ("d e ", true),
            ("d e", false),
            ("f", true),
            ("", false),
        ] {
            assert_eq!(has_element(list, element.as_bytes()), expected, "{element}");
        }
    }
}
