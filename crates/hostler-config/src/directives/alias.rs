//! Directives of mod_alias: which file a URL means when it does not lie under DocumentRoot, and which URLs
//! are elsewhere. What they do to a request is in [`request`].

mod escape;
mod path;
mod redirect;
pub mod request;
mod substitute;

pub use escape::{escape_path, push_escaped_path};
pub use path::{clean_path, prefix_length};
pub use substitute::substitute;

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use hostler_expr::{Expr, Regex};

/// The module.
pub static MODULE: Module =
    Module { name: "alias_module", file: "mod_alias.c", directives: DIRECTIVES, effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Alias",
        Arity::Take12,
        "URL-path file-path (in <Location>: file-path, may contain %{...})",
        "Map URLs to files outside DocumentRoot",
        |command, args| alias(command, args, None),
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "ScriptAlias",
        Arity::Take12,
        "URL-path file-path (in <Location>: file-path, may contain %{...})",
        "Map URLs to a directory of CGI programs or to a single one",
        |command, args| alias(command, args, Some(SCRIPT)),
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "AliasMatch",
        Arity::Take2,
        "regex file-path (with $1 ... $9)",
        "Map URLs that match a regular expression to files",
        |command, args| alias_match(command, args, None),
    ),
    Directive::new(
        "ScriptAliasMatch",
        Arity::Take2,
        "regex file-path (with $1 ... $9)",
        "Map URLs that match a regular expression to CGI programs",
        |command, args| alias_match(command, args, Some(SCRIPT)),
    ),
    Directive::new(
        "AliasPreservePath",
        Arity::Flag,
        "On|Off",
        "Append the rest of the URL path after the Location to the target of an Alias inside it",
        |command, args| {
            command.dir.alias.preserve_path = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "Redirect",
        Arity::Take123,
        "[permanent|temp|seeother|gone|status] [URL-path] URL",
        "Redirect to another URL",
        |command, args| redirect::set(command, args, 302, redirect::Form::Plain),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "RedirectMatch",
        Arity::Take23,
        "[permanent|temp|seeother|gone|status] regex URL (with $1 ... $9)",
        "Redirect URLs that match a regular expression",
        |command, args| redirect::set(command, args, 302, redirect::Form::Regex),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "RedirectTemp",
        Arity::Take2,
        "URL-path URL",
        "Redirect temporarily (302) to another URL",
        |command, args| redirect::set(command, args, 302, redirect::Form::Plain),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "RedirectPermanent",
        Arity::Take2,
        "URL-path URL",
        "Redirect permanently (301) to another URL",
        |command, args| redirect::set(command, args, 301, redirect::Form::Plain),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "RedirectRelative",
        Arity::Flag,
        "On|Off",
        "Send a URL-path target as it is, without adding scheme and host",
        |command, args| {
            command.dir.alias.relative = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
];

/// The handler that ScriptAlias sets; it needs no `Options ExecCGI`.
const SCRIPT: &str = "cgi-script";

/// The pattern of an alias or redirect for the URL's path.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// The beginning of the path, in whole components.
    Prefix(Box<str>),
    /// A regular expression, anywhere in the path.
    Regex(Regex),
}

/// Alias, ScriptAlias and their Match forms.
#[derive(Clone, Debug)]
pub struct Alias {
    /// The matching URLs.
    pub matcher: Matcher,
    /// The path, as written; with `$1` under a regular expression.
    pub target: Box<str>,
    /// The path to which a relative target is relative; empty if it is absolute.
    root: Box<str>,
    /// The handler of the files, for ScriptAlias.
    pub handler: Option<&'static str>,
}

/// Redirect and RedirectMatch with a URL-path.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The matching URLs.
    pub matcher: Matcher,
    /// The target; `None` for a status that is no redirect.
    pub target: Option<Box<str>>,
    /// Status to answer with.
    pub status: u16,
}

/// Alias with one argument, in Location.
#[derive(Clone, Debug)]
pub struct LocationAlias {
    target: Expr,
    root: Box<str>,
    handler: Option<&'static str>,
    /// The Location's path, unless it is a regular expression.
    location: Option<Box<str>>,
}

