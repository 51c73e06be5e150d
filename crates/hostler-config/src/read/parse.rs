//! From the lines of one file to a tree with sections, before anything is resolved.

use crate::lexer::{Lexer, LineKind};
use crate::{Node, Origin};

/// Sections deeper than this are an error.
const MAX_DEPTH: usize = 64;

/// Sections whose contents are not directives.
const RAW: &[&str] =
    &["Perl", "LuaHookTranslateName", "LuaHookFixups", "LuaHookMapToStorage", "LuaHookCheckUserID"];

/// Returns whether a section's contents are not directives but one text.
pub(super) fn is_raw(name: &str) -> bool {
    RAW.iter().any(|raw| raw.eq_ignore_ascii_case(name))
}

/// A fault, and its place.
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

/// Perl's documentation between the lines, which mod_perl lets configurations have.
enum Pod {
    /// Documentation begins, or goes on.
    Skip,
    /// The rest of the file is none of the configuration's.
    End,
}

fn is_of_pod(name: &str) -> bool {
    ["=pod", "=back", "=cut", "__END__"].iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// Returns mod_perl's reading of these words; `=over apache` is for [`Lexer::skip_pod`].
fn pod(name: &str, args: &str, in_htaccess: bool) -> Result<Pod, String> {
    // Words that may follow `=pod` and `=back`.
    let is_known = || args.contains("apache") || args.contains("httpd") || "pod".contains(args);
    match name.to_ascii_lowercase().as_str() {
        _ if in_htaccess => Err("is not allowed in .htaccess files".to_owned()),
        "__end__" => Ok(Pod::End),
        "=cut" => Err("no =pod before it".to_owned()),
        _ if is_known() => Ok(Pod::Skip),
        _ => Err(format!("\"{args}\" may not follow it")),
    }
}

/// Parses a file. Sections that are not closed are closed at its end, with a problem.
pub(super) fn parse(text: &[u8], file: u32, in_htaccess: bool) -> (Vec<Node>, Vec<Problem>) {
    let mut parser = Parser { file, stack: Vec::new(), top: Vec::new(), problems: Vec::new() };
    let mut lexer = Lexer::new(text);
    while let Some(line) = lexer.next() {
        match line {
            Err(error) => parser.problem(error.number, "", error.message),
            Ok(line) => match line.kind {
                LineKind::Directive(name, args) if is_of_pod(&name) => match pod(&name, &args, in_htaccess) {
                    Ok(Pod::Skip) => lexer.skip_pod(),
                    Ok(Pod::End) => break,
                    Err(message) => parser.problem(line.number, &name, message),
                },
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
        parse(text.as_bytes(), 0, false)
            .1
            .into_iter()
            .map(|(at, _, message)| format!("{}: {message}", at.line))
            .collect()
    }

    #[test]
    fn sections_nest() {
        let (nodes, problems) = parse(b"<A x>\n<B>\nC d\n</b>\n</A>\nE", 3, false);
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
        let (nodes, problems) = parse(b"<Perl>\nif ($x <\n1) { \\\n}\n</Perl>\nE", 0, false);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(nodes.len(), 2);
        let code = &nodes[0].children.as_ref().unwrap()[0].args;
        assert_eq!(code, "if ($x <\n1) { \\\n}\n");
    }

    #[test]
    fn documentation_between_lines_is_skipped() {
        for (text, left) in [
            ("A\n=pod\n<B\n\n =cut \nC\n__END__\n<D>", "A C"),
            ("=pod\nA\n=over apache\nB\n=back\nC\n=over 4 httpd\nD\n=back\n=cut\nE", "B D E"),
            ("=pod\n=over 4\nA\n=cut x\n=CUT\nB \\\n=cut\n=cut\nC", "C"),
            ("=PoD\n=over \\\napache\nA\n=pod\nB\n=cut\nC", "A C"),
            ("A\n=back apache\nB", "A"),
            ("A\n__end__ x\nB", "A"),
        ] {
            let (nodes, problems) = parse(text.as_bytes(), 0, false);
            assert!(problems.is_empty(), "{text}: {problems:?}");
            let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
            assert_eq!(names.join(" "), left, "{text}");
        }
    }

    #[test]
    fn documentation_that_mod_perl_refuses_is_refused() {
        assert_eq!(problems("A\n=cut"), ["2: no =pod before it"]);
        assert_eq!(problems("=pod\n=over apache\n=cut"), ["3: no =pod before it"]);
        assert_eq!(problems("=pod x y"), ["1: \"x y\" may not follow it"]);
        assert_eq!(problems("<A>\n__END__\n</A>"), ["1: <A> is not closed"]);
        let (_, problems) = parse(b"=pod\n", 0, true);
        assert_eq!(problems.len(), 1);
    }
}
