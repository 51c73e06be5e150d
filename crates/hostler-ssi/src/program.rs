//! Elements made ready to run: names resolved, values cut at their variables, codings and expressions read.
//!
//! Each element that takes attributes becomes a list of actions in the attributes' order, because their
//! order matters (`encoding` only counts for what follows it) and because an error stops at its place.

use hostler_expr::legacy::LegacyExpr;
use hostler_expr::{Expr, FileAccess, Flags, Kind};

use crate::coding::{Codings, decode_entities, until_nul};
use crate::lexer::{Fault, RawAttribute, RawElement};
use crate::need::FileFact;
use crate::value::Value;

/// A piece of a page.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its offset in the source.
    pub(crate) at: usize,
    pub(crate) element: Element,
}

#[derive(Debug)]
pub(crate) enum Element {
    /// Source up to this offset.
    Text(usize),
    Fault(Fault, Box<[u8]>),
    Unfinished,
    Unknown(Box<[u8]>),
    /// Too few attributes; the element's name.
    MissingArgument(&'static str),
    Comment,
    Config(Vec<ConfigAction>),
    Echo(Vec<EchoAction>),
    Set(Vec<SetAction>),
    Include(Vec<IncludeAction>),
    File(FileFact, Vec<FileAction>),
    Exec(Vec<ExecAction>),
    If(Condition),
    Elif(Condition),
    /// `else`, `endif` and `printenv` take no attributes; true if there were some.
    Else(bool),
    Endif(bool),
    Printenv(bool),
}

#[derive(Debug)]
pub(crate) enum ConfigAction {
    ErrorMessage(Value),
    EchoMessage(Value),
    TimeFormat(Value),
    SizeFormat(Value),
    Unknown(Box<[u8]>),
}

#[derive(Debug)]
pub(crate) enum EchoAction {
    Variable { name: Value, decoding: Codings, encoding: Codings },
    Unknown(Box<[u8]>),
}

#[derive(Debug)]
pub(crate) enum SetAction {
    Variable(Value),
    Value {
        value: Value,
        decoding: Codings,
        encoding: Codings,
    },
    /// A value before any variable.
    NoVariable,
    Unknown,
}

#[derive(Debug)]
pub(crate) enum IncludeAction {
    File(Value),
    Virtual(Value),
    OnError(Value),
    Unknown(Box<[u8]>),
}

#[derive(Debug)]
pub(crate) enum FileAction {
    File(Value),
    Virtual(Value),
    Unknown(Box<[u8]>),
}

#[derive(Debug)]
pub(crate) enum ExecAction {
    Command(Value),
    Cgi(Value),
    Unknown(Box<[u8]>),
}

/// The condition of `if` and `elif`.
#[derive(Debug)]
pub(crate) enum Condition {
    NoArgument,
    TooManyArguments,
    UnknownAttribute(Box<[u8]>),
    NoValue,
    Expression(Expr),
    Legacy(LegacyExpr),
    /// Text and reason of an expression that cannot be read.
    Unreadable(Box<str>, Box<str>),
}

impl Element {
    pub(crate) fn compile(raw: RawElement, legacy_expressions: bool) -> Element {
        let RawElement { name, attributes, fault } = raw;
        if let Some(fault) = fault {
            return Element::Fault(fault, name.into());
        }
        let given = !attributes.is_empty();
        match name.as_slice() {
            b"config" => list("config", &attributes, 1, config, Element::Config),
            b"echo" => with_codings("echo", &attributes, 1, CodingState::echo(), echo, Element::Echo),
            b"set" => with_codings("set", &attributes, 2, CodingState::set(), set, Element::Set),
            b"include" => list("include", &attributes, 1, include, Element::Include),
            b"fsize" => list("fsize", &attributes, 1, file, |actions| Element::File(FileFact::Size, actions)),
            b"flastmod" => {
                list("flastmod", &attributes, 1, file, |actions| Element::File(FileFact::Modified, actions))
            }
            b"exec" => list("exec", &attributes, 1, exec, Element::Exec),
            b"if" => Element::If(Condition::compile(attributes, legacy_expressions)),
            b"elif" => Element::Elif(Condition::compile(attributes, legacy_expressions)),
            b"else" => Element::Else(given),
            b"endif" => Element::Endif(given),
            b"printenv" => Element::Printenv(given),
            b"comment" => Element::Comment,
            _ => Element::Unknown(name.into()),
        }
    }
}

/// One action for each attribute, up to the first without a value: mod_include stops there in silence.
fn list<T>(
    name: &'static str,
    attributes: &[RawAttribute],
    least: usize,
    action: fn(&[u8], &[u8]) -> T,
    element: impl FnOnce(Vec<T>) -> Element,
) -> Element {
    if attributes.len() < least {
        return Element::MissingArgument(name);
    }
    let valued = attributes.iter().map_while(|attribute| Some((&attribute.name, attribute.value.as_ref()?)));
    element(valued.map(|(name, value)| action(until_nul(name), value)).collect())
}

/// The same for `echo` and `set`, where some attributes only change what follows.
fn with_codings<T>(
    name: &'static str,
    attributes: &[RawAttribute],
    least: usize,
    mut state: CodingState,
    action: fn(&[u8], &[u8], &mut CodingState) -> Option<T>,
    element: fn(Vec<T>) -> Element,
) -> Element {
    if attributes.len() < least {
        return Element::MissingArgument(name);
    }
    let valued = attributes.iter().map_while(|attribute| Some((&attribute.name, attribute.value.as_ref()?)));
    element(valued.filter_map(|(name, value)| action(until_nul(name), value, &mut state)).collect())
}

/// The settings for the next attribute of `echo` or `set`.
struct CodingState {
    decoding: Codings,
    encoding: Codings,
    has_variable: bool,
}

impl CodingState {
    fn echo() -> CodingState {
        CodingState { encoding: Codings::entity(), ..CodingState::set() }
    }

