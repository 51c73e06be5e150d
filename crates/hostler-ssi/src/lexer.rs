//! Finds elements in a document and takes them apart: name, attributes, end marker.
//!
//! The rules are those of mod_include's state machine. An element's name ends at white space or where the
//! end marker begins; an attribute's name ends at white space or `=`, whatever stands in it; a value may
//! stand in `"`, `'` or backticks, or end at white space. Only between attributes is the end marker looked
//! for, so quoted text may contain it.

use std::ops::Range;

/// An element between its markers.
#[derive(Debug, Default)]
pub(crate) struct RawElement {
    /// In small letters.
    pub(crate) name: Vec<u8>,
    pub(crate) attributes: Vec<RawAttribute>,
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug)]
pub(crate) struct RawAttribute {
    /// In small letters.
    pub(crate) name: Vec<u8>,
    /// None if there was no `=`.
    pub(crate) value: Option<Vec<u8>>,
}

/// Why an element cannot be carried out, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// White space right after the start marker.
    NoName,
    /// A value or `=` where an attribute's name should be.
    NoAttributeName,
}

#[derive(Debug)]
pub(crate) enum Token {
    /// A stretch that is printed as it is.
    Text(Range<usize>),
    /// An element; the offset is that of its start marker.
    Element(usize, RawElement),
    /// An element that the document's end cut off.
    Unfinished(usize),
}

/// White space as C's `isspace` has it.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Splits a document, up to so many tokens and perhaps two more; the markers are not empty.
pub(crate) fn split(source: &[u8], start: &[u8], end: &[u8], most: usize) -> Vec<Token> {
    let finder = memchr::memmem::Finder::new(start);
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(found) = finder.find(&source[at..]) {
        if tokens.len() > most {
            return tokens;
        }
        let marker = at + found;
        push_text(at..marker, &mut tokens);
        let mut cursor = Cursor { source, end, at: marker + start.len() };
        let Some(element) = cursor.element() else {
            tokens.push(Token::Unfinished(marker));
            return tokens;
        };
        at = cursor.at;
        tokens.push(Token::Element(marker, element));
    }
    push_text(at..source.len(), &mut tokens);
    tokens
}

fn push_text(range: Range<usize>, tokens: &mut Vec<Token>) {
    if !range.is_empty() {
        tokens.push(Token::Text(range));
    }
}

