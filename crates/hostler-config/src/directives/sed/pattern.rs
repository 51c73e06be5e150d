//! Regular expressions of mod_sed: basic ones (`\(`, `\)`, `\{2,3\}`, `\1`, `*`), with `\n` for the end of a line.
//!
//! They are matched here and not by PCRE2, because what they find differs: there are no alternatives, a star behind a
//! group is a star, and a repetition does not give back as far as where the search began (see [`Search::repeated`]).
//! The depth of the recursion is bounded by the length of the pattern; time is counted by `effort`.

use hostler_expr::effort::{self, Exhausted};
use std::ops::Range;

/// Most groups of a pattern.
pub(super) const GROUPS: usize = 9;

/// The end of a repetition that has none: so many at most.
const MANY: usize = 20_000;

#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// It begins with `^`.
    anchored: bool,
    nodes: Vec<Node>,
    pub(super) groups: usize,
}

#[derive(Clone, Debug)]
enum Node {
    Open(usize),
    Close(usize),
    End,
    /// Once, or between so many times.
    One(Unit, Option<(usize, usize)>),
}

#[derive(Clone, Debug)]
enum Unit {
    Byte(u8),
    Any,
    Class(Box<[bool; 256]>),
    Back(usize),
}

impl Unit {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::Any => true,
            Self::Class(class) => class[usize::from(byte)],
            Self::Back(_) => false,
        }
    }
}

/// The start and end of a match and its groups.
#[derive(Clone, Debug, Default)]
pub(super) struct MatchRange {
    pub(super) whole: Range<usize>,
    pub(super) groups: [Range<usize>; GROUPS],
}

/// A pattern as it is read.
#[derive(Default)]
struct Reader {
    nodes: Vec<Node>,
    open: Vec<usize>,
    groups: usize,
    closed: usize,
}

impl Pattern {
    /// Reads a pattern up to its delimiter; what follows that is left. `None`: it is empty, which means the last one.
    pub(super) fn read(text: &mut &[u8], delimiter: u8) -> Result<Option<Self>, &'static str> {
        if take(text, delimiter) {
            return Ok(None);
        }
        let anchored = take(text, b'^');
        let mut reader = Reader::default();
        while !take(text, delimiter) {
            reader.step(text, delimiter)?;
        }
        if !reader.open.is_empty() {
            return Err("\\( \\) imbalance");
        }
        Ok(Some(Self { anchored, nodes: reader.nodes, groups: reader.groups }))
    }

    /// The first match from `from` on. Behind a match (`is_next`) no pattern with `^` matches.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        is_next: bool,
    ) -> Result<Option<MatchRange>, Exhausted> {
        if self.anchored && is_next {
            return Ok(None);
        }
        let mut search = Search { text, barrier: is_next.then_some(from), found: MatchRange::default() };
        let first = match self.nodes.first() {
            Some(Node::One(Unit::Byte(byte), None)) => Some(*byte),
            _ => None,
        };
        let mut at = from;
        loop {
            if let (Some(byte), false) = (first, self.anchored) {
                let skipped = memchr::memchr(byte, &text[at..]);
                effort::spend(skipped.unwrap_or(text.len() - at) / 8 + 1)?;
                let Some(skipped) = skipped else { return Ok(None) };
                at += skipped;
            }
            if let Some(end) = search.advance(at, &self.nodes)? {
                search.found.whole = at..end;
                return Ok(Some(search.found));
            }
            if self.anchored || at == text.len() {
                return Ok(None);
            }
            at += 1;
        }
    }
}

/// Takes a byte off the front of a text if it is this one.
pub(super) fn take(text: &mut &[u8], byte: u8) -> bool {
    let is_there = text.first() == Some(&byte);
    if is_there {
        *text = &text[1..];
    }
    is_there
}

/// Takes whatever byte comes next.
pub(super) fn next(text: &mut &[u8]) -> Option<u8> {
    let (first, rest) = text.split_first()?;
    *text = rest;
    Some(*first)
}

impl Reader {
    fn one(&mut self, unit: Unit) {
        self.nodes.push(Node::One(unit, None));
    }