    fn set() -> CodingState {
        CodingState { decoding: Codings::default(), encoding: Codings::default(), has_variable: false }
    }
}

/// A value whose entities are decoded before its variables are looked for.
fn decoded(value: &[u8]) -> Value {
    let mut decoded = Vec::with_capacity(value.len());
    decode_entities(until_nul(value), &mut decoded);
    Value::parse(&decoded)
}

fn config(name: &[u8], value: &[u8]) -> ConfigAction {
    match name {
        b"errmsg" => ConfigAction::ErrorMessage(Value::parse(value)),
        b"echomsg" => ConfigAction::EchoMessage(Value::parse(value)),
        b"timefmt" => ConfigAction::TimeFormat(Value::parse(value)),
        b"sizefmt" => ConfigAction::SizeFormat(Value::parse(value)),
        _ => ConfigAction::Unknown(name.into()),
    }
}

fn echo(name: &[u8], value: &[u8], state: &mut CodingState) -> Option<EchoAction> {
    let mut decoded_value = Vec::new();
    decode_entities(until_nul(value), &mut decoded_value);
    match name {
        b"var" => {
            let name = Value::parse(&decoded_value);
            let (decoding, encoding) = (state.decoding.clone(), state.encoding.clone());
            return Some(EchoAction::Variable { name, decoding, encoding });
        }
        b"decoding" => state.decoding = Codings::parse(&decoded_value),
        b"encoding" => state.encoding = Codings::parse(&decoded_value),
        _ => return Some(EchoAction::Unknown(name.into())),
    }
    None
}

fn set(name: &[u8], value: &[u8], state: &mut CodingState) -> Option<SetAction> {
    match name {
        b"var" => {
            state.has_variable = true;
            return Some(SetAction::Variable(decoded(value)));
        }
        b"value" if !state.has_variable => return Some(SetAction::NoVariable),
        b"value" => {
            let value = Value::parse(value);
            let (decoding, encoding) = (state.decoding.clone(), state.encoding.clone());
            return Some(SetAction::Value { value, decoding, encoding });
        }
        b"decoding" => state.decoding = Codings::parse(until_nul(value)),
        b"encoding" => state.encoding = Codings::parse(until_nul(value)),
        _ => return Some(SetAction::Unknown),
    }
    None
}

fn include(name: &[u8], value: &[u8]) -> IncludeAction {
    match name {
        b"file" => IncludeAction::File(decoded(value)),
        b"virtual" => IncludeAction::Virtual(decoded(value)),
        b"onerror" => IncludeAction::OnError(decoded(value)),
        _ => IncludeAction::Unknown(name.into()),
    }
}

fn file(name: &[u8], value: &[u8]) -> FileAction {
    match name {
        b"file" => FileAction::File(decoded(value)),
        b"virtual" => FileAction::Virtual(decoded(value)),
        _ => FileAction::Unknown(name.into()),
    }
}

fn exec(name: &[u8], value: &[u8]) -> ExecAction {
    match name {
        b"cmd" => ExecAction::Command(decoded(value)),
        b"cgi" => ExecAction::Cgi(decoded(value)),
        _ => ExecAction::Unknown(name.into()),
    }
}

impl Condition {
    fn compile(mut attributes: Vec<RawAttribute>, legacy: bool) -> Condition {
        let attribute = match (attributes.pop(), attributes.is_empty()) {
            (None, _) => return Condition::NoArgument,
            (Some(_), false) => return Condition::TooManyArguments,
            (Some(attribute), true) => attribute,
        };
        let name = until_nul(&attribute.name);
        if name != b"expr" {
            return Condition::UnknownAttribute(name.into());
        }
        match attribute.value {
            None => Condition::NoValue,
            Some(value) if legacy => Condition::legacy(until_nul(&value)),
            Some(value) => Condition::expression(&String::from_utf8_lossy(until_nul(&value))),
        }
    }

    /// An expression of the server's own language. It is not searched for `$name`; `v('name')` is its way
    /// to variables.
    fn expression(source: &str) -> Condition {
        let flags = Flags { files: FileAccess::Nothing, ssi: true, ..Flags::default() };
        match Expr::parse(source, Kind::Boolean, flags) {
            Ok(expression) => Condition::Expression(expression),
            Err(error) => Condition::Unreadable(source.into(), error.to_string().into()),
        }
    }

    /// An expression of Apache 2.2's language. Variables are put in its words when it is evaluated.
    fn legacy(source: &[u8]) -> Condition {
        match LegacyExpr::parse(source) {
            Ok(expression) => Condition::Legacy(expression),
            Err(error) => {
                Condition::Unreadable(String::from_utf8_lossy(source).into(), error.to_string().into())
            }
        }
    }
}