/// Reads one element. Its methods return `None` where the document ends too early.
struct Cursor<'a> {
    source: &'a [u8],
    end: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn element(&mut self) -> Option<RawElement> {
        let (name, finished) = self.element_name()?;
        let fault = name.is_empty().then_some(Fault::NoName);
        let mut element = RawElement { name, attributes: Vec::new(), fault };
        while !finished && !self.end_marker()? {
            let (attribute, fault) = self.attribute()?;
            element.fault = element.fault.or(fault);
            element.attributes.push(attribute);
        }
        Some(element)
    }

    /// The name, and whether the end marker followed it at once.
    fn element_name(&mut self) -> Option<(Vec<u8>, bool)> {
        let start = self.at;
        loop {
            let byte = self.peek()?;
            let finished = self.source[self.at..].starts_with(self.end);
            if is_space(byte) || finished {
                let name = self.source[start..self.at].to_ascii_lowercase();
                self.at += if finished { self.end.len() } else { 0 };
                return Some((name, finished));
            }
            self.at += 1;
        }
    }

    /// Skips white space; true if the end marker follows, which is then taken too.
    fn end_marker(&mut self) -> Option<bool> {
        self.skip_space()?;
        let rest = &self.source[self.at..];
        if rest.starts_with(self.end) {
            self.at += self.end.len();
            return Some(true);
        }
        // Cut off within the marker: neither an end nor an attribute.
        if self.end.starts_with(rest) { None } else { Some(false) }
    }

    fn attribute(&mut self) -> Option<(RawAttribute, Option<Fault>)> {
        if is_quote(self.peek()?) {
            let value = self.value()?;
            let attribute = RawAttribute { name: Vec::new(), value: Some(value) };
            return Some((attribute, Some(Fault::NoAttributeName)));
        }
        let start = self.at;
        while !is_space(self.peek()?) && self.peek()? != b'=' {
            self.at += 1;
        }
        let name = self.source[start..self.at].to_ascii_lowercase();
        let fault = name.is_empty().then_some(Fault::NoAttributeName);
        self.skip_space()?;
        if self.peek()? != b'=' {
            return Some((RawAttribute { name, value: None }, fault));
        }
        self.at += 1;
        self.skip_space()?;
        let value = self.value()?;
        Some((RawAttribute { name, value: Some(value) }, fault))
    }

    /// A value with what ends it. Within quotes a backslash takes the quote's meaning, and only that.
    fn value(&mut self) -> Option<Vec<u8>> {
        let quote = Some(self.peek()?).filter(|byte| is_quote(*byte));
        self.at += usize::from(quote.is_some());
        let mut value = Vec::new();
        loop {
            let mut byte = self.peek()?;
            self.at += 1;
            match quote {
                Some(quote) if byte == quote => return Some(value),
                None if is_space(byte) => return Some(value),
                Some(quote) if byte == b'\\' && self.peek()? == quote => {
                    byte = quote;
                    self.at += 1;
                }
                _ => {}
            }
            value.push(byte);
        }
    }

    fn skip_space(&mut self) -> Option<()> {
        while is_space(self.peek()?) {
            self.at += 1;
        }
        Some(())
    }

    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text as it is, elements as `[name a=b c]`, faults as `!`, an unfinished one as `[...`.
    fn shown(source: &str) -> String {
        shown_with(source, "<!--#", "-->")
    }

    fn shown_with(source: &str, start: &str, end: &str) -> String {
        let mut out = String::new();
        for token in split(source.as_bytes(), start.as_bytes(), end.as_bytes(), usize::MAX) {
            match token {
                Token::Text(range) => out.push_str(&source[range]),
                Token::Unfinished(_) => out.push_str("[..."),
                Token::Element(_, element) => {
                    out.push('[');
                    out.push_str(if element.fault.is_some() { "!" } else { "" });
                    out.push_str(&String::from_utf8_lossy(&element.name));
                    for attribute in &element.attributes {
                        out.push(' ');
                        out.push_str(&String::from_utf8_lossy(&attribute.name));
                        if let Some(value) = &attribute.value {
                            out.push('=');
                            out.push_str(&String::from_utf8_lossy(value));
                        }
                    }
                    out.push(']');
                }
            }
        }
        out
    }

    #[test]
    fn names_and_values() {
        assert_eq!(shown("a<!--#ECHO Var=\"X\" -->b"), "a[echo var=X]b");
        assert_eq!(shown("<!--#set var='a b'value=`c\"d`-->"), "[set var=a b value=c\"d]");
        assert_eq!(shown("<!--#set var = a\nvalue= b -->"), "[set var=a value=b]");
        assert_eq!(shown("<!--#printenv--><!--#else\t-->"), "[printenv][else]");
        assert_eq!(shown("<!--#a b c=d -->"), "[a b c=d]");
    }

    #[test]
    fn the_end_marker_ends_only_what_is_complete() {
        assert_eq!(shown("<!--#echo var=\"-->\" -->x"), "[echo var=-->]x");
        assert_eq!(shown("<!--#echo var-->x -->y"), "[echo var-->x]y");
        assert_eq!(shown("<!--#echo var=a-->x -->y"), "[echo var=a-->x]y");
        assert_eq!(shown("<!--#a--->y"), "[a-]y");
        assert_eq!(shown("<!--#a -x=1 -->y"), "[a -x=1]y");
    }

    #[test]
    fn backslashes_escape_the_quote_only() {
        assert_eq!(shown(r#"<!--#a b="c\"d\'e\\" f" -->"#), r#"[a b=c"d\'e\" f]"#);
        assert_eq!(shown(r"<!--#a b=c\ -->"), r"[a b=c\]");
    }

    #[test]
    fn faults() {
        assert_eq!(shown("<!--# echo -->"), "[! echo]");
        assert_eq!(shown("<!--#-->"), "[!]");
        assert_eq!(shown("<!--#echo \"x\" -->"), "[!echo =x]");
        assert_eq!(shown("<!--#echo =x -->"), "[!echo =x]");
    }

    #[test]
    fn a_document_may_end_anywhere() {
        let whole = "x<!--#set var=\"a\" value=b c -->y<!--#";
        for end in 0..=whole.len() {
            shown(&whole[..end]);
        }
        assert_eq!(shown("x<!--"), "x<!--");
        assert_eq!(shown("x<!--#"), "x[...");
        assert_eq!(shown("x<!--#a b=\"c -->"), "x[...");
        assert_eq!(shown("x<!--#a --"), "x[...");
    }

    #[test]
    fn markers_may_be_alike() {
        assert_eq!(shown_with("a%%echo var=x %%b%%else%%", "%%", "%%"), "a[echo var=x]b[else]");
        assert_eq!(shown_with("a%%%%b", "%%", "%%"), "a[!]b");
    }
}
