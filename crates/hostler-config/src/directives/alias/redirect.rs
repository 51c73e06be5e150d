//! Reading the arguments of Redirect and its kin, which have several forms without a mark to tell them.

use super::{Matcher, Redirect, SectionRedirect};
use crate::{Args, Command};

/// The form of the URL-path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A prefix of the URL.
    Plain,
    /// A regular expression.
    Regex,
}

/// Sets a redirect. The first of three arguments must be a status; of two, it may be one. Without a URL-path
/// the redirect is for everything that the section applies to, and its URL an expression; outside of sections
/// there is always a URL-path, and what is missing is the URL.
pub(super) fn set(command: &mut Command<'_>, args: &Args, usual: u16, form: Form) -> Result<(), String> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let status = status(words[0])?;
    match (status, &words[..]) {
        (None, [_, _, _]) => Err(format!("\"{}\" is not a status", words[0])),
        (Some(status), [_]) if !is_redirect(status) => section(command, None, status),
        (Some(_), [_]) => Err("the URL is missing".into()),
        (None, [url]) => section(command, Some(url), usual),
        (Some(status), [_, url]) if is_redirect(status) => section(command, Some(url), status),
        (Some(status), [_, path]) => listed(command, form, path, None, status),
        (Some(status), [_, path, url]) => listed(command, form, path, Some(url), status),
        (None, [path, url]) => listed(command, form, path, Some(url), usual),
        _ => Err("too many arguments".into()),
    }
}

/// Reads a status: a word or a number. `None`: it is neither.
fn status(word: &str) -> Result<Option<u16>, String> {
    let named = [("permanent", 301), ("temp", 302), ("seeother", 303), ("gone", 410)];
    if let Some((_, status)) = named.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
        return Ok(Some(*status));
    }
    if !word.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(None);
    }
    let valid = word.parse().ok().filter(|status| (100..600).contains(status));
    valid.map(Some).ok_or_else(|| format!("\"{word}\" is not an HTTP status"))
}

fn is_redirect(status: u16) -> bool {
    (300..400).contains(&status)
}

fn section(command: &mut Command<'_>, url: Option<&str>, status: u16) -> Result<(), String> {
    if url.is_some() && !command.inside.any() && !command.is_htaccess() {
        return Err("the URL is missing".into());
    }
    let target = url.map(|url| command.string_expr(url)).transpose()?;
    command.dir.alias.redirect = Some(SectionRedirect { target, status });
    Ok(())
}

fn listed(
    command: &mut Command<'_>,
    form: Form,
    path: &str,
    url: Option<&str>,
    status: u16,
) -> Result<(), String> {
    match url {
        None if is_redirect(status) => return Err("the URL is missing".into()),
        Some(_) if !is_redirect(status) => return Err(format!("a URL makes no sense with status {status}")),
        Some(url)
            if form == Form::Plain && !url.starts_with('/') && !super::request::is_url(url.as_bytes()) =>
        {
            return Err(format!("\"{url}\" is neither a URL nor a path that begins with a slash"));
        }
        _ => {}
    }
    let matcher = match form {
        Form::Plain => Matcher::Prefix(path.into()),
        Form::Regex => Matcher::Regex(command.regex(path, false)?),
    };
    let redirect = Redirect { matcher, target: url.map(Into::into), status };
    if command.inside.any() || command.is_htaccess() {
        command.dir.alias.redirects.push(redirect);
    } else {
        command.server.alias.redirects.push(redirect);
    }
    Ok(())
}
