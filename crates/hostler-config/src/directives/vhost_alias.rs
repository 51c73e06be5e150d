//! Directives of mod_vhost_alias: document roots made of the name or address that a request came to.

use crate::{Args, Arity, Directive, Effect, Merge, Module, over, unset_part};

/// The module.
pub static MODULE: Module = Module {
    name: "vhost_alias_module",
    file: "mod_vhost_alias.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

const FORM: &str = "directory (with %0 %1 %-2+ %2.1 %p %%) | none";

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "VirtualDocumentRoot",
        Arity::Take1,
        FORM,
        "Set a document root derived from the server name that the client requests (UseCanonicalName)",
        |command, args| {
            command.server.vhost_alias.documents = Some(rule(args, Source::Name)?);
            Ok(())
        },
    ),
    Directive::new(
        "VirtualScriptAlias",
        Arity::Take1,
        FORM,
        "Set the directory of CGI programs below /cgi-bin/, derived from the server name",
        |command, args| {
            command.server.vhost_alias.scripts = Some(rule(args, Source::Name)?);
            Ok(())
        },
    ),
    Directive::new(
        "VirtualDocumentRootIP",
        Arity::Take1,
        FORM,
        "Set a document root derived from the server's address of the connection",
        |command, args| {
            command.server.vhost_alias.documents = Some(rule(args, Source::Address)?);
            Ok(())
        },
    ),
    Directive::new(
        "VirtualScriptAliasIP",
        Arity::Take1,
        FORM,
        "Set the directory of CGI programs below /cgi-bin/, derived from the server's address of the \
            connection",
        |command, args| {
            command.server.vhost_alias.scripts = Some(rule(args, Source::Address)?);
            Ok(())
        },
    ),
];

/// The source of a directory's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The name of the server.
    Name,
    /// The address of the server.
    Address,
}

/// The construction of a directory's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The source.
    pub source: Source,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<str>),
    /// `%p`
    Port,
    /// `%N` and `%N.M`
    Part(Index, Index),
}

/// `2`, `-2`, `2+`, `-2+`; 0 is everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Index {
    number: usize,
    from_end: bool,
    and_more: bool,
}

/// A server's settings; `None` inside is `none`.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// VirtualDocumentRoot, VirtualDocumentRootIP
    pub documents: Option<Option<Rule>>,
    /// VirtualScriptAlias, VirtualScriptAliasIP
    pub scripts: Option<Option<Rule>>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self {
            documents: over(&self.documents, &other.documents),
            scripts: over(&self.scripts, &other.scripts),
        }
    }

    unset_part!(Server);
}

/// mod_vhost_alias has nothing per directory.
pub type Dir = ();

impl Server {
    /// The rule for a path, the path below its directory, and whether that has programs.
    #[must_use]
    pub fn rule<'a>(&'a self, path: &'a [u8]) -> Option<(&'a Rule, &'a [u8], bool)> {
        let scripts = self.scripts.as_ref().and_then(Option::as_ref);
        let slashes = path.iter().take_while(|&&b| b == b'/').count();
        if let Some(rule) = scripts
            && path[slashes..].starts_with(b"cgi-bin/")
        {
            return Some((rule, &path[slashes + "cgi-bin".len()..], true));
        }
        let documents = self.documents.as_ref().and_then(Option::as_ref);
        documents.filter(|_| slashes > 0).map(|rule| (rule, path, false))
    }
}

impl Rule {
    /// The directory for a name (or address) and port; `None`: what came with the request makes no name of a directory,
    /// and could lead to another one.
    #[must_use]
    pub fn directory(&self, name: &[u8], port: u16) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Port => out.extend_from_slice(port.to_string().as_bytes()),
                Piece::Part(part, letter) => {
                    let chosen = letters(dots(name, *part), *letter);
                    if chosen.is_empty() || chosen.iter().any(|&b| b == b'/' || b == 0) {
                        return None;
                    }
                    out.extend(chosen.iter().map(u8::to_ascii_lowercase));
                }
            }
        }
        let leaves = out.split(|&b| b == b'/').any(|component| component == b".." || component == b".");
        if out.last() == Some(&b'/') {
            out.pop();
        }
        (!leaves).then_some(out)
    }
}

/// The stand-in for a missing part.
const NOTHING: &[u8] = b"_";

/// Dots that separate parts; those behind belong to the last one.
const MOST_DOTS: usize = 18;

