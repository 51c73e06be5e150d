//! From the lines of one file to a tree with sections, before anything is resolved.

use crate::lexer::{Lexer, LineKind};
use crate::{Node, Origin};

/// Sections deeper than this are an error.
const MAX_DEPTH: usize = 64;

/// Sections whose contents are not directives.
const RAW: &[&str] =
    &["Perl", "LuaHookTranslateName", "LuaHookFixups", "LuaHookMapToStorage", "LuaHookCheckUserID"];

/// Whether a section's contents are not directives but one text.
pub(super) fn is_raw(name: &str) -> bool {
    RAW.iter().any(|raw| raw.eq_ignore_ascii_case(name))
}

/// What is wrong, and where.
pub(super) type Problem = (Origin, String, String);

/// A section that is being filled.
struct Open {
    node: Node,
    children: Vec<Node>,
}

struct Parser {
    file: u32,
    stack: Vec<Open>,
    top: Vec<Node>,
    problems: Vec<Problem>,
}

/// Parses a file. Sections that are not closed are closed at its end, with a problem.
pub(super) fn parse(text: &[u8], file: u32) -> (Vec<Node>, Vec<Problem>) {
    let mut parser = Parser { file, stack: Vec::new(), top: Vec::new(), problems: Vec::new() };
    let mut lexer = Lexer::new(text);
    while let Some(line) = lexer.next() {
        match line {
            Err(error) => parser.problem(error.number, "", error.message),
            Ok(line) => match line.kind {
                LineKind::Directive(name, _) if name == "__END__" => break,
                LineKind::Directive(name, _) if matches!(name.as_str(), "=pod" | "=back") => {
                    if lexer.until(|line| line.starts_with("=cut")).is_none() {
                        parser.problem(line.number, &name, "there is no =cut after it".to_owned());
                    }
                }
                LineKind::Directive(name, args) => {
                    let origin = Origin { file, line: line.number };
                    parser.add(Node { name, args, origin, children: None });
                }
                LineKind::Open(name, args) => {
                    parser.open(line.number, name.clone(), args);
                    if is_raw(&name)
                        && let Some(text) = lexer.raw(&name)
                    {
                        let origin = Origin { file, line: line.number };
                        parser.add(Node { name: String::new(), args: text, origin, children: None });
                        parser.close(line.number, &name);
                    }
                }
                LineKind::Close(name) => parser.close(line.number, &name),
            },
        }
        if parser.stack.len() > MAX_DEPTH {
            let line = parser.stack.last().map_or(0, |open| open.node.origin.line);
            parser.problem(line, "", format!("sections nest deeper than {MAX_DEPTH} levels"));
            break;
        }
    }
    parser.finish()
}

impl Parser {
    fn problem(&mut self, line: u32, directive: &str, message: String) {
        self.problems.push((Origin { file: self.file, line }, directive.to_owned(), message));
    }

    fn add(&mut self, node: Node) {
        match self.stack.last_mut() {
            Some(open) => open.children.push(node),
            None => self.top.push(node),
        }
    }

    fn open(&mut self, line: u32, name: String, args: String) {
        if name.is_empty() {
            self.problem(line, "", "a section needs a name after <".to_owned());
        }
        let origin = Origin { file: self.file, line };
        self.stack.push(Open { node: Node { name, args, origin, children: None }, children: Vec::new() });
    }

    fn close(&mut self, line: u32, name: &str) {
        let same = |open: &Open| open.node.name.eq_ignore_ascii_case(name);
        match self.stack.last() {
            None => self.problem(line, name, format!("</{name}> without <{name}>")),
            Some(open) if same(open) => self.pop(),
            Some(open) => {
                let (expected, began) = (open.node.name.clone(), open.node.origin.line);
                let message =
                    format!("</{name}> where </{expected}> is expected (<{expected}> is in line {began})");
                self.problem(line, name, message);
                if self.stack.iter().any(same) {
                    while !self.stack.last().is_none_or(same) {
                        self.pop();
                    }
                    self.pop();
                }
            }
        }
    }

    fn pop(&mut self) {
        if let Some(Open { mut node, children }) = self.stack.pop() {
            node.children = Some(children);
            self.add(node);
        }
    }

    fn finish(mut self) -> (Vec<Node>, Vec<Problem>) {
        while let Some(open) = self.stack.last() {
            let (line, name) = (open.node.origin.line, open.node.name.clone());
            self.problem(line, &name, format!("<{name}> is not closed"));
            self.pop();
        }
        (self.top, self.problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        parse(text.as_bytes(), 0)
            .1
            .into_iter()
            .map(|(at, _, message)| format!("{}: {message}", at.line))
            .collect()
    }

    #[test]
    fn sections_nest() {
        let (nodes, problems) = parse(b"<A x>\n<B>\nC d\n</b>\n</A>\nE", 3);
        assert!(problems.is_empty());
        assert_eq!(nodes.len(), 2);
        let inner = &nodes[0].children.as_ref().unwrap()[0];
        assert_eq!((inner.name.as_str(), inner.origin), ("B", Origin { file: 3, line: 2 }));
        assert_eq!(inner.children.as_ref().unwrap()[0].args, "d");
    }

    #[test]
    fn wrong_nesting_is_told_once() {
        assert_eq!(problems("<A>\n<B>\n</A>\nC\n"), ["3: </A> where </B> is expected (<B> is in line 2)"]);
        assert_eq!(problems("</A>"), ["1: </A> without <A>"]);
        assert_eq!(problems("\n<A>"), ["2: <A> is not closed"]);
        assert_eq!(problems(&"<A>\n".repeat(100_000)).len(), 66);
    }

    #[test]
    fn perl_sections_are_not_read() {
        let (nodes, problems) = parse(b"<Perl>\nif ($x <\n1) { \\\n}\n</Perl>\nE", 0);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(nodes.len(), 2);
        let code = &nodes[0].children.as_ref().unwrap()[0].args;
        assert_eq!(code, "if ($x <\n1) { \\\n}\n");
    }

    #[test]
    fn documentation_between_lines_is_skipped() {
        let (nodes, problems) = parse(b"A\n=pod\n<B\n\n =cut\nC\n__END__\n<D>", 0);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["A", "C"]);
        assert_eq!(self::problems("A\n=pod\nB"), ["2: there is no =cut after it"]);
    }
}
