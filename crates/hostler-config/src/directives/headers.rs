//! Directives of mod_headers: changes to the fields of requests and answers. [`apply`] carries them out.

mod apply;
mod format;

pub use apply::{Message, Pause, Phase, Table, apply};
pub use format::{Piece, Value};

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, unset_part, words};
use hostler_expr::{Expr, Place, Regex};
use std::sync::Arc;

/// The module.
pub static MODULE: Module =
    Module { name: "headers_module", file: "mod_headers.c", directives: DIRECTIVES, effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Header",
        Arity::RawArgs,
        "[always|onsuccess] set|setifempty|append|merge|add|unset|echo|edit|edit*|note field [value [replacement]] \
         [early|env=[!]variable|expr=expression]",
        "Change response header fields",
        header,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "RequestHeader",
        Arity::RawArgs,
        "set|setifempty|append|merge|add|unset|edit|edit*|note field [value [replacement]] \
         [early|env=[!]variable|expr=expression]",
        "Change request header fields before the handler runs",
        request_header,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
];

/// When a rule applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `env=`: the variable is set, or, with `!`, is not.
    Env {
        /// The variable.
        name: Box<str>,
        /// `false` for `!`.
        set: bool,
    },
    /// `expr=`
    Expr(Expr),
}

/// The action of a rule.
#[derive(Clone, Debug)]
pub enum Action {
    /// Replaces the field.
    Set(Value),
    /// Sets the field if there is none.
    SetIfEmpty(Value),
    /// Appends to the field, after a comma.
    Append(Value),
    /// Appends unless the value is already in the field's list.
    Merge(Value),
    /// Adds another field of this name.
    Add(Value),
    /// Removes the field.
    Unset,
    /// Copies the request's fields whose names match into the answer.
    Echo(Regex),
    /// Replaces what matches in the field's value, once or everywhere.
    Edit {
        /// The pattern.
        regex: Regex,
        /// The replacement, with `$1`.
        replacement: Value,
        /// `edit*`: everywhere.
        all: bool,
    },
    /// Copies the field's value into the note of this name.
    Note(Value),
}

/// A Header or RequestHeader line.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The field's name.
    pub field: Box<str>,
    /// The action.
    pub action: Action,
    /// When.
    pub condition: Option<Condition>,
    /// `early`: as soon as the request has been read, before its directory is known.
    pub early: bool,
    /// Its place.
    pub place: Place,
}

/// A directory's settings; each list in the order of the files.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// RequestHeader
    pub request: Vec<Arc<Rule>>,
    /// Header, for answers that are no error pages.
    pub response: Vec<Arc<Rule>>,
    /// `Header always`, for all answers.
    pub always: Vec<Arc<Rule>>,
}

impl Dir {
    /// Returns whether all rules are about responses, and change equal responses in the same way for every client at any
    /// time.
    #[must_use]
    pub fn is_same_for_all(&self) -> bool {
        self.request.is_empty() && self.response.iter().chain(&self.always).all(|rule| rule.is_same_for_all())
    }
}

impl Rule {
    fn is_same_for_all(&self) -> bool {
        let is_fixed = match &self.action {
            Action::Set(value)
            | Action::SetIfEmpty(value)
            | Action::Append(value)
            | Action::Merge(value)
            | Action::Add(value)
            | Action::Note(value)
            | Action::Edit { replacement: value, .. } => value.literal().is_some(),
            Action::Unset => true,
            Action::Echo(_) => false,
        };
        is_fixed && self.condition.is_none()
    }
}

impl Merge for Dir {
    fn merge(&self, over: &Self) -> Self {
        Self {
            request: [&self.request[..], &over.request].concat(),
            response: [&self.response[..], &over.response].concat(),
            always: [&self.always[..], &over.always].concat(),
        }
    }

    unset_part!(Dir);
}

/// mod_headers has nothing per server.
pub type Server = ();

fn header(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let mut given = words(&args.raw);
    let table = given.first().map(|word| word.to_ascii_lowercase());
    let always = table.as_deref() == Some("always");
    if always || table.as_deref() == Some("onsuccess") {
        given.remove(0);
    }
    let rule = Arc::new(rule(command, &given, true)?);
    let dir = &mut command.dir.headers;
    if always {
        dir.always.push(rule);
    } else {
        dir.response.push(rule);
    }
    Ok(())
}

fn request_header(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let rule = Arc::new(rule(command, &words(&args.raw), false)?);
    command.dir.headers.request.push(rule);
    Ok(())
}

/// Reads `action field [value [replacement]] [condition]`.
fn rule(command: &Command<'_>, given: &[String], response: bool) -> Result<Rule, String> {
    let [action, field, rest @ ..] = given else { return Err("takes an action and a field".into()) };
    let action = action.to_ascii_lowercase();
    let operands = match &action[..] {
        "unset" | "echo" => 0,
        "edit" | "edit*" => 2,
        _ => 1,
    };
    let (operands, clause) = rest.split_at_checked(operands).ok_or(match operands {
        2 => "an expression to look for and a replacement are missing",
        _ => "the value is missing",
    })?;
    if clause.len() > 1 {
        return Err("too many arguments".into());
    }
    let value = |index: usize| Value::parse(command, &operands[index]);
    let action = match &action[..] {
        "set" => Action::Set(value(0)?),
        "setifempty" => Action::SetIfEmpty(value(0)?),
        "append" => Action::Append(value(0)?),
        "merge" => Action::Merge(value(0)?),
        "add" => Action::Add(value(0)?),
        "note" if response => Action::Note(value(0)?),
        "unset" => Action::Unset,
        // HTTP/2 has names in small letters only, and their case means nothing (RFC 9110 §5.1).
        "echo" if response => Action::Echo(command.regex(field, true)?),
        "edit" | "edit*" => Action::Edit {
            regex: command.regex(&operands[0], false)?,
            replacement: value(1)?,
            all: action == "edit*",
        },
        _ => return Err(crate::unknown("action", &action, &[])),
    };
    let (condition, early) = clause.first().map_or(Ok((None, false)), |clause| condition(command, clause))?;
    Ok(Rule { field: field_name(field, &action)?, action, condition, early, place: command.line() })
}

/// A field's name, without a colon that some write after it.
fn field_name(text: &str, action: &Action) -> Result<Box<str>, String> {
    let name = text.split(':').next().unwrap_or(text);
    if matches!(action, Action::Echo(_)) {
        return Ok(text.into());
    }
    // What is no name of a field is answered with 500 when a request comes to it, as in Apache.
    if name.is_empty() {
        return Err(format!("\"{text}\" cannot be the name of a field"));
    }
    Ok(name.into())
}

fn condition(command: &Command<'_>, clause: &str) -> Result<(Option<Condition>, bool), String> {
    if clause.eq_ignore_ascii_case("early") {
        return Ok((None, true));
    }
    let (kind, text) = clause.split_once('=').unwrap_or((clause, ""));
    match &kind.to_ascii_lowercase()[..] {
        "env" => {
            let (name, set) = text.strip_prefix('!').map_or((text, true), |name| (name, false));
            if name.is_empty() {
                return Err("the name of a variable is missing after \"env=\"".into());
            }
            Ok((Some(Condition::Env { name: name.into(), set }), false))
        }
        "expr" => Ok((Some(Condition::Expr(command.condition(text)?)), false)),
        _ => Err(crate::unknown("clause", clause, &["early", "env=", "expr="])),
    }
}

#[cfg(test)]
mod tests;
