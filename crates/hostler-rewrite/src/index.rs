//! The rules that can match a text, by the prefix that their patterns require. A thousand rules with simple prefixes
//! then cost one walk along the text instead of a thousand matches.
//!
//! Letters are compared without regard to case, so what is found may still not match; what is not found can't.

use hostler_expr::RegexOptions;

/// Texts by their beginnings, as a tree of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    nodes: Vec<Node>,
    /// Rules whose patterns demand nothing that is known.
    any: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Sorted by byte.
    next: Vec<(u8, u32)>,
    /// Rules whose prefix ends here, in ascending order.
    rules: Vec<u32>,
}

/// Most nodes of a tree; each takes about 100 bytes.
const MOST_NODES: usize = 32 << 10;

impl Index {
    /// An index of rules, each with its prefix (see [`prefix`]), in ascending order.
    pub(crate) fn new<'a>(rules: impl Iterator<Item = (u32, Option<&'a [u8]>)>) -> Self {
        let mut index = Self { nodes: vec![Node::default()], any: Vec::new() };
        for (rule, prefix) in rules {
            match prefix.filter(|prefix| !prefix.is_empty()) {
                Some(prefix) => index.add(rule, prefix),
                None => index.any.push(rule),
            }
        }
        index
    }

    fn add(&mut self, rule: u32, prefix: &[u8]) {
        let mut at = 0;
        // A shorter prefix finds a rule as well, only more often.
        for byte in prefix.iter().map(u8::to_ascii_lowercase) {
            at = match self.nodes[at].next.binary_search_by_key(&byte, |(byte, _)| *byte) {
                Ok(found) => self.nodes[at].next[found].1 as usize,
                Err(_) if self.nodes.len() >= MOST_NODES => break,
                Err(place) => {
                    let new = self.nodes.len();
                    self.nodes.push(Node::default());
                    self.nodes[at].next.insert(place, (byte, u32::try_from(new).unwrap_or(u32::MAX)));
                    new
                }
            };
        }
        match at {
            0 => self.any.push(rule),
            _ => self.nodes[at].rules.push(rule),
        }
    }

    /// The first rule at or after `from` that may match the text.
    pub(crate) fn next(&self, from: u32, text: &[u8]) -> Option<u32> {
        let first = |rules: &[u32]| rules.get(rules.partition_point(|rule| *rule < from)).copied();
        let mut best = first(&self.any);
        let mut node = self.nodes.first();
        for byte in text.iter().map(u8::to_ascii_lowercase) {
            let Some(here) = node else { break };
            node = here
                .next
                .binary_search_by_key(&byte, |(byte, _)| *byte)
                .ok()
                .and_then(|found| self.nodes.get(here.next[found].1 as usize));
            if let Some(rule) = node.and_then(|node| first(&node.rules)) {
                best = Some(best.map_or(rule, |best| best.min(rule)));
            }
        }
        best
    }

    /// Bytes of memory that it takes, about.
    pub(crate) fn size(&self) -> usize {
        self.nodes.len() * (size_of::<Node>() + 16) + self.any.len() * 4
    }
}

/// Longest prefix that is looked at, in bytes.
const LONGEST: usize = 64;

/// Returns the prefix that a text needs to match a pattern; empty if unknown.
pub(crate) fn prefix(pattern: &str, options: RegexOptions) -> Vec<u8> {
    let Some(rest) = pattern.strip_prefix('^') else { return Vec::new() };
    if options.extended || has_alternatives(rest) {
        return Vec::new();
    }
    let bytes = rest.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() && out.len() < LONGEST {
        let length = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(escaped)) if escaped.is_ascii_punctuation() => {
                out.push(*escaped);
                2
            }
            (b'\\' | b'.' | b'[' | b'(' | b')' | b'$' | b'^' | b'|' | b'*' | b'+' | b'?' | b'{', _) => break,
            (byte, _) => {
                out.push(byte);
                1
            }
        };
        at += length;
        // What may be there not at all is no part of it.
        if matches!(bytes.get(at), Some(b'*' | b'?' | b'{')) {
            out.pop();
            break;
        }
    }
    out
}

/// Returns whether there may be a `|` outside of brackets. In doubt there is.
fn has_alternatives(pattern: &str) -> bool {
    if !pattern.contains('|') {
        return false;
    }
    // Classes and comments in which a bracket is none.
    if ["[]", "[^]", "[:", "(?#"].iter().any(|odd| pattern.contains(odd)) {
        return true;
    }
    let mut depth = 0_i32;
    let mut class = false;
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            // \Q quotes until \E.
            b'\\' if matches!(bytes.next(), Some(b'Q' | b'E')) => return true,
            b'[' => class = true,
            b']' => class = false,
            b'(' if !class => depth += 1,
            b')' if !class => depth -= 1,
            b'|' if depth <= 0 || class => return true,
            _ => {}
        }
        if depth < 0 {
            return true;
        }
    }
    class || depth != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str) -> String {
        String::from_utf8(prefix(pattern, RegexOptions::default())).unwrap()
    }

    #[test]
    fn prefixes_are_what_stands_literally_at_the_beginning() {
        assert_eq!(of("^/old/page$"), "/old/page");
        assert_eq!(of(r"^/a\.b/(.*)$"), "/a.b/");
        assert_eq!(of("^/ab?c"), "/a");
        assert_eq!(of("^/ab+c"), "/ab");
        assert_eq!(of("^/ab{0}c"), "/a");
        assert_eq!(of("^/a(b|c)"), "/a");
        for none in [
            "/a",
            "^/a|b",
            "^a*",
            "^(a)",
            "^[a]b|",
            r"^/a\Qb|c\E",
            r"^\d",
            "^",
            "(?i)^/a",
            "^/a[|]",
            "^/a[](]b|c[])]",
        ] {
            assert_eq!(of(none), "", "{none}");
        }
        let extended = RegexOptions { extended: true, ..RegexOptions::default() };
        assert_eq!(prefix("^/a b", extended), b"");
    }

    #[test]
    fn only_rules_that_may_match_are_found() {
        let prefixes = ["/a", "", "/ab", "/B", "/a"];
        let index = Index::new((0..).zip(prefixes.iter().map(|prefix| Some(prefix.as_bytes()))));
        let all = |text: &str| {
            let mut found = Vec::new();
            while let Some(rule) = index.next(found.last().map_or(0, |rule| rule + 1), text.as_bytes()) {
                found.push(rule);
            }
            found
        };
        assert_eq!(all("/abc"), [0, 1, 2, 4]);
        assert_eq!(all("/A"), [0, 1, 4]);
        assert_eq!(all("/b/c"), [1, 3]);
        assert_eq!(all("x"), [1]);
        assert_eq!(Index::default().next(0, b"x"), None);
    }
}
