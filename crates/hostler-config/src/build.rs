//! From the tree to the configuration: each line is found in the table, checked against its context and its
//! arity, and carried out.

pub(crate) mod handlers;
pub(crate) mod pairs;
mod server;
mod users;

use crate::builder::Language;
use crate::command::Context;
use crate::directives::perl::declared;
use crate::lexer::words;
use crate::section::Setting;
use crate::table::{Action, Args, Arity, Contexts, Directive, Overrides};
use crate::{Command, Node, modules};

/// Sections deeper than this are an error.
const MAX_DEPTH: u32 = 32;

const NEVER: &str = "is not allowed in .htaccess files";
const NOT_SUPPORTED: &str = "is not supported";

/// All directives, and how they are carried out.
pub(crate) const LANGUAGE: Language =
    Language { run, find: |name| modules::find(name).map(|(_, directive)| directive) };

/// Runs directives one after the other.
fn run(cmd: &mut Command<'_>, nodes: &[Node]) {
    if cmd.builder.depth == MAX_DEPTH {
        let message = format!("sections nest deeper than {MAX_DEPTH} levels");
        cmd.builder.error(cmd.origin, cmd.directive.name, message, String::new());
        return;
    }
    cmd.builder.depth += 1;
    let (origin, directive) = (cmd.origin, cmd.directive);
    for node in nodes {
        cmd.origin = node.origin;
        step(cmd, node);
        if cmd.builder.is_over(node.origin) {
            break;
        }
    }
    (cmd.origin, cmd.directive) = (origin, directive);
    cmd.builder.depth -= 1;
}

fn step(cmd: &mut Command<'_>, node: &Node) {
    let declared = declared::find(&cmd.builder.facts, &node.name, cmd.builder.host.or(cmd.builder.filling));
    let own = modules::find(&node.name).map(|(_, directive)| directive);
    let is_early = own.is_some()
        && cmd.builder.host.is_none()
        && !cmd.builder.facts.also_declared.contains(&node.origin);
    let declared = declared.filter(|_| !is_early);
    if own.is_none() && declared.is_none() {
        return unknown(cmd, node);
    }
    // A module may add what there is already: then both are carried out, as by Apache.
    for directive in own.into_iter().chain(declared) {
        one(cmd, directive, node);
    }
}

fn one(cmd: &mut Command<'_>, directive: &'static Directive, node: &Node) {
    cmd.directive = directive;
    let done = match check(cmd, directive, node) {
        Verdict::Go => carry_out(cmd, directive, node),
        Verdict::Skip => Ok(()),
        Verdict::Wrong(message) => Err(message),
    };
    if let Err(message) = done {
        cmd.builder.error(node.origin, directive.name, message, directive.full_form());
    }
}

fn unknown(cmd: &mut Command<'_>, node: &Node) {
    if cmd.builder.allow.as_ref().is_some_and(|allow| allow.nonfatal.unknown) {
        return cmd.warn(crate::unknown("directive", &node.name, &[]));
    }
    let mut message = "unknown directive".to_owned();
    let whose = || {
        let loaded = &cmd.builder.facts.foreign;
        modules::foreign::whose(&node.name, loaded, |at| format!("{}:{}", cmd.builder.file(at), at.line))
    };
    let nearest = modules::nearest(&node.name);
    // A directive that is like one that Hostler refuses is more likely one of the same module's.
    let is_there = |name: &&str| modules::find(name).is_some_and(|(_, found)| found.is_carried_out());
    if let Some(nearest) = nearest.filter(is_there) {
        message += &format!("; did you mean {nearest}?");
    } else if let Some(whose) = whose() {
        message += &format!("; {whose}");
    } else if let Some(nearest) = nearest {
        message += &format!("; did you mean {nearest}?");
    }
    cmd.builder.error(node.origin, &node.name, message, String::new());
}

/// The verdict on a line.
enum Verdict {
    Go,
    Skip,
    Wrong(String),
}

/// Returns whether the directive may stand here.
fn check(cmd: &mut Command<'_>, directive: &Directive, node: &Node) -> Verdict {
    match (directive.action, &node.children) {
        (Action::Set(_), Some(_)) => return Verdict::Wrong("is not a section".to_owned()),
        // Of a few names there are lines and sections.
        (Action::Section(_), None) if directive.arity == Arity::RawArgs => {
            return Verdict::Wrong("is a section and needs its brackets".to_owned());
        }
        // Its reason counts wherever it stands.
        (Action::Refused(_), _) if !cmd.is_htaccess() => return Verdict::Go,
        _ => {}
    }
    let bit = match cmd.context {
        Context::Htaccess => return check_htaccess(cmd, directive),
        _ if cmd.inside.any() => Contexts::DIR_BIT,
        Context::VirtualHost => Contexts::VHOST_BIT,
        Context::Main => Contexts::MAIN_BIT,
    };
    if directive.contexts.has(bit) {
        return Verdict::Go;
    }
    let why = match cmd.context {
        _ if cmd.inside.any() => "is not allowed inside a section",
        Context::VirtualHost => "is not allowed in <VirtualHost>",
        _ => "is only allowed inside a section such as <Directory>",
    };
    Verdict::Wrong(why.to_owned())
}

