//! `<Macro>` and `Use` (mod_macro): lines with parameters, written once and used often.

use super::expand::Reader;
use crate::lexer::words;
use crate::{Node, Origin};
use std::sync::Arc;

/// A macro.
#[derive(Debug)]
pub(crate) struct Macro {
    name: String,
    /// Parameters, longest first, each with its position: where two begin alike, the longer one is meant.
    parameters: Vec<(String, usize)>,
    body: Vec<Node>,
}

impl Reader {
    pub(super) fn define_macro(&mut self, node: &Node) {
        let words = words(&node.args);
        let Some((name, parameters)) = words.split_first() else {
            return self.error(node.origin, "Macro", "needs a name");
        };
        let mut known: Vec<(String, usize)> = Vec::new();
        for (position, parameter) in parameters.iter().enumerate() {
            if parameter.is_empty() || known.iter().any(|(other, _)| other == parameter) {
                let message = format!("the parameter \"{parameter}\" is empty or named twice");
                return self.error(node.origin, "Macro", message);
            }
            if !parameter.starts_with(['$', '%', '@']) {
                self.warn(
                    node.origin,
                    format!("the parameter \"{parameter}\" of a macro should begin with $, % or @"),
                );
            }
            known.push((parameter.clone(), position));
        }
        known.sort_by_key(|(parameter, _)| std::cmp::Reverse(parameter.len()));
        let body = node.children.clone().unwrap_or_default();
        let defined = Macro { name: name.clone(), parameters: known, body };
        if self.macros.insert(name.to_ascii_lowercase(), Arc::new(defined)).is_some() {
            self.warn(node.origin, format!("the macro \"{name}\" is defined again"));
        }
    }

    /// The lines of a macro that is used, as they were written.
    pub(super) fn macro_body(&self, args: &str) -> Option<Vec<Node>> {
        let used = words(args).into_iter().next()?;
        self.macros.get(&used.to_ascii_lowercase()).map(|found| found.body.clone())
    }

    pub(super) fn undefine_macro(&mut self, args: &str) -> Result<(), String> {
        match &words(args)[..] {
            [name] => {
                let removed = self.macros.remove(&name.to_ascii_lowercase());
                removed.map(drop).ok_or_else(|| format!("unknown macro \"{name}\""))
            }
            words => Err(format!("takes one argument, not {}", words.len())),
        }
    }

    pub(super) fn use_macro(
        &mut self,
        at: Origin,
        name: &str,
        args: &str,
        out: &mut Vec<Node>,
    ) -> Result<(), String> {
        let words = words(args);
        let (used, values) = words.split_first().ok_or("needs the name of a macro")?;
        let key = used.to_ascii_lowercase();
        let found = self.macros.get(&key).cloned().ok_or_else(|| crate::unknown("macro", used, &[]))?;
        if found.parameters.len() != values.len() {
            let (takes, given) = (found.parameters.len(), values.len());
            return Err(format!("the macro \"{}\" takes {takes} arguments, not {given}", found.name));
        }
        if self.using.contains(&key) {
            return Err(format!("the macro \"{used}\" uses itself"));
        }
        let body =
            found.body.iter().map(|node| substitute(node, &found.parameters, values)).collect::<Vec<_>>();
        self.using.push(key);
        self.nested(at, name, |reader| reader.expand(&body, out));
        self.using.pop();
        Ok(())
    }
}

fn substitute(node: &Node, parameters: &[(String, usize)], values: &[String]) -> Node {
    let replace = |text: &str| replaced(text, parameters, values);
    let children = node.children.as_ref();
    Node {
        name: replace(&node.name),
        args: replace(&node.args),
        origin: node.origin,
        children: children
            .map(|nodes| nodes.iter().map(|node| substitute(node, parameters, values)).collect()),
    }
}

/// Parameters are replaced from left to right; what was put in is not looked at again.
fn replaced(text: &str, parameters: &[(String, usize)], values: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let found = parameters.iter().find(|(parameter, _)| rest.starts_with(parameter.as_str()));
        let length = match found {
            Some((parameter, position)) => {
                out.push_str(&values[*position]);
                parameter.len()
            }
            None => {
                out.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::read::read_text;

    fn lines(text: &str) -> Result<Vec<String>, String> {
        let tree = read_text(text, "/nowhere").map_err(|errors| errors[0].to_string())?;
        let nodes = tree.nodes.iter().filter(|node| node.name != "TypesConfig");
        Ok(nodes.map(|node| format!("{} {}", node.name, node.args)).collect())
    }

    #[test]
    fn macros_replace_parameters_longest_first() {
        let text = "<Macro M $a $ab>\nX $a $ab $abc\n</Macro>\nUse M 1 \"2 3\"\nuse m $ab 4";
        assert_eq!(lines(text).unwrap(), ["X 1 2 3 2 3c", "X $ab 4 4c"]);
    }

    #[test]
    fn macros_multiply_only_so_far() {
        let mut text = "<Macro M0>\nA\nA\n</Macro>\n".to_owned();
        for level in 1..30 {
            let below = level - 1;
            text += &format!("<Macro M{level}>\nUse M{below}\nUse M{below}\n</Macro>\n");
        }
        assert!(lines(&(text + "Use M29")).unwrap_err().contains("more than"));
    }

    #[test]
    fn mistakes_in_macros_are_told() {
        for (text, says) in [
            ("Use M", "unknown macro"),
            ("<Macro M $a>\n</Macro>\nUse M", "takes 1 arguments, not 0"),
            ("<Macro M>\nUse M\n</Macro>\nUse M", "uses itself"),
            ("<Macro M $a $a>\n</Macro>", "named twice"),
            ("<Macro>\n</Macro>", "needs a name"),
        ] {
            assert!(lines(text).unwrap_err().contains(says), "{text}");
        }
    }
}
