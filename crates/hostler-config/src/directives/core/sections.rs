//! The sections: Directory, Files, Location, If, Limit and their variants.

use crate::command::Context;
use crate::raw::RawServer;
use crate::section::{Kind, MethodSet, Pattern, Section};
use crate::{Args, Command, Contexts, Directive, Effect, Inside, Node, Overrides, Place};
use hostler_expr::Regex;
use std::sync::Arc;

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::section(
        "Directory",
        "<Directory [~] path>",
        "Apply directives to a directory and its subdirectories",
        directory,
    ),
    Directive::section(
        "DirectoryMatch",
        "<DirectoryMatch regex>",
        "Apply directives to directories that match a regular expression",
        directory,
    ),
    Directive::section(
        "Location",
        "<Location [~] URL-path>",
        "Apply directives to a URL path and everything below it",
        location,
    ),
    Directive::section(
        "LocationMatch",
        "<LocationMatch regex>",
        "Apply directives to URL paths that match a regular expression",
        location,
    ),
    Directive::section("Files", "<Files [~] name>", "Apply directives to files with a name", files)
        .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::section(
        "FilesMatch",
        "<FilesMatch regex>",
        "Apply directives to files that match a regular expression",
        files,
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::section("If", "<If expression>", "Apply directives if a condition is true", condition)
        .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::section(
        "ElseIf",
        "<ElseIf expression>",
        "Apply directives if a condition is true and those of the preceding If and ElseIf sections are false",
        condition,
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::section(
        "Else",
        "<Else>",
        "Apply directives if the conditions of the preceding If and ElseIf sections are false",
        condition,
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::section("Limit", "<Limit method ...>", "Apply access rules to the listed methods only", limit)
        .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG_OR_LIMIT),
    Directive::section(
        "LimitExcept",
        "<LimitExcept method ...>",
        "Apply access rules to all methods except the listed ones",
        limit,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG_OR_LIMIT),
    // Without it another virtual host would answer.
    Directive::section(
        "VirtualHost",
        "<VirtualHost address[:port] ...>",
        "Apply directives to one virtual host",
        virtual_host,
    )
    .with_effect(Effect::Guards),
];

/// Apache's functions on paths know `*`, `?` and `[`.
fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// The words of a section line: the pattern, and whether it is a regular expression.
pub(in crate::directives) fn pattern<'a>(
    cmd: &Command<'_>,
    args: &'a Args,
) -> Result<(&'a str, Option<Regex>), String> {
    let matches = cmd.directive.name.ends_with("Match");
    let mut words = args.words.iter().map(String::as_str);
    // The name of a directory's own URL is empty.
    let is_some = |path: &&str| !path.is_empty() || cmd.directive.name.starts_with("Files");
    let mut path = words.next().filter(is_some).ok_or("needs a path or pattern")?;
    let tilde = !matches && path == "~";
    if tilde {
        path = words.next().filter(is_some).ok_or("needs a regular expression after ~")?;
    }
    if words.next().is_some() {
        return Err("takes one path; quote it if it has spaces".to_owned());
    }
    let regex = if matches || tilde { Some(cmd.regex(path, false)?) } else { None };
    Ok((path, regex))
}

/// Runs the contents and makes the section.
pub(in crate::directives) fn make(
    cmd: &mut Command<'_>,
    args: &Args,
    place: Option<&Place>,
    what: (Kind, Pattern),
    nodes: &[Node],
) -> Section {
    let (kind, pattern) = what;
    let mut inside = cmd.inside;
    match kind {
        Kind::Directory => inside.directory = true,
        Kind::Location => inside.location = true,
        Kind::Files => inside.files = true,
        Kind::If => inside.condition = true,
        Kind::Proxy => inside.proxy = true,
    }
    let id = cmd.builder.section_id();
    let origin = cmd.origin;
    let name = cmd.directive.name;
    let title = if args.raw.is_empty() { format!("<{name}>") } else { format!("<{name} {}>", args.raw) };
    let (conf, settings) = cmd.fill(place, inside, nodes);
    let conf = Arc::new(conf);
    Section { id, kind, pattern, conf, origin, depth: 0, settings, title: title.into() }
}

fn not_inside(inside: Inside) -> Result<(), String> {
    if inside.any() || inside.limit {
        Err("is not allowed inside another section".to_owned())
    } else {
        Ok(())
    }
}