fn check_htaccess(cmd: &mut Command<'_>, directive: &Directive) -> Verdict {
    let Some(allow) = &cmd.builder.allow else {
        return if directive.contexts.in_htaccess() { Verdict::Go } else { Verdict::Wrong(never(directive)) };
    };
    if !directive.contexts.in_htaccess() {
        if allow.nonfatal.overrides {
            cmd.warn(format!("{} {NEVER}", directive.name));
            return Verdict::Skip;
        }
        return Verdict::Wrong(never(directive));
    }
    if allow.permits(directive) {
        return Verdict::Go;
    }
    let names = directive.overrides.names().join(" or ");
    let message = match directive.overrides {
        Overrides::NONE => "is not allowed here (requires AllowOverrideList to name it)".to_owned(),
        Overrides::ALL => "is not allowed here (requires AllowOverride with any class)".to_owned(),
        _ => format!("is not allowed here (requires AllowOverride {names})"),
    };
    if allow.nonfatal.overrides {
        cmd.warn(format!("{} {message}", directive.name));
        return Verdict::Skip;
    }
    Verdict::Wrong(message)
}

/// Why a directive is not for .htaccess files: one that is refused everywhere has a reason of its own.
fn never(directive: &Directive) -> String {
    match directive.action {
        Action::Refused(why) => format!("{NOT_SUPPORTED}: {why}"),
        _ => NEVER.to_owned(),
    }
}

fn carry_out(cmd: &mut Command<'_>, directive: &'static Directive, node: &Node) -> Result<(), String> {
    let setting =
        || Setting { directive: directive.name, args: node.args.as_str().into(), origin: node.origin };
    match directive.action {
        Action::Set(set) => {
            cmd.builder.trail.push(setting());
            apply(cmd, directive.arity, set, &node.args)
        }
        Action::Section(open) => {
            if directive.name.starts_with("Require") || directive.name.starts_with("Limit") {
                cmd.builder.trail.push(setting());
            }
            let args = Args { words: words(&node.args), raw: node.args.clone() };
            open(cmd, &args, node.children.as_deref().unwrap_or_default())
        }
        Action::Ignored(why) => {
            let message = format!("{} is ignored: {why}", directive.name);
            cmd.builder.warn_ignored(directive.name, node.origin, message);
            Ok(())
        }
        Action::RefusedUnless(word, _)
            if words(&node.args).iter().map(|w| w.to_ascii_lowercase()).eq([word]) =>
        {
            Ok(())
        }
        Action::Refused(why) | Action::RefusedUnless(_, why) => Err(format!("{NOT_SUPPORTED}: {why}")),
        Action::Read => Err("is not supported here".to_owned()),
    }
}

type Set = fn(&mut Command<'_>, &Args) -> Result<(), String>;

/// Splits the arguments as the arity says and calls the function.
fn apply(cmd: &mut Command<'_>, arity: Arity, set: Set, raw: &str) -> Result<(), String> {
    let args = |words| Args { words, raw: raw.to_owned() };
    if arity == Arity::RawArgs {
        return set(cmd, &args(Vec::new()));
    }
    let mut given = words(raw);
    let (least, most, says) = limits(arity);
    if given.iter().take(filled(arity)).any(String::is_empty) {
        return Err(format!("takes {says}, not an empty one"));
    }
    if given.len() < least || given.len() > most {
        return Err(format!("takes {says}, not {}", given.len()));
    }
    // Quirk(apache): an empty word ends a list.
    if matches!(arity, Arity::Iterate | Arity::Iterate2)
        && let Some(end) = given.iter().position(String::is_empty)
    {
        given.truncate(end);
    }
    match arity {
        Arity::Iterate => given.into_iter().try_for_each(|word| set(cmd, &args(vec![word]))),
        Arity::Iterate2 => {
            let (first, rest) = given.split_first().ok_or("takes two or more arguments")?;
            rest.iter().try_for_each(|word| set(cmd, &args(vec![first.clone(), word.clone()])))
        }
        Arity::Flag if !["on", "off"].contains(&given[0].to_ascii_lowercase().as_str()) => {
            Err(crate::unknown("value", &given[0], &["On", "Off"]))
        }
        _ => set(cmd, &args(given)),
    }
}

/// Returns how many of the first arguments must not be empty: an optional argument may be empty, too.
fn filled(arity: Arity) -> usize {
    match arity {
        Arity::NoArgs | Arity::RawArgs | Arity::TakeArgv => 0,
        Arity::Take2 | Arity::Take23 => 2,
        Arity::Take3 => 3,
        _ => 1,
    }
}

/// Fewest and most arguments, and how an error says it.
fn limits(arity: Arity) -> (usize, usize, &'static str) {
    match arity {
        Arity::NoArgs => (0, 0, "no arguments"),
        Arity::Take1 | Arity::Flag => (1, 1, "one argument"),
        Arity::Take2 => (2, 2, "two arguments"),
        Arity::Take3 => (3, 3, "three arguments"),
        Arity::Take12 => (1, 2, "one or two arguments"),
        Arity::Take13 => (1, 3, "one or three arguments"),
        Arity::Take23 => (2, 3, "two or three arguments"),
        Arity::Take123 => (1, 3, "one, two or three arguments"),
        Arity::TakeArgv | Arity::RawArgs => (0, usize::MAX, "any number of arguments"),
        Arity::Iterate => (1, usize::MAX, "at least one argument"),
        Arity::Iterate2 => (2, usize::MAX, "at least two arguments"),
    }
}
