//! The ProxyHTMLURLMap rules as they apply to one request, and their effect on a link or a script.

use super::Dir;
use crate::directives::proxy::pass::interpolate;
use crate::directives::substitute::Template;
use hostler_expr::{Expr, Groups, Regex, RegexError, RegexOptions, effort};

/// Longest text that one becomes, in bytes.
const LONGEST: usize = 1 << 20;

/// A line of ProxyHTMLURLMap.
#[derive(Clone, Debug)]
pub struct Map {
    pub(super) find: Find,
    pub(super) to: Box<[u8]>,
    pub(super) flags: MapFlags,
    /// When it holds, where ProxyHTMLInterp is on.
    pub condition: Option<Expr>,
}

/// The searched text.
#[derive(Clone, Debug)]
pub(super) enum Find {
    Text(Box<[u8]>),
    Pattern(Regex),
    /// A pattern with variables in it.
    Later(Box<str>, RegexOptions),
}

impl Find {
    pub(super) fn pattern(text: &str, options: RegexOptions) -> Result<Self, RegexError> {
        Ok(Self::Pattern(Regex::new(text, options)?))
    }
}

#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a letter of the directive")]
pub(super) struct MapFlags {
    links: bool,
    events: bool,
    texts: bool,
    at_start: bool,
    at_end: bool,
    /// `L`: no further map is asked about a script's attribute when this one has matched.
    is_last: bool,
    /// `l`: further maps are asked about a link.
    goes_on: bool,
    interpolates_from: bool,
    interpolates_to: bool,
}

impl MapFlags {
    pub(super) fn of(letters: &str) -> Self {
        let has = |letter| letters.contains(letter);
        Self {
            links: !has('h'),
            events: !has('e'),
            texts: !has('c'),
            at_start: has('^'),
            at_end: has('$'),
            is_last: has('L'),
            goes_on: has('l'),
            interpolates_from: has('v'),
            interpolates_to: has('V'),
        }
    }
}

/// The kind of a page's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// An attribute that is a link.
    Link,
    /// An attribute that is a script.
    Event,
    /// The contents of `<script>` and `<style>`.
    Text,
}

/// Why a text can't be changed as the maps say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RewriteError(pub String);

impl From<RegexError> for RewriteError {
    fn from(error: RegexError) -> Self {
        Self(error.to_string())
    }
}

/// The maps that hold for a request.
#[derive(Debug)]
pub struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    find: Ready,
    flags: MapFlags,
}

#[derive(Debug)]
enum Ready {
    Text(Vec<u8>, Vec<u8>),
    Pattern(Regex, Template),
}

impl Rules {
    /// With the values of variables, and whether the condition of each map holds (where it has none, or conditions don't
    /// count, it is not asked).
    ///
    /// # Errors
    /// [`RewriteError`]: a pattern with variables in it is none.
    pub fn of(
        dir: &Dir,
        variable: &dyn Fn(&str) -> Option<Vec<u8>>,
        holds: &[bool],
    ) -> Result<Self, RewriteError> {
        let interpolates = dir.interpolates == Some(true);
        let value = |name: &str| {
            let (name, default) =
                name.split_once('|').map_or((name, None), |(name, text)| (name, Some(text)));
            variable(name).or_else(|| default.map(|text| text.as_bytes().to_vec()))
        };
        let fill = |text: &[u8], wanted: bool| {
            if wanted && interpolates {
                interpolate(&String::from_utf8_lossy(text), &value)
            } else {
                text.to_vec()
            }
        };
        let mut rules = Vec::new();
        for (at, map) in dir.maps.iter().enumerate() {
            if interpolates && map.condition.is_some() && !holds.get(at).copied().unwrap_or(false) {
                continue;
            }
            let to = fill(&map.to, map.flags.interpolates_to);
            let find = match &map.find {
                Find::Text(text) => Ready::Text(fill(text, map.flags.interpolates_from), to),
                Find::Pattern(regex) => Ready::Pattern(regex.clone(), Template::new(&to)),
                Find::Later(text, options) => {
                    let text = fill(text.as_bytes(), true);
                    if text.is_empty() {
                        continue;
                    }
                    let regex = Regex::new(&String::from_utf8_lossy(&text), *options)?;
                    Ready::Pattern(regex, Template::new(&to))
                }
            };
            if !matches!(&find, Ready::Text(text, _) if text.is_empty()) {
                rules.push(Rule { find, flags: map.flags });
            }
        }
        Ok(Self(rules))
    }

