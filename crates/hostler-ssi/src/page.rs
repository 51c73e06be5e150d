//! A document read once: literal stretches and compiled elements, in order.

use std::fmt;

use hostler_expr::effort;

use crate::lexer::{self, Token};
use crate::program::{Element, Node};

/// The marks around an element (`SSIStartTag`, `SSIEndTag`). They may be equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Markers {
    start: Box<[u8]>,
    end: Box<[u8]>,
}

/// Why two strings cannot be markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkersError {
    /// A marker has no characters.
    Empty,
    /// A marker contains white space.
    WhiteSpace,
}

impl fmt::Display for MarkersError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            MarkersError::Empty => "the marker is empty",
            MarkersError::WhiteSpace => "the marker contains white space",
        })
    }
}

impl std::error::Error for MarkersError {}

impl Markers {
    /// Markers other than the usual ones.
    ///
    /// # Errors
    /// If one is empty or has white space in it.
    pub fn new(start: &[u8], end: &[u8]) -> Result<Markers, MarkersError> {
        if start.is_empty() || end.is_empty() {
            return Err(MarkersError::Empty);
        }
        if start.iter().chain(end).any(|byte| lexer::is_space(*byte)) {
            return Err(MarkersError::WhiteSpace);
        }
        Ok(Markers { start: start.into(), end: end.into() })
    }
}

impl Default for Markers {
    /// `<!--#` and `-->`.
    fn default() -> Markers {
        Markers { start: b"<!--#"[..].into(), end: b"-->"[..].into() }
    }
}

/// A parsed document, to be shared by all requests for it.
#[derive(Debug)]
pub struct Page {
    source: Box<[u8]>,
    nodes: Box<[Node]>,
    legacy_expressions: bool,
    /// Bytes of its regular expressions.
    compiled: usize,
}

/// Most pieces of a page that is read within bounds, elements and text between them.
const MOST_PIECES: usize = 100_000;

/// Most bytes of its regular expressions.
const MOST_COMPILED: u64 = 8 << 20;

/// Bytes that an element takes, besides a copy of its text.
const ELEMENT: usize = 400;

impl Page {
    /// Reads a document. Whatever is wrong in it becomes an element that says so when the page runs.
    ///
    /// `legacy_expressions` is `SSILegacyExprParser`.
    pub fn parse(source: impl Into<Box<[u8]>>, markers: &Markers, legacy_expressions: bool) -> Page {
        Page::read(source.into(), markers, legacy_expressions, None).unwrap_or_else(|()| Page {
            source: Box::default(),
            nodes: Box::default(),
            legacy_expressions,
            compiled: 0,
        })
    }

    /// The same for a page that may be meant to fill the memory; `None` if it has too many elements, or its regular
    /// expressions are too large.
    pub fn parse_within_bounds(
        source: impl Into<Box<[u8]>>,
        markers: &Markers,
        legacy_expressions: bool,
    ) -> Option<Page> {
        Page::read(source.into(), markers, legacy_expressions, Some((MOST_PIECES, MOST_COMPILED))).ok()
    }

    fn read(
        source: Box<[u8]>,
        markers: &Markers,
        legacy_expressions: bool,
        bounds: Option<(usize, u64)>,
    ) -> Result<Page, ()> {
        let (pieces, most) = bounds.unwrap_or((usize::MAX, u64::MAX));
        let before = effort::compiled();
        let compile = |token| match token {
            Token::Text(range) => Node { at: range.start, element: Element::Text(range.end) },
            Token::Unfinished(at) => Node { at, element: Element::Unfinished },
            Token::Element(at, raw) => Node { at, element: Element::compile(raw, legacy_expressions) },
        };
        let tokens = lexer::split(&source, &markers.start, &markers.end, pieces);
        if tokens.len() > pieces {
            return Err(());
        }
        let mut nodes = Vec::with_capacity(tokens.len());
        for token in tokens {
            nodes.push(compile(token));
            if effort::compiled() - before > most {
                return Err(());
            }
        }
        let compiled = (effort::compiled() - before) as usize;
        Ok(Page { source, nodes: nodes.into(), legacy_expressions, compiled })
    }

    /// About how many bytes of memory it takes.
    pub fn size(&self) -> usize {
        2 * self.source.len() + ELEMENT * self.nodes.len() + self.compiled
    }

    /// The document as it was read. [`Output::literal`](crate::Output::literal) gives ranges of it.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// True if there is no element in the document: it is its own output.
    pub fn is_plain(&self) -> bool {
        self.nodes.iter().all(|node| matches!(node.element, Element::Text(_)))
    }

    pub(crate) fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)
    }

    pub(crate) fn has_legacy_expressions(&self) -> bool {
        self.legacy_expressions
    }

    /// Line number, from 1, of an offset.
    pub(crate) fn line(&self, offset: usize) -> usize {
        let before = self.source.get(..offset).unwrap_or(&self.source);
        // Whoever tells lines of a large page again and again shall notice when it has been enough.
        let _ = effort::spend(before.len() / 8);
        1 + memchr::memchr_iter(b'\n', before).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_can_be_shared_by_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Page>();
        fn movable<T: Send>() {}
        movable::<crate::Run>();
    }

    #[test]
    fn markers_are_checked() {
        assert_eq!(Markers::new(b"", b"x"), Err(MarkersError::Empty));
        assert_eq!(Markers::new(b"<", b"- >"), Err(MarkersError::WhiteSpace));
        assert_eq!(Markers::new(b"<!--#", b"-->"), Ok(Markers::default()));
    }

    #[test]
    fn a_page_knows_its_lines_and_whether_it_is_plain() {
        let page = Page::parse(&b"a\nb\n<!--#else -->"[..], &Markers::default(), false);
        assert!(!page.is_plain());
        assert_eq!((page.line(0), page.line(4), page.line(999)), (1, 3, 3));
        assert!(Page::parse(&b"just text <!--"[..], &Markers::default(), false).is_plain());
    }
}