    /// Reads what comes next.
    fn step(&mut self, text: &mut &[u8], delimiter: u8) -> Result<(), &'static str> {
        const OPEN_END: &str = "illegal or missing delimiter";
        match next(text).ok_or(OPEN_END)? {
            b'.' => self.one(Unit::Any),
            b'\n' => return Err(OPEN_END),
            b'*' => match self.nodes.last_mut() {
                Some(Node::One(_, times)) => *times = Some((0, usize::MAX)),
                _ => self.one(Unit::Byte(b'*')),
            },
            b'$' if text.first() == Some(&delimiter) => self.nodes.push(Node::End),
            b'[' => {
                let class = class(text)?;
                self.one(Unit::Class(class));
            }
            b'\\' => self.escape(text)?,
            byte => self.one(Unit::Byte(byte)),
        }
        Ok(())
    }

    /// Parses the character after a backslash.
    fn escape(&mut self, text: &mut &[u8]) -> Result<(), &'static str> {
        match next(text) {
            None | Some(b'\n') => return Err("illegal or missing delimiter"),
            Some(b'(') => {
                if self.groups == GROUPS {
                    return Err("too many \\(");
                }
                self.open.push(self.groups);
                self.nodes.push(Node::Open(self.groups));
                self.groups += 1;
            }
            Some(b')') => {
                let group = self.open.pop().ok_or("\\( \\) imbalance")?;
                self.nodes.push(Node::Close(group));
                self.closed += 1;
            }
            Some(b'{') if !self.nodes.is_empty() => {
                let times = times(text)?;
                match self.nodes.last_mut() {
                    Some(Node::One(Unit::Byte(_) | Unit::Any | Unit::Class(_), own)) => *own = Some(times),
                    _ => return Err("\\{ \\} after an expression that cannot be repeated"),
                }
            }
            Some(b'n') => self.one(Unit::Byte(b'\n')),
            Some(digit @ b'1'..=b'9') => {
                let group = usize::from(digit - b'1');
                if group >= self.closed {
                    return Err("\"\\digit\" out of range");
                }
                self.one(Unit::Back(group));
            }
            Some(byte) => self.one(Unit::Byte(byte)),
        }
        Ok(())
    }
}

/// Parses a bracket expression. A backslash is literal there; so is a `]` that comes first.
fn class(text: &mut &[u8]) -> Result<Box<[bool; 256]>, &'static str> {
    const OPEN: &str = "[ ] imbalance";
    let mut class = Box::new([false; 256]);
    let negated = take(text, b'^');
    let mut last = None;
    loop {
        let byte = next(text).filter(|byte| *byte != b'\n').ok_or(OPEN)?;
        let begin = match last {
            Some(last) if byte == b'-' => last,
            _ => byte,
        };
        let end = if byte == b'-' && last.is_some() {
            if take(text, b']') {
                class[usize::from(b'-')] = true;
                break;
            }
            next(text).ok_or(OPEN)?
        } else {
            byte
        };
        class[usize::from(end)] = true;
        for byte in begin..end {
            class[usize::from(byte)] = true;
        }
        last = Some(end);
        if take(text, b']') {
            break;
        }
    }
    if negated {
        class.iter_mut().for_each(|is_in| *is_in = !*is_in);
    }
    Ok(class)
}

/// `2\}`, `2,\}` or `2,3\}`
fn times(text: &mut &[u8]) -> Result<(usize, usize), &'static str> {
    let least = count(text)?;
    let most = if take(text, b',') {
        if text.first() == Some(&b'\\') { least + MANY } else { count(text)? }
    } else {
        least
    };
    if !(take(text, b'\\') && take(text, b'}')) {
        return Err("\\} expected");
    }
    if most < least {
        return Err("first number exceeds second in \\{ \\}");
    }
    Ok((least, most))
}

fn count(text: &mut &[u8]) -> Result<usize, &'static str> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(digits);
    *text = rest;
    let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
    number.filter(|number| *number < 255).ok_or("bad number")
}

/// A search for one match.
struct Search<'a> {
    text: &'a [u8],
    /// Its start, if that is after another match.
    barrier: Option<usize>,
    found: MatchRange,
}

