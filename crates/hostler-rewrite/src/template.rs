//! Texts with `%{variable}`, `${map:key|default}`, `$N`, `%N` and `\x` in them, taken apart once: substitutions,
//! conditions' test strings, values of variables and cookies.

use crate::variable::Variable;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Goes out as it is.
    Literal(Box<[u8]>),
    /// `$N`: what a group of the rule's pattern matched.
    RuleGroup(usize),
    /// `%N`: the same of the last condition that matched.
    ConditionGroup(usize),
    /// `%{name}`
    Variable(Variable),
    /// `${map:key|default}`
    Map { map: Box<str>, key: Template, default: Option<Template> },
}

/// A text taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    pub(crate) pieces: Vec<Piece>,
    source: Box<str>,
}

/// Maps within the keys of maps.
const DEEPEST: usize = 16;

impl Template {
    /// Takes a text apart. What has no meaning stands for itself.
    #[must_use]
    pub fn new(source: &str) -> Self {
        Self::within(source, 0)
    }

    fn within(source: &str, depth: usize) -> Self {
        let mut pieces = Pieces { done: Vec::new(), literal: Vec::new() };
        let mut rest = source;
        while let Some(at) = rest.find(['\\', '$', '%']) {
            pieces.literal.extend_from_slice(&rest.as_bytes()[..at]);
            rest = pieces.special(&rest[at..], depth);
        }
        pieces.literal.extend_from_slice(rest.as_bytes());
        pieces.flush();
        Self { pieces: pieces.done, source: source.into() }
    }

    /// The text as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Bytes of memory that it takes, about.
    pub(crate) fn size(&self) -> usize {
        let piece = |piece: &Piece| {
            size_of::<Piece>()
                + match piece {
                    Piece::Literal(text) => text.len(),
                    Piece::Map { key, default, .. } => key.size() + default.as_ref().map_or(0, Self::size),
                    _ => 32,
                }
        };
        self.source.len() + self.pieces.iter().map(piece).sum::<usize>()
    }
}

struct Pieces {
    done: Vec<Piece>,
    literal: Vec<u8>,
}

impl Pieces {
    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.done.push(Piece::Literal(std::mem::take(&mut self.literal).into()));
        }
    }

    fn push(&mut self, piece: Piece) {
        self.flush();
        self.done.push(piece);
    }

    /// Takes what begins with `\`, `$` or `%` from the text; returns what follows it.
    fn special<'a>(&mut self, text: &'a str, depth: usize) -> &'a str {
        let sign = text.as_bytes()[0];
        let Some(next) = text.as_bytes().get(1).copied() else {
            self.literal.push(sign);
            return "";
        };
        match (sign, next) {
            (b'\\', _) => {
                let length = text[1..].chars().next().map_or(0, char::len_utf8);
                self.literal.extend_from_slice(&text.as_bytes()[1..=length]);
                &text[1 + length..]
            }
            (_, b'{') => self.braces(text, depth),
            (b'$', b'0'..=b'9') => {
                self.push(Piece::RuleGroup(usize::from(next - b'0')));
                &text[2..]
            }
            (_, b'0'..=b'9') => {
                self.push(Piece::ConditionGroup(usize::from(next - b'0')));
                &text[2..]
            }
            _ => {
                self.literal.push(sign);
                &text[1..]
            }
        }
    }

    fn braces<'a>(&mut self, text: &'a str, depth: usize) -> &'a str {
        let inside = &text[2..];
        let piece = closing(inside).and_then(|end| {
            let (name, after) = (&inside[..end], &inside[end + 1..]);
            let piece = if text.starts_with('%') {
                Some(Piece::Variable(Variable::from_name(name)))
            } else {
                map(name, depth)
            };
            Some((piece?, after))
        });
        if let Some((piece, after)) = piece {
            self.push(piece);
            return after;
        }
        // Not closed, or a map without a key: the two characters stand for themselves.
        self.literal.extend_from_slice(&text.as_bytes()[..2]);
        inside
    }
}

/// Returns the position of the matching closing brace.
fn closing(text: &str) -> Option<usize> {
    outside(text, b'}')
}

/// The first such character that is in no further pair of braces; a backslash protects a brace.
fn outside(text: &str, wanted: u8) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            byte if byte == wanted && depth == 0 => return Some(at),
            b'\\' => {
                bytes.next();
            }
            b'{' => depth += 1,
            b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

fn map(text: &str, depth: usize) -> Option<Piece> {
    if depth >= DEEPEST {
        return None;
    }
    let colon = outside(text, b':')?;
    let (map, key) = (&text[..colon], &text[colon + 1..]);
    let (key, default) = match outside(key, b'|') {
        Some(bar) => (&key[..bar], Some(&key[bar + 1..])),
        None => (key, None),
    };
    let within = |text| Template::within(text, depth + 1);
    let default = default.filter(|text| !text.is_empty()).map(within);
    Some(Piece::Map { map: map.into(), key: within(key), default })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_expr::Variable as Core;

    fn literal(text: &str) -> Piece {
        Piece::Literal(text.as_bytes().into())
    }

    #[test]
    fn groups_variables_and_escapes() {
        assert_eq!(
            Template::new(r"/a$1%2\$3%{REQUEST_URI}$x%").pieces,
            [
                literal("/a"),
                Piece::RuleGroup(1),
                Piece::ConditionGroup(2),
                literal("$3"),
                Piece::Variable(Variable::Core(Core::RequestUri)),
                literal("$x%"),
            ]
        );
    }

    #[test]
    fn what_is_not_closed_stands_for_itself() {
        assert_eq!(Template::new("%{A ${x} \\").pieces, [literal("%{A ${x} \\")]);
    }

    #[test]
    fn maps_have_keys_and_defaults_that_are_texts_too() {
        let Piece::Map { map, key, default } = &Template::new("${a:%{HTTP_HOST}${b:$1}|x|y}").pieces[0]
        else {
            panic!("a map")
        };
        assert_eq!((&**map, key.source()), ("a", "%{HTTP_HOST}${b:$1}"));
        assert_eq!(default.as_ref().unwrap().source(), "x|y");
        assert!(matches!(&key.pieces[1], Piece::Map { map, .. } if &**map == "b"));
    }

    #[test]
    fn nesting_ends() {
        let text = format!("{}x{}", "${m:".repeat(1000), "}".repeat(1000));
        assert!(Template::new(&text).size() > 0);
    }
}
