//! Directives of mod_setenvif: variables that depend on the request. [`apply`] carries them out, once with the
//! server's rules when the request has been read, once with its directory's.

mod apply;

pub use apply::{Need, Pause, Request, apply};

use super::alias::substitute;
use crate::{
    Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, first_word, unset_part,
    words,
};
use hostler_expr::{Expr, Flags, Kind, Regex};
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module {
    name: "setenvif_module",
    file: "mod_setenvif.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "SetEnvIf",
        Arity::RawArgs,
        "attribute regex [!]variable[=value] ...",
        "Set variables if an attribute of the request matches a regular expression",
        |command, args| set_env_if(command, args, false),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "SetEnvIfNoCase",
        Arity::RawArgs,
        "attribute regex [!]variable[=value] ...",
        "Set variables if an attribute of the request matches, ignoring case",
        |command, args| set_env_if(command, args, true),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "SetEnvIfExpr",
        Arity::RawArgs,
        "expression [!]variable[=value] ...",
        "Set variables if an expression is true",
        set_env_if_expr,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "BrowserMatch",
        Arity::RawArgs,
        "regex [!]variable[=value] ...",
        "Set variables if User-Agent matches a regular expression",
        |command, args| matching(command, Subject::Header("User-Agent".into()), &args.raw, false),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "BrowserMatchNoCase",
        Arity::RawArgs,
        "regex [!]variable[=value] ...",
        "Set variables if User-Agent matches, ignoring case",
        |command, args| matching(command, Subject::Header("User-Agent".into()), &args.raw, true),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
];

/// Something about a request that is neither header nor variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `Remote_Host`: the client's name, if known, else its address.
    RemoteHost,
    /// `Remote_Addr`
    RemoteAddr,
    /// `Server_Addr`
    ServerAddr,
    /// `Request_Method`
    RequestMethod,
    /// `Request_Protocol`
    RequestProtocol,
    /// `Request_URI`: the path.
    RequestUri,
}

/// The subject of a rule.
#[derive(Clone, Debug)]
pub enum Subject {
    /// One of the six attributes.
    Attribute(Attribute),
    /// A field of the request's header, or else a variable that has been set before.
    Header(Box<str>),
    /// The first field of the request's header whose name matches.
    HeaderMatching(Regex),
}

/// When a rule applies.
#[derive(Clone, Debug)]
pub enum Test {
    /// The subject, empty if there is none, matches.
    Match(Subject, Regex),
    /// The expression holds.
    Expr(Expr),
}

/// A rule's action on one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: Box<str>,
    /// The value, in which `$1` means a group of the regular expression; `None`: unset it.
    pub value: Option<Box<str>>,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// When it applies.
    pub test: Test,
    /// The variables that it sets and unsets, in order.
    pub assignments: Vec<Assignment>,
}

/// Rules in order.
pub type Rules = Vec<Arc<Rule>>;

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// Rules in sections and .htaccess files.
    pub rules: Rules,
}

impl Merge for Dir {
    fn merge(&self, over: &Self) -> Self {
        Self { rules: [&self.rules[..], &over.rules].concat() }
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Rules outside of sections.
    pub rules: Rules,
}

impl Merge for Server {
    fn merge(&self, over: &Self) -> Self {
        Self { rules: [&self.rules[..], &over.rules].concat() }
    }

    unset_part!(Server);
}

fn set_env_if(command: &mut Command<'_>, args: &Args, ignore_case: bool) -> Result<(), String> {
    let (name, rest) = first_word(&args.raw).ok_or("the attribute is missing")?;
    let subject = subject(command, &name)?;
    matching(command, subject, rest, ignore_case)
}

fn subject(command: &Command<'_>, name: &str) -> Result<Subject, String> {
    let attributes = [
        ("Remote_Host", Attribute::RemoteHost),
        ("Remote_Addr", Attribute::RemoteAddr),
        ("Server_Addr", Attribute::ServerAddr),
        ("Request_Method", Attribute::RequestMethod),
        ("Request_Protocol", Attribute::RequestProtocol),
        ("Request_URI", Attribute::RequestUri),
    ];
    if let Some((_, attribute)) = attributes.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return Ok(Subject::Attribute(*attribute));
    }
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if plain {
        return Ok(Subject::Header(name.into()));
    }
    // HTTP/2 has names in small letters only, and their case means nothing (RFC 9110 §5.1).
    Ok(Subject::HeaderMatching(command.regex(name, true)?))
}

fn matching(
    command: &mut Command<'_>,
    subject: Subject,
    text: &str,
    ignore_case: bool,
) -> Result<(), String> {
    let (pattern, rest) = first_word(text)
        .filter(|(pattern, _)| !pattern.is_empty())
        .ok_or("the regular expression is missing")?;
    let regex = command.regex(&pattern, ignore_case)?;
    // Quirk(Apache): what a pattern of plain characters sets is taken as it is written.
    let means_groups = !is_plain(&pattern);
    add(command, Test::Match(subject, regex), rest, means_groups)
}

/// Returns whether a pattern has no characters that mean something, or only such as are escaped.
fn is_plain(pattern: &str) -> bool {
    const SPECIAL: &str = "^.$|()[]*+?{}";
    let mut is_escaped = false;
    for character in pattern.chars() {
        let is_special = SPECIAL.contains(character);
        match character {
            '\\' => is_escaped = !is_escaped,
            _ if is_special != is_escaped => return false,
            _ => is_escaped = false,
        }
    }
    true
}

fn set_env_if_expr(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (text, rest) = first_word(&args.raw).ok_or("the expression is missing")?;
    let expr = command.expr(&text, Kind::Boolean, Flags::default())?;
    add(command, Test::Expr(expr), rest, true)
}

/// `means_groups`: `$1` in values means a group of the pattern.
fn add(command: &mut Command<'_>, test: Test, variables: &str, means_groups: bool) -> Result<(), String> {
    let mut assignments: Vec<Assignment> = words(variables).iter().map(|word| assignment(word)).collect();
    if !means_groups {
        for value in assignments.iter_mut().filter_map(|assignment| assignment.value.as_mut()) {
            *value = value.replace('\\', "\\\\").replace('$', "\\$").into();
        }
    }
    if assignments.is_empty() {
        return Err("a variable is missing".into());
    }
    let rule = Arc::new(Rule { test, assignments });
    if command.inside.any() || command.is_htaccess() {
        command.dir.setenvif.rules.push(rule);
    } else {
        command.server.setenvif.rules.push(rule);
    }
    Ok(())
}

/// Reads `name`, `!name` or `name=value`; a value that begins with `!` unsets, as in Apache.
fn assignment(word: &str) -> Assignment {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    match (name.strip_prefix('!'), value) {
        (Some(name), "") => Assignment { name: name.into(), value: None },
        (_, "") => Assignment { name: name.into(), value: Some("1".into()) },
        (_, value) if value.starts_with('!') => Assignment { name: name.into(), value: None },
        (_, value) => Assignment { name: name.into(), value: Some(value.into()) },
    }
}

#[cfg(test)]
mod tests;