impl Search<'_> {
    /// Returns the end of the match that begins here, if there is one.
    fn advance(&mut self, mut at: usize, nodes: &[Node]) -> Result<Option<usize>, Exhausted> {
        effort::spend(nodes.len() * 2 + 4)?;
        for (index, node) in nodes.iter().enumerate() {
            match node {
                Node::Open(group) => self.found.groups[*group].start = at,
                Node::Close(group) => self.found.groups[*group].end = at,
                Node::End if at == self.text.len() => {}
                Node::End => return Ok(None),
                Node::One(Unit::Back(group), None) => match self.same(at, *group) {
                    Some(end) => at = end,
                    None => return Ok(None),
                },
                Node::One(Unit::Back(group), Some(_)) => {
                    return self.repeated_group(at, *group, &nodes[index + 1..]);
                }
                Node::One(unit, None) => match self.text.get(at) {
                    Some(byte) if unit.takes(*byte) => at += 1,
                    _ => return Ok(None),
                },
                Node::One(unit, Some(times)) => {
                    return self.repeated(at, unit, *times, &nodes[index + 1..]);
                }
            }
        }
        Ok(Some(at))
    }

    /// Returns the end of a group's text, if it occurs here again.
    fn same(&self, at: usize, group: usize) -> Option<usize> {
        let wanted = self.text.get(self.found.groups[group].clone())?;
        self.text[at..].starts_with(wanted).then_some(at + wanted.len())
    }

    /// As many as there are, then one less after the other.
    ///
    /// Quirk(apache): it never gives back as far as to where the last match has ended, so `s/b*c/X/g` makes `Xc` of `cc`.
    fn repeated(
        &mut self,
        at: usize,
        unit: &Unit,
        (least, most): (usize, usize),
        rest: &[Node],
    ) -> Result<Option<usize>, Exhausted> {
        let fitting = self.text[at..].iter().take(most).take_while(|byte| unit.takes(**byte)).count();
        effort::spend(fitting / 2 + 1)?;
        if fitting < least {
            return Ok(None);
        }
        for end in (at + least..=at + fitting).rev() {
            if self.barrier == Some(end) {
                break;
            }
            if let Some(end) = self.advance(end, rest)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn repeated_group(&mut self, at: usize, group: usize, rest: &[Node]) -> Result<Option<usize>, Exhausted> {
        let mut ends = vec![at];
        while let Some(end) = self.same(ends[ends.len() - 1], group) {
            effort::spend(4 + (end - at) / 8)?;
            if ends.last() == Some(&end) {
                break;
            }
            ends.push(end);
        }
        for end in ends.into_iter().rev() {
            if let Some(end) = self.advance(end, rest)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Result<Pattern, &'static str> {
        let text = format!("{text}/rest");
        let mut text = text.as_bytes();
        let read = Pattern::read(&mut text, b'/')?;
        assert_eq!(text, b"rest");
        Ok(read.unwrap())
    }

    fn found<'a>(wanted: &str, text: &'a str) -> Option<&'a str> {
        Some(&text[pattern(wanted).unwrap().find(text.as_bytes(), 0, false).unwrap()?.whole])
    }

    #[test]
    fn what_is_written_is_found() {
        for (wanted, text, expected) in [
            ("b", "abc", Some("b")),
            ("^b", "abc", None),
            ("^a.", "abc", Some("ab")),
            ("c$", "abc", Some("c")),
            ("b$", "abc", None),
            ("a$b", "a$b", Some("a$b")),
            ("x*", "abc", Some("")),
            ("*a", "*a", Some("*a")),
            ("^*a", "b*a", None),
            ("\\(*a\\)", "*a", Some("*a")),
            ("\\(a\\)*", "a*", Some("a*")),
            ("[b-c]*d", "abcbd", Some("bcbd")),
            ("[^a]", "ab", Some("b")),
            ("[]x]*", "]x]a", Some("]x]")),
            ("[a-]*", "a-b", Some("a-")),
            ("[\\n]", "n", Some("n")),
            ("[a/]*", "a/b", Some("a/")),
            ("\\.\\*\\/", "x.*/", Some(".*/")),
            ("a\\nb", "a\nb", Some("a\nb")),
            ("a.b", "a\nb", Some("a\nb")),
            ("a\\{2\\}", "baaa", Some("aa")),
            ("a\\{2,\\}", "baaa", Some("aaa")),
            (".\\{1,2\\}c", "abc", Some("abc")),
            ("\\{", "{", Some("{")),
            ("\\(.\\)\\1", "abccd", Some("cc")),
            ("\\(ab*\\)\\1*c", "abbababc", Some("ababc")),
            ("a+|b", "a+|b", Some("a+|b")),
        ] {
            assert_eq!(found(wanted, text), expected, "{wanted}");
        }
    }

    #[test]
    fn what_can_t_be_read_is_told() {
        for wrong in [
            "\\(a",
            "a\\)",
            "[a",
            "a\\{x\\}",
            "a\\{3,2\\}",
            "a\\{300\\}",
            "\\1",
            "\\(a\\1\\)",
            "a\\{2",
            "\\(a\\)\\{2\\}",
        ] {
            assert!(pattern(wrong).is_err(), "{wrong}");
        }
        assert!(Pattern::read(&mut &b"abc"[..], b'/').is_err(), "no delimiter");
        assert!(Pattern::read(&mut &b"/x"[..], b'/').unwrap().is_none());
    }

    #[test]
    fn groups_are_where_they_matched() {
        let found = pattern("\\(a*\\)\\(b\\)").unwrap().find(b"xaab", 0, false).unwrap().unwrap();
        assert_eq!((found.groups[0].clone(), found.groups[1].clone()), (1..3, 3..4));
    }

    #[test]
    fn behind_a_match_a_repetition_takes_something() {
        let next =
            |wanted: &str, text: &str| pattern(wanted).unwrap().find(text.as_bytes(), 0, true).unwrap();
        assert_eq!(next("x*", "abc").unwrap().whole, 1..1);
        assert!(next("b*c", "c").is_none());
        assert!(next("^a", "a").is_none());
        assert_eq!(next("c", "c").unwrap().whole, 0..1);
    }
}
