//! Evaluates legacy expressions.

use super::{Chain, Host, Inner, Logic, Missing, Node, substitute};
use crate::error::Question;
use crate::tree::Comparison;
use crate::{Answer, Captures, EvalError, Regex, RegexOptions, SubrequestTest, effort};

pub(super) fn test(expr: &Inner, host: &dyn Host, captures: &mut Captures) -> Result<bool, EvalError> {
    let Some(root) = &expr.root else { return Ok(false) };
    let before = captures.has_match().then(|| captures.clone());
    let result = Evaluation { host, captures, regexes_left: expr.regexes }.chain(root);
    if matches!(result, Err(EvalError::Pending(_))) {
        // It starts again, from the same groups.
        match before {
            Some(before) => *captures = before,
            None => captures.clear(),
        }
    }
    result
}

/// Longest sum of the variables in a text, in bytes.
const LONGEST: usize = 1 << 20;

struct Evaluation<'e> {
    host: &'e dyn Host,
    captures: &'e mut Captures,
    regexes_left: usize,
}

impl Evaluation<'_> {
    /// Groups to the right. Short-circuits only when no regular expression of the whole text is still to be
    /// evaluated, since those set `$0` to `$9`.
    fn chain(&mut self, Chain(operands): &Chain) -> Result<bool, EvalError> {
        let mut values: Vec<(bool, Logic)> = Vec::new();
        let mut result = false;
        for (index, (node, logic)) in operands.iter().enumerate() {
            let next_is_missing = matches!(operands.get(index + 1), Some((Node::Missing, _)));
            if next_is_missing {
                return Err(invalid("an operand is missing after && or ||"));
            }
            result = self.node(node)?;
            let Some(logic) = logic else { break };
            let decided = result == (*logic == Logic::Or);
            if decided && self.regexes_left == 0 {
                break;
            }
            values.push((result, *logic));
        }
        Ok(values.into_iter().rev().fold(result, |right, (left, logic)| match logic {
            Logic::And => left && right,
            Logic::Or => left || right,
        }))
    }

    fn node(&mut self, node: &Node) -> Result<bool, EvalError> {
        effort::spend(50)?;
        match node {
            Node::Text(text) => Ok(!self.expand(text)?.is_empty()),
            Node::Not(inner) => match &**inner {
                // Quirk(apache): "!" with nothing behind it is false.
                Node::Missing => Ok(false),
                inner => Ok(!self.node(inner)?),
            },
            Node::Group(None) => Ok(true),
            Node::Group(Some(inside)) => self.chain(inside),
            Node::Compare(how, left, right) => self.compare(*how, left, right),
            Node::Access(inner) => self.access(inner),
            Node::Unclosed => Err(invalid("found \"(\" without its \")\"")),
            Node::Regex(_) => Err(invalid("a regular expression needs = or != before it")),
            Node::Missing => Err(invalid("an operand is missing")),
        }
    }

    fn compare(&mut self, how: Comparison, left: &Node, right: &Node) -> Result<bool, EvalError> {
        let Node::Text(left) = left else { return Err(invalid("only a text can be compared")) };
        let left = self.expand(left)?;
        match (right, how) {
            (Node::Text(right), _) => Ok(how.holds(left.cmp(&self.expand(right)?))),
            (Node::Regex(pattern), Comparison::Equal) => self.matches(&left, pattern),
            (Node::Regex(pattern), Comparison::NotEqual) => Ok(!self.matches(&left, pattern)?),
            (Node::Missing, _) => Err(invalid("a comparison lacks its right side")),
            _ => Err(invalid(
                "a text can be compared with a text, with = and != also with a regular expression",
            )),
        }
    }

    /// Quirk(apache): groups are recorded for expressions without brackets too, and a failed match clears them.
    fn matches(&mut self, text: &[u8], pattern: &[u8]) -> Result<bool, EvalError> {
        let pattern = self.expand(pattern)?;
        let Ok(pattern) = std::str::from_utf8(&pattern) else {
            return Err(EvalError::Regex("a regular expression must be UTF-8".to_owned()));
        };
        let regex = Regex::new(pattern, RegexOptions::default())?;
        self.regexes_left = self.regexes_left.saturating_sub(1);
        match regex.spans(text)? {
            Some(found) => self.captures.record(text.to_vec(), found),
            None => self.captures.clear(),
        }
        Ok(self.captures.has_match())
    }

    fn access(&mut self, target: &Node) -> Result<bool, EvalError> {
        let Node::Text(uri) = target else { return Err(invalid("-A needs a URI behind it")) };
        let uri = self.expand(uri)?;
        match self.host.accessible(&uri) {
            Answer::Ready(accessible) => Ok(accessible),
            Answer::Pending => Err(EvalError::pending(Question::Subrequest(SubrequestTest::Uri, uri))),
        }
    }

    fn expand(&self, text: &[u8]) -> Result<Vec<u8>, EvalError> {
        let mut length = 0;
        let expanded = substitute(text, Missing::Drop, |name| {
            let value = match name {
                [digit @ b'0'..=b'9'] => self.captures.group(usize::from(digit - b'0')).map(Into::into),
                _ => self.host.variable(name),
            };
            length += value.as_ref().map_or(0, |value: &std::borrow::Cow<'_, [u8]>| value.len());
            value.filter(|_| length <= LONGEST)
        });
        effort::spend(expanded.len() + length / 8)?;
        if length > LONGEST {
            return Err(invalid("a text with its variables is too long"));
        }
        Ok(expanded.into_owned())
    }
}

fn invalid(reason: &str) -> EvalError {
    EvalError::Invalid(reason.to_owned())
}