fn directory(cmd: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    not_inside(cmd.inside)?;
    let (path, regex) = pattern(cmd, args)?;
    let (path, pattern) = match regex.clone() {
        Some(regex) => (path.to_owned(), Pattern::Regex(regex)),
        None if !path.starts_with('/') => return Err(format!("\"{path}\" is not an absolute path")),
        None => {
            let path = normal_path(path)?;
            let bytes = path.as_bytes().into();
            let pattern = if is_glob(&path) { Pattern::Glob(bytes) } else { Pattern::Plain(bytes) };
            (path, pattern)
        }
    };
    let depth = path.split('/').filter(|part| !part.is_empty()).count();
    let place = Place { kind: Kind::Directory, path: path.into(), regex };
    let mut section = make(cmd, args, Some(&place), (Kind::Directory, pattern), nodes);
    section.depth = u32::try_from(depth).unwrap_or(u32::MAX);
    cmd.directories.push(Arc::new(section));
    Ok(())
}

/// Without `.`, `..`, empty parts and the slash at the end.
pub(crate) fn normal_path(path: &str) -> Result<String, String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Err(format!("\"{path}\" leads above the root")),
            ".." => {}
            part => parts.push(part),
        }
    }
    Ok(format!("/{}", parts.join("/")))
}

fn location(cmd: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    not_inside(cmd.inside)?;
    let (path, regex) = pattern(cmd, args)?;
    let pattern = plain_or_regex(path, regex.as_ref());
    let place = Place { kind: Kind::Location, path: path.into(), regex };
    let section = make(cmd, args, Some(&place), (Kind::Location, pattern), nodes);
    cmd.locations.push(Arc::new(section));
    Ok(())
}

fn plain_or_regex(path: &str, regex: Option<&Regex>) -> Pattern {
    match regex {
        Some(regex) => Pattern::Regex(regex.clone()),
        None if is_glob(path) => Pattern::Glob(path.as_bytes().into()),
        None => Pattern::Plain(path.as_bytes().into()),
    }
}

fn files(cmd: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    if cmd.inside.limit || cmd.inside.location {
        return Err("is not allowed inside <Limit> or <Location>".to_owned());
    }
    if cmd.inside.files || cmd.inside.condition {
        // Apache accepts this and never applies it; access rules in it protect nothing.
        cmd.warn("a <Files> section inside <Files> or <If> has no effect");
    }
    let (path, regex) = pattern(cmd, args)?;
    let pattern = plain_or_regex(path, regex.as_ref());
    let place = Place { kind: Kind::Files, path: path.into(), regex };
    let section = make(cmd, args, Some(&place), (Kind::Files, pattern), nodes);
    cmd.dir.core.files.push(Arc::new(section));
    Ok(())
}

fn condition(cmd: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    if cmd.inside.limit {
        return Err("is not allowed inside <Limit>".to_owned());
    }
    let otherwise = cmd.directive.name != "If";
    let condition = if cmd.directive.name == "Else" {
        match args.words.is_empty() {
            true => None,
            false => return Err("takes no condition; use <ElseIf>".to_owned()),
        }
    } else {
        match &args.words[..] {
            [text] if !text.is_empty() => Some(cmd.condition(text)?),
            [] | [_] => return Err("needs a condition".to_owned()),
            _ => return Err("takes one argument; put the condition in quotes".to_owned()),
        }
    };
    if otherwise && cmd.dir.core.ifs.is_empty() {
        return Err("no <If> before it".to_owned());
    }
    let section = make(cmd, args, None, (Kind::If, Pattern::Condition { condition, otherwise }), nodes);
    cmd.dir.core.ifs.push(Arc::new(section));
    Ok(())
}

fn limit(cmd: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    if cmd.inside.limit {
        return Err("is not allowed inside <Limit> or <LimitExcept>".to_owned());
    }
    if args.words.is_empty() {
        return Err("needs at least one method".to_owned());
    }
    if args.words.iter().any(|method| method == "TRACE") {
        return Err("TRACE is not controlled here but by TraceEnable".to_owned());
    }
    let except = cmd.directive.name == "LimitExcept";
    let methods = args.words.iter().map(|method| method.as_str().into()).collect();
    cmd.limited = Some(Arc::new(MethodSet { except, methods }));
    cmd.inside.limit = true;
    cmd.run(nodes);
    cmd.inside.limit = false;
    cmd.limited = None;
    Ok(())
}

/// The host is merged over the main server when that is complete.
fn virtual_host(cmd: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    if cmd.context != Context::Main || cmd.inside.any() {
        return Err("is not allowed inside another section".to_owned());
    }
    if args.words.is_empty() {
        return Err("needs an address; * stands for all".to_owned());
    }
    let mut host = RawServer::at(cmd.origin);
    for word in &args.words {
        host.add_address(cmd, word)?;
    }
    cmd.builder.filling = Some(cmd.origin);
    host.fill(cmd, nodes);
    cmd.builder.filling = None;
    cmd.builder.hosts.push(host);
    Ok(())
}
