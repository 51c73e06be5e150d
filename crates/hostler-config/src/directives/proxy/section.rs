//! `<Proxy>` and `<ProxyMatch>`: settings for URLs of other servers, and what is said of a server or a balancer.

use super::url::Url;
use crate::directives::core::{make, pattern};
use crate::section::{Kind, Pattern};
use crate::{Args, Command, Node, Place};
use std::sync::Arc;

/// Opens a section. What it begins with is a text, not a path: `http://a/x` is the beginning of `http://a/xy`, too.
pub(super) fn open(command: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    if command.inside.any() || command.inside.limit {
        return Err("is not allowed inside another section".to_owned());
    }
    let (url, words) = args.words.split_first().ok_or("needs a URL, or * for all")?;
    let is_regex = url == "~" || command.directive.name.ends_with("Match");
    let (only, parameters) = if is_regex {
        (args.clone(), &[][..])
    } else {
        (Args { words: vec![url.clone()], raw: args.raw.clone() }, words)
    };
    let (path, regex) = pattern(command, &only)?;
    let is_glob = path.contains(['*', '?', '[']) && !path.contains("://[");
    let what = match &regex {
        Some(regex) => Pattern::Regex(regex.clone()),
        None if is_glob => Pattern::Glob(path.as_bytes().into()),
        None => Pattern::Plain(path.to_ascii_lowercase().as_bytes().into()),
    };
    let names_server = regex.is_none() && !is_glob;
    if names_server {
        say(command, path, parameters)?;
    } else if let Some(word) = parameters.first() {
        return Err(format!("\"{word}\" is not supported: the section applies to several backends"));
    }
    let place = Place { kind: Kind::Proxy, path: path.into(), regex };
    let section = make(command, &only, Some(&place), (Kind::Proxy, what), nodes);
    command.server.proxy.sections.push(Arc::new(section));
    Ok(())
}

/// Sets parameters of the server or balancer that a URL names, which is created if it does not exist.
pub(super) fn say(command: &mut Command<'_>, url: &str, words: &[String]) -> Result<(), String> {
    let url = Url::parse(url)?;
    url.check()?;
    let origin = command.origin;
    if url.is_balancer() {
        let balancer = command.server.proxy.balancer_mut(&url.host, origin);
        return words.iter().try_for_each(|word| balancer.set(word));
    }
    let worker = command.server.proxy.worker_mut(url, origin);
    words.iter().try_for_each(|word| worker.set(word))?;
    let (url, has_ping) = (worker.url.clone(), worker.parameters.ping.is_some());
    warn_of_ping(command, &url, has_ping);
    Ok(())
}

/// Quirk(apache): it takes the parameter for any server, and asks those that can't be asked nothing.
pub(super) fn warn_of_ping(command: &mut Command<'_>, url: &Url, has_ping: bool) {
    if has_ping && url.is_program() && &*url.scheme != "ajp" {
        let why =
            format!("ping= has no effect with {}://: only HTTP and AJP backends can be pinged", url.scheme);
        command.warn_once("ping", why);
    }
}