    /// Returns the changed text.
    ///
    /// # Errors
    /// [`RewriteError`]: it becomes too long, or a pattern takes too long.
    pub fn changed(&self, part: Part, text: &[u8]) -> Result<Vec<u8>, RewriteError> {
        let mut text = text.to_vec();
        for Rule { find, flags } in &self.0 {
            let is_meant = match part {
                Part::Link => flags.links,
                Part::Event => flags.events,
                Part::Text => flags.texts,
            };
            if !is_meant {
                continue;
            }
            effort::spend(text.len() / 8 + 20).map_err(|_| RewriteError("it takes too long".into()))?;
            let changed = match (find, part) {
                (Ready::Text(from, to), Part::Link) => {
                    let starts = text.get(..from.len()).is_some_and(|start| start.eq_ignore_ascii_case(from));
                    starts.then(|| [to, &text[from.len()..]].concat())
                }
                (Ready::Text(from, to), _) => everywhere(from, to, *flags, &text),
                (Ready::Pattern(regex, template), Part::Link) => first(regex, template, &text)?,
                (Ready::Pattern(regex, template), _) => all(regex, template, &text)?,
            };
            let Some(changed) = changed else { continue };
            if changed.len() > LONGEST {
                return Err(RewriteError(format!("a text becomes longer than {LONGEST} bytes")));
            }
            text = changed;
            let is_over = match (part, find) {
                // Quirk(apache): what is no pattern is always the last.
                (Part::Link, Ready::Text(..)) => true,
                (Part::Link, Ready::Pattern(..)) => !flags.goes_on,
                (Part::Event, _) => flags.is_last,
                (Part::Text, _) => false,
            };
            if is_over {
                break;
            }
        }
        Ok(text)
    }
}

fn everywhere(from: &[u8], to: &[u8], flags: MapFlags, text: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut done) = (Vec::new(), 0);
    for at in memchr::memmem::find_iter(text, from) {
        if flags.at_start && at > 0 {
            break;
        }
        if flags.at_end && at + from.len() < text.len() {
            continue;
        }
        out.extend_from_slice(&text[done..at]);
        out.extend_from_slice(to);
        done = at + from.len();
    }
    if done == 0 {
        return None;
    }
    out.extend_from_slice(&text[done..]);
    Some(out)
}

fn first(regex: &Regex, template: &Template, text: &[u8]) -> Result<Option<Vec<u8>>, RewriteError> {
    let Some(groups) = regex.groups(text)? else { return Ok(None) };
    let Some((start, end)) = groups[0] else { return Ok(None) };
    Ok(Some([&text[..start], &template.fill(text, &groups), &text[end..]].concat()))
}

fn all(regex: &Regex, template: &Template, text: &[u8]) -> Result<Option<Vec<u8>>, RewriteError> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some(groups) = regex.groups(rest)? {
        let Some((start, end)) = found(&groups) else { break };
        out.extend_from_slice(&rest[..start]);
        out.extend_from_slice(&template.fill(rest, &groups));
        if out.len() > LONGEST {
            return Err(RewriteError(format!("a text becomes longer than {LONGEST} bytes")));
        }
        rest = &rest[end..];
    }
    if rest.len() == text.len() {
        return Ok(None);
    }
    out.extend_from_slice(rest);
    Ok(Some(out))
}

/// Returns the match; an empty match would be found again and again.
fn found(groups: &Groups) -> Option<(usize, usize)> {
    groups[0].filter(|(start, end)| end > start)
}
