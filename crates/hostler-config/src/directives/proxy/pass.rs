//! The URLs that another server answers, and their names there (`ap_proxy_trans_match`).

use super::Dir;
use super::containers::behind;
use super::parameters::Parameters;
use crate::directives::alias::{prefix_length, substitute};
use hostler_expr::{Captures, Regex, RegexError};
use std::sync::Arc;

/// `ProxyPass`, `ProxyPassMatch`.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The prefix of the URL's path; inside a Location, the Location's path.
    pub prefix: Box<str>,
    /// The pattern that replaces the prefix (`ProxyPassMatch`).
    pub regex: Option<Regex>,
    /// The target; `!`: none, this server answers itself.
    pub target: Box<str>,
    /// `nocanon`: the path is handed on as the client sent it.
    pub raw: bool,
    /// `interpolate`: variables of the environment are put in, with `ProxyPassInterpolateEnv`.
    pub interpolate: bool,
    /// `noquery`: the query stays here.
    pub no_query: bool,
    /// `mapping=`
    pub mapping: Mapping,
    /// The parameters of a server whose name comes from the request.
    pub parameters: Option<Arc<Parameters>>,
}

/// The form of the compared path (`mapping=`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mapping {
    /// The decoded path.
    #[default]
    Decoded,
    /// The path with its escapes, which is handed on with them.
    Encoded,
    /// The same, as a servlet container takes it: without parameters.
    Servlet,
}

/// A URL, as far as `ProxyPass` looks at it.
#[derive(Clone, Copy)]
pub struct RequestUrl<'a> {
    /// The path: decoded, or not yet.
    pub path: &'a [u8],
    /// Path and query, as the client sent them.
    pub raw: &'a [u8],
    /// The value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl std::fmt::Debug for RequestUrl<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestUrl").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The verdict on a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This rule has nothing to say.
    No,
    /// This server answers itself, whatever rules follow.
    Never,
    /// Another server answers.
    To {
        /// The URL there.
        url: Vec<u8>,
        /// The form of its path.
        form: Form,
        /// The query stays here.
        no_query: bool,
        /// The request's path as the configuration has to see it from here on, where that is another one.
        path: Option<Vec<u8>>,
    },
}

/// The form of a path that is another server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Without escapes: what needs some gets them.
    #[default]
    Decoded,
    /// Normalised, with its escapes.
    Encoded,
    /// As the client sent it, and the query with it.
    AsSent,
}

impl Pass {
    /// Returns this rule's verdict on a URL.
    ///
    /// # Errors
    /// The regular expression gave up.
    pub fn apply(&self, dir: &Dir, asked: RequestUrl<'_>) -> Result<Verdict, RegexError> {
        let interpolates = self.interpolate && dir.interpolate == Some(true);
        let text = |text: &str| -> Vec<u8> {
            if interpolates { interpolate(text, asked.variable) } else { text.as_bytes().to_vec() }
        };
        let target = text(&self.target);
        let (found, path) = match &self.regex {
            Some(regex) => (self.by_regex(regex, &target, asked)?, None),
            None if self.mapping == Mapping::Servlet => {
                let found = behind(asked.path, &text(&self.prefix));
                let url = |at: usize| ([&target, &asked.path[at..]].concat(), false);
                found.map_or((None, None), |(at, plain)| (Some(url(at)), Some(plain)))
            }
            None => (self.by_prefix(&text(&self.prefix), &target, asked), None),
        };
        let Some((url, is_raw)) = found else { return Ok(Verdict::No) };
        if target == b"!" {
            return Ok(Verdict::Never);
        }
        let form = match (is_raw, self.mapping) {
            (true, _) => Form::AsSent,
            (false, Mapping::Decoded) => Form::Decoded,
            (false, _) => Form::Encoded,
        };
        Ok(Verdict::To { url, form, no_query: self.no_query, path })
    }

    fn by_prefix(&self, prefix: &[u8], target: &[u8], asked: RequestUrl<'_>) -> Option<(Vec<u8>, bool)> {
        let length = prefix_length(asked.path, prefix)?;
        // What is encoded may hide where the prefix ends: then the path is not handed on as it is.
        let raw = self.raw && prefix_length(asked.raw, prefix) == Some(length);
        let rest = if raw { &asked.raw[length..] } else { &asked.path[length..] };
        Some(([target, rest].concat(), raw))
    }

    fn by_regex(
        &self,
        regex: &Regex,
        target: &[u8],
        asked: RequestUrl<'_>,
    ) -> Result<Option<(Vec<u8>, bool)>, RegexError> {
        let mut captures = Captures::new();
        if !regex.capture(asked.path, &mut captures)? {
            return Ok(None);
        }
        let mut of_raw = Captures::new();
        let raw = self.raw && regex.capture(asked.raw, &mut of_raw)?;
        let (path, captures) = if raw { (asked.raw, of_raw) } else { (asked.path, captures) };
        let found = substitute(target, &captures);
        // Without a group in it, all of the path is meant.
        let url = if found == target { [target, path].concat() } else { found };
        Ok(Some((url, raw)))
    }
}

/// Puts the values of variables in a text, for `${NAME}`; what has none is empty.
#[must_use]
pub fn interpolate(text: &str, variable: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        out.extend_from_slice(&rest.as_bytes()[..start]);
        out.extend(variable(&rest[start + 2..start + length]).unwrap_or_default());
        rest = &rest[start + length + 1..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// Encodes a path as another server gets it (`ap_proxy_canonenc`): what may not stand in one, and what means more than
/// itself there. `slashes`: an escaped slash stays one (`AllowEncodedSlashes NoDecode`).
///
/// `None`: an escape in it is none.
#[must_use]
pub fn encoded(path: &[u8], slashes: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len() + 16);
    let mut at = 0;
    while let Some(&byte) = path.get(at) {
        at += 1;
        if slashes && byte == b'%' {
            let code = path.get(at..at + 2).filter(|code| code.iter().all(u8::is_ascii_hexdigit))?;
            if code.eq_ignore_ascii_case(b"2f") {
                out.extend_from_slice(&path[at - 1..at + 2]);
                at += 2;
                continue;
            }
        }
        if byte.is_ascii_alphanumeric() || b"/~$-_.+!*'(),;:@&=".contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    Some(out)
}