/// Redirect without URL-path: everything that the section applies to.
#[derive(Clone, Debug)]
pub struct SectionRedirect {
    target: Option<Expr>,
    status: u16,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// Redirect with a URL-path inside a section or .htaccess file; the first that matches counts.
    pub redirects: Vec<Redirect>,
    /// Redirect without URL-path.
    pub redirect: Option<SectionRedirect>,
    /// Alias with one argument.
    pub alias: Option<LocationAlias>,
    /// AliasPreservePath; unset means Off.
    pub preserve_path: Option<bool>,
    /// RedirectRelative; unset means Off.
    pub relative: Option<bool>,
}

impl Merge for Dir {
    fn merge(&self, over_: &Self) -> Self {
        Self {
            redirects: joined(&over_.redirects, &self.redirects),
            redirect: over(&self.redirect, &over_.redirect),
            alias: over(&self.alias, &over_.alias),
            preserve_path: over(&self.preserve_path, &over_.preserve_path),
            relative: over(&self.relative, &over_.relative),
        }
    }

    unset_part!(Dir);
}

/// A server's settings; in both lists the first match counts, a virtual host's before the main server's.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Alias and its kin with two arguments.
    pub aliases: Vec<Alias>,
    /// Redirect and its kin outside of sections.
    pub redirects: Vec<Redirect>,
}

impl Merge for Server {
    fn merge(&self, over: &Self) -> Self {
        Self {
            aliases: joined(&over.aliases, &self.aliases),
            redirects: joined(&over.redirects, &self.redirects),
        }
    }

    unset_part!(Server);
}

fn joined<T: Clone>(first: &[T], second: &[T]) -> Vec<T> {
    first.iter().chain(second).cloned().collect()
}

fn alias(command: &mut Command<'_>, args: &Args, handler: Option<&'static str>) -> Result<(), String> {
    let Some(target) = args.word(1) else { return location_alias(command, args.first(), handler) };
    let fake = args.first();
    let earlier = &command.server.alias.aliases;
    let overlaps = earlier.iter().any(|alias| match &alias.matcher {
        Matcher::Prefix(prefix) => prefix_length(fake.as_bytes(), prefix.as_bytes()).is_some(),
        Matcher::Regex(regex) => regex.is_match(fake.as_bytes()).unwrap_or(false),
    });
    push_alias(command, Matcher::Prefix(fake.into()), target, handler)?;
    if overlaps {
        let name = command.directive.name;
        command.warn(format!("{name} {fake} will probably never match, because an earlier alias covers it"));
    }
    Ok(())
}

fn alias_match(command: &mut Command<'_>, args: &Args, handler: Option<&'static str>) -> Result<(), String> {
    let regex = command.regex(args.first(), false)?;
    push_alias(command, Matcher::Regex(regex), args.word(1).unwrap_or_default(), handler)
}

fn push_alias(
    command: &mut Command<'_>,
    matcher: Matcher,
    target: &str,
    handler: Option<&'static str>,
) -> Result<(), String> {
    if command.inside.any() {
        return Err("with two arguments it is not allowed inside a section".into());
    }
    let root = root_for(command, target);
    command.server.alias.aliases.push(Alias { matcher, target: target.into(), root, handler });
    Ok(())
}

/// ServerRoot with a slash if the target is relative, else nothing.
fn root_for(command: &Command<'_>, target: &str) -> Box<str> {
    if target.starts_with('/') { "".into() } else { server_root(command) }
}

fn server_root(command: &Command<'_>) -> Box<str> {
    let root = command.server_path(".");
    let root = root.strip_suffix("/.").unwrap_or(&root).trim_end_matches('/');
    format!("{root}/").into()
}

fn location_alias(
    command: &mut Command<'_>,
    text: &str,
    handler: Option<&'static str>,
) -> Result<(), String> {
    if !command.inside.location || command.inside.files || command.inside.directory {
        return Err("with one argument it is only allowed in <Location>".into());
    }
    let target = command.string_expr(text)?;
    let place = command.place.filter(|place| place.regex.is_none());
    let location = place.map(|place| place.path.clone());
    let root = server_root(command);
    command.dir.alias.alias = Some(LocationAlias { target, root, handler, location });
    Ok(())
}

#[cfg(test)]
mod tests;
