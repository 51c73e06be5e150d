//! Attribute values with variables in them: `$name`, `${name}`, `\$`.

use crate::coding::until_nul;

/// A value, cut where variables stand.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(Box<[u8]>),
    Variable {
        name: Box<[u8]>,
        /// The text that `exec cmd` keeps if there is no such variable. Quirk(Apache): the brace of `${name}` is lost.
        spelling: Box<[u8]>,
    },
    /// `${` without its `}`: an error is logged, and the rest of the value is lost.
    Unclosed(Box<[u8]>),
}

impl Value {
    /// Cuts a value; it ends before its first NUL.
    pub(crate) fn parse(source: &[u8]) -> Value {
        let mut splitter = Splitter { parts: Vec::new(), text: Vec::new() };
        splitter.split(until_nul(source));
        splitter.finish_text();
        Value { parts: splitter.parts }
    }

    /// The value if no variable is needed to know it.
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(b""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }
}

struct Splitter {
    parts: Vec<Part>,
    text: Vec<u8>,
}

impl Splitter {
    fn split(&mut self, source: &[u8]) {
        let mut rest = source;
        while let Some(at) = memchr::memchr2(b'\\', b'$', rest) {
            self.text.extend_from_slice(&rest[..at]);
            rest = &rest[at..];
            let taken = if rest[0] == b'\\' { self.backslash(rest) } else { self.dollar(rest) };
            let Some(taken) = taken else { return };
            rest = &rest[taken..];
        }
        self.text.extend_from_slice(rest);
    }

    /// A backslash only means something before a dollar.
    fn backslash(&mut self, rest: &[u8]) -> Option<usize> {
        let escapes = rest.get(1) == Some(&b'$');
        self.text.push(if escapes { b'$' } else { b'\\' });
        Some(if escapes { 2 } else { 1 })
    }

    /// A variable, or a dollar that stands for itself; `None` if the value ends here.
    fn dollar(&mut self, rest: &[u8]) -> Option<usize> {
        let braced = rest.get(1) == Some(&b'{');
        let start = if braced { 2 } else { 1 };
        let length = if braced {
            let Some(length) = memchr::memchr(b'}', &rest[start..]) else {
                self.finish_text();
                self.parts.push(Part::Unclosed(rest[start..].into()));
                return None;
            };
            length
        } else {
            rest[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
        };
        if length == 0 {
            self.text.push(b'$');
            return Some(1);
        }
        self.finish_text();
        let end = start + length;
        self.parts.push(Part::Variable { name: rest[start..end].into(), spelling: rest[..end].into() });
        Some(end + usize::from(braced))
    }

    fn finish_text(&mut self) {
        if !self.text.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.text).into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts written as `text`, `<name>`, `!rest`.
    fn shown(source: &str) -> String {
        let value = Value::parse(source.as_bytes());
        let show = |part: &Part| match part {
            Part::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Part::Variable { name, .. } => format!("<{}>", String::from_utf8_lossy(name)),
            Part::Unclosed(rest) => format!("!{}", String::from_utf8_lossy(rest)),
        };
        value.parts.iter().map(show).collect()
    }

    #[test]
    fn variables_are_cut_out() {
        assert_eq!(shown("a$b_1-${c d}e$"), "a<b_1>-<c d>e$");
        assert_eq!(shown("$$a ${} $- \\$a \\\\$a \\n"), "$<a> ${} $- $a \\$a \\n");
        assert_eq!(shown("x${y$z"), "x!y$z");
        assert_eq!(shown("a\0$b"), "a");
    }

    #[test]
    fn constants_are_recognised() {
        assert_eq!(Value::parse(b"").constant(), Some(&b""[..]));
        assert_eq!(Value::parse(b"1\\$").constant(), Some(&b"1$"[..]));
        assert_eq!(Value::parse(b"$a").constant(), None);
    }
}