/// A part between dots.
fn dots(name: &[u8], index: Index) -> &[u8] {
    let n = index.number;
    if n == 0 {
        return name;
    }
    let all = name.iter().enumerate().filter(|(_, b)| **b == b'.').map(|(at, _)| at);
    let ends: Vec<usize> = all.take(MOST_DOTS).chain([name.len()]).collect();
    let starts: Vec<usize> = std::iter::once(0).chain(ends.iter().map(|end| end + 1)).collect();
    let count = ends.len();
    if n > count {
        return NOTHING;
    }
    let at = if index.from_end { count - n } else { n - 1 };
    match (index.from_end, index.and_more) {
        (false, true) => &name[starts[at]..],
        (true, true) => &name[..ends[at]],
        (_, false) => &name[starts[at]..ends[at]],
    }
}

/// A letter of a part.
fn letters(part: &[u8], index: Index) -> &[u8] {
    let n = index.number;
    if n == 0 {
        return part;
    }
    if n > part.len() {
        return NOTHING;
    }
    let at = if index.from_end { part.len() - n } else { n - 1 };
    match (index.from_end, index.and_more) {
        (false, true) => &part[at..],
        (true, true) => &part[..=at],
        (_, false) => &part[at..=at],
    }
}

fn rule(args: &Args, source: Source) -> Result<Option<Rule>, String> {
    let text = args.first();
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    if !text.starts_with('/') {
        return Err(format!("\"{text}\" should be an absolute path, or none"));
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        if !before.is_empty() {
            pieces.push(Piece::Text(before.into()));
        }
        let (piece, after) = specifier(after)
            .ok_or_else(|| format!("% must be followed by a digit, p or %, in \"{text}\""))?;
        pieces.push(piece);
        rest = after;
    }
    pieces.push(Piece::Text(rest.into()));
    Ok(Some(Rule { source, pieces }))
}

/// Parses a specifier after `%`; returns it and the rest.
fn specifier(text: &str) -> Option<(Piece, &str)> {
    if let Some(rest) = text.strip_prefix('%') {
        return Some((Piece::Text("%".into()), rest));
    }
    if let Some(rest) = text.strip_prefix('p') {
        return Some((Piece::Port, rest));
    }
    let (part, rest) = index(text)?;
    match rest.strip_prefix('.') {
        None => Some((Piece::Part(part, Index::default()), rest)),
        Some(rest) => index(rest).map(|(letter, rest)| (Piece::Part(part, letter), rest)),
    }
}

fn index(text: &str) -> Option<(Index, &str)> {
    let (from_end, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let digit = text.bytes().next().filter(u8::is_ascii_digit)?;
    let rest = &text[1..];
    let (and_more, rest) = rest.strip_prefix('+').map_or((false, rest), |rest| (true, rest));
    Some((Index { number: usize::from(digit - b'0'), from_end, and_more }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(rule_text: &str, name: &str) -> Option<String> {
        let args = Args { words: vec![rule_text.to_owned()], raw: rule_text.to_owned() };
        let rule = rule(&args, Source::Name).unwrap().unwrap();
        rule.directory(name.as_bytes(), 8080).map(|path| String::from_utf8(path).unwrap())
    }

    #[test]
    fn parts_and_letters() {
        for (text, expected) in [
            ("/v/%0/d/", "/v/www.domain.example.com/d"),
            ("/v/%1", "/v/www"),
            ("/v/%2+", "/v/domain.example.com"),
            ("/v/%-1", "/v/com"),
            ("/v/%-2+", "/v/www.domain.example"),
            ("/v/%-2", "/v/example"),
            ("/v/%3+/%2.1/%2.2/%2.3/%2", "/v/example.com/d/o/m/domain"),
            ("/v/%3+/%2.-1/%2.-2/%2.-3/%2", "/v/example.com/n/i/a/domain"),
            ("/v/%2.4+", "/v/ain"),
            ("/v/%2.-4+", "/v/dom"),
            ("/v/%7/%1.9", "/v/_/_"),
            ("/v/%p/%%0", "/v/8080/%0"),
        ] {
            assert_eq!(directory(text, "www.Domain.example.com").as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn nobody_names_another_directory() {
        for (text, name) in [
            ("/v/%0", ".."),
            ("/v/%1", ".example"),
            ("/v/%0", "a/b"),
            ("/v/%0", ""),
            ("/v/.%1", "."),
            ("/v/%1/%2", "a."),
        ] {
            assert_eq!(directory(text, name), None, "{text} {name}");
        }
        assert_eq!(directory("/v/%1", "example"), Some("/v/example".into()));
    }

    #[test]
    fn templates_are_checked() {
        for text in ["relative/%0", "/v/%", "/v/%x", "/v/%-", "/v/%1.", "/v/%1.x"] {
            let args = Args { words: vec![text.to_owned()], raw: text.to_owned() };
            assert!(rule(&args, Source::Name).is_err(), "{text}");
        }
    }
}
