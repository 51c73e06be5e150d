//! One rule on one request: whether it applies, and what it would do. Nothing is changed here, so a rule that has to
//! wait for an answer is simply evaluated again.

use crate::condition::{Condition, Test, integer};
use crate::expand::{Maps, Notes, QuestionMarks, Scene, Stop};
use crate::flags::Escapes;
use crate::host::{Host, Need};
use crate::rule::Rule;
use hostler_expr::{Answer, Captures, EvalError};
use std::borrow::Cow;

/// Why a rule does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhyNot {
    Pattern,
    /// By its index.
    Condition(usize),
}

impl WhyNot {
    /// In words.
    pub(crate) fn of(self, rule: &Rule) -> String {
        match self {
            Self::Condition(index) => rule.conditions.get(index).map_or_else(String::new, |condition| {
                let not = if condition.negated { "!" } else { "" };
                format!("the condition {} {not}{} does not hold", condition.input.source(), condition.pattern)
            }),
            Self::Pattern => "its pattern does not match".to_owned(),
        }
    }
}

/// A rule's evaluation.
#[derive(Debug, Default)]
pub(crate) struct Evaluation {
    /// What its pattern was matched with, where somebody needs it.
    pub(crate) input: Vec<u8>,
    /// Why it does not apply.
    pub(crate) why_not: Option<WhyNot>,
    /// What its substitution becomes; `None`: it has none.
    pub(crate) result: Option<Vec<u8>>,
    /// A question mark of the client's would begin a query in it.
    pub(crate) led_astray: bool,
    pub(crate) cookies: Vec<Vec<u8>>,
    pub(crate) mime_type: Option<Vec<u8>>,
    pub(crate) handler: Option<Vec<u8>>,
    pub(crate) notes: Notes,
}

/// What rules of a directory work on: the file name with what follows it, without the directory.
pub(crate) fn subject<'h>(
    host: &'h dyn Host,
    directory: Option<&str>,
    mut trace: Option<&mut dyn FnMut(Vec<u8>)>,
) -> Cow<'h, [u8]> {
    let filename = host.filename();
    let Some(directory) = directory else { return Cow::Borrowed(filename) };
    let info = host.path_info();
    let whole: Cow<'h, [u8]> = if info.is_empty() {
        Cow::Borrowed(filename)
    } else {
        let whole = [filename, info].concat();
        if let Some(trace) = &mut trace {
            trace([b"add path info postfix: ", filename, b" -> ", &whole].concat());
        }
        Cow::Owned(whole)
    };
    if !whole.starts_with(directory.as_bytes()) {
        return whole;
    }
    if let Some(trace) = &mut trace {
        trace([b"strip per-dir prefix: ", &whole[..], b" -> ", &whole[directory.len()..]].concat());
    }
    match whole {
        Cow::Borrowed(whole) => Cow::Borrowed(&whole[directory.len()..]),
        Cow::Owned(mut whole) => Cow::Owned(whole.split_off(directory.len())),
    }
}

/// Evaluates a rule.
pub(crate) fn evaluate(
    rule: &Rule,
    directory: Option<&str>,
    maps: &Maps,
    host: &dyn Host,
) -> Result<Evaluation, Stop> {
    let trace = host.trace_level();
    let mut scene = Scene {
        host,
        maps,
        trace,
        rule: Captures::new(),
        condition: Captures::new(),
        question_marks: QuestionMarks::default(),
        notes: Notes::default(),
    };
    let mut told = |line| scene.trace(3, || line);
    let input = subject(host, directory, (trace >= 3).then_some(&mut told as &mut dyn FnMut(Vec<u8>)));
    scene.trace(3, || {
        [b"applying pattern '", rule.pattern().as_bytes(), b"' to uri '", &input[..], b"'"].concat()
    });
    let mut groups = Captures::new();
    let matched = rule.regex.capture(&input, &mut groups).map_err(|error| Stop::Failed(error.to_string()))?;
    let why_not = if matched == rule.negated {
        Some(WhyNot::Pattern)
    } else {
        if !rule.negated {
            scene.rule = groups;
        }
        scene.conditions(&rule.conditions)?.map(WhyNot::Condition)
    };
    let is_kept = why_not.is_none() || host.is_explained();
    let input = if is_kept { input.into_owned() } else { Vec::new() };
    let mut evaluated = Evaluation { input, why_not, ..Evaluation::default() };
    if evaluated.why_not.is_none() {
        scene.effects(rule, &mut evaluated)?;
    }
    evaluated.notes = scene.notes;
    Ok(evaluated)
}

impl Scene<'_> {
    /// Which condition does not hold; `None`: they do.
    fn conditions(&mut self, conditions: &[Condition]) -> Result<Option<usize>, Stop> {
        let mut all = conditions.iter().enumerate();
        while let Some((index, condition)) = all.next() {
            let holds = self.holds(condition)?;
            let looked_at = std::mem::take(&mut self.notes.looked_at);
            if condition.or {
                if !holds {
                    continue;
                }
                // One of the alternatives is enough: the others, and the one that ends them, are passed over.
                while all.next().is_some_and(|(_, next)| next.or) {}
            } else if !holds {
                return Ok(Some(index));
            }
            if !condition.no_vary {
                self.notes.vary.extend(looked_at);
            }
        }
        Ok(None)
    }

    fn holds(&mut self, condition: &Condition) -> Result<bool, Stop> {
        if let Test::Expression(expr) = &condition.test {
            let holds = self.expression(expr, condition)? != condition.negated;
            self.trace(4, || {
                let said = if holds { "matched" } else { "not-matched" };
                let not = if condition.negated { "!" } else { "" };
                format!("RewriteCond: input='(null)' pattern='{not}{}' => {said}", condition.pattern)
                    .into_bytes()
            });
            return Ok(holds);
        }
        let input = self.expand(&condition.input, &Escapes::default())?;
        let holds = self.test(condition, &input)? != condition.negated;
        self.trace(4, || {
            let not = if condition.negated { "!" } else { "" };
            let sign = if let Test::Text(order, _) = &condition.test { order.sign() } else { "" };
            let pattern = match (&condition.test, condition.pattern.strip_prefix(sign)) {
                (_, Some(rest)) => rest,
                (_, None) => &condition.pattern,
            };
            let case = if condition.ignore_case { " [NC]" } else { "" };
            let said = if holds { "matched" } else { "not-matched" };
            [
                b"RewriteCond: input='",
                &input[..],
                format!("' pattern='{not}{sign}{pattern}'{case} => {said}").as_bytes(),
            ]
            .concat()
        });
        Ok(holds)
    }

    fn test(&mut self, condition: &Condition, input: &[u8]) -> Result<bool, Stop> {
        Ok(match &condition.test {
            Test::Match(regex) => {
                let mut groups = Captures::new();
                let matched =
                    regex.capture(input, &mut groups).map_err(|error| Stop::Failed(error.to_string()))?;
                if matched && !condition.negated {
                    self.condition = groups;
                }
                matched
            }
            Test::File(test) => match self.host.file_test(*test, input) {
                Answer::Ready(holds) => holds,
                Answer::Pending => return Err(Stop::Need(Need::File(input.to_vec()))),
            },
            Test::Subrequest(how) => self.subrequest(*how, input)?,
            Test::Text(order, text) => order.holds(compare(input, text, *order, condition.ignore_case)),
            Test::Number(order, number) => order.holds(integer(input).cmp(number)),
            // Tested by another function.
            Test::Expression(_) => false,
        })
    }

    fn subrequest(&mut self, how: crate::Ahead, target: &[u8]) -> Result<bool, Stop> {
        if target.is_empty() {
            return Ok(false);
        }
        let Answer::Ready(looked) = self.host.subrequest(how, target) else {
            return Err(Stop::Need(Need::Subrequest(how, target.to_vec())));
        };
        let Some(looked) = looked else { return Ok(false) };
        let status = looked.status.to_string();
        let status = status.as_bytes();
        Ok(match how {
            crate::Ahead::Uri => {
                self.trace(5, || {
                    [b"RewriteCond URI (-U check: path=", target, b" -> status=", status].concat()
                });
                looked.status < 400
            }
            crate::Ahead::File => {
                self.trace(5, || {
                    let file = [b"RewriteCond file (-F check: path=", target, b" -> file=", &looked.filename]
                        .concat();
                    [&file[..], b" status=", status].concat()
                });
                looked.status < 300 && looked.exists
            }
        })
    }

    fn expression(&mut self, expr: &hostler_expr::Expr, condition: &Condition) -> Result<bool, Stop> {
        let mut groups = self.condition.clone();
        match expr.test(self.host.expressions(), &mut groups) {
            Ok(holds) => {
                if holds && !condition.negated {
                    self.condition = groups;
                }
                Ok(holds)
            }
            Err(EvalError::Pending(question)) => Err(Stop::Need(Need::Expression(question))),
            Err(error) => Err(Stop::Failed(format!(
                "RewriteCond: expr='{}' evaluation failed: {error}",
                condition.pattern
            ))),
        }
    }

    /// What a rule that applies does.
    fn effects(&mut self, rule: &Rule, evaluated: &mut Evaluation) -> Result<(), Stop> {
        let none = Escapes::default();
        if let Some(substitution) = &rule.substitution {
            let result = self.expand(substitution, &rule.flags.escapes)?;
            // The one that begins the query.
            let marks = self.question_marks;
            let begins = if rule.flags.query_last { marks.last } else { marks.first };
            evaluated.led_astray = begins == Some(true) && !rule.flags.unsafe_allow_3f;
            self.trace(2, || [b"rewrite '", &evaluated.input[..], b"' -> '", &result, b"'"].concat());
            evaluated.result = Some(result);
        }
        for template in &rule.flags.env {
            let text = self.expand(template, &none)?;
            self.env(&text);
        }
        for template in &rule.flags.cookies {
            evaluated.cookies.push(self.expand(template, &none)?);
        }
        let mut value = |template: &Option<_>| template.as_ref().map(|it| self.expand(it, &none)).transpose();
        evaluated.mime_type = value(&rule.flags.mime_type)?;
        evaluated.handler = value(&rule.flags.handler)?;
        self.notes.looked_at.clear();
        Ok(())
    }

    /// `name:value`, `name`, or `!name`.
    fn env(&mut self, text: &[u8]) {
        if let Some(name) = text.strip_prefix(b"!") {
            self.trace(5, || [b"unsetting env variable '", name, b"'"].concat());
            self.notes.env.push((name.to_vec(), None));
            return;
        }
        let (name, value) = match memchr::memchr(b':', text) {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (text, &b""[..]),
        };
        if name.is_empty() {
            return;
        }
        self.trace(5, || [b"setting env variable '", name, b"' to '", value, b"'"].concat());
        self.notes.env.push((name.to_vec(), Some(value.to_vec())));
    }
}

/// Texts in order. Quirk(apache): for `<` and `>` the shorter one comes first, whatever is in it, but with `NC`.
fn compare(
    left: &[u8],
    right: &[u8],
    order: crate::condition::Order,
    ignore_case: bool,
) -> std::cmp::Ordering {
    if order == crate::condition::Order::Equal {
        let equal = if ignore_case { left.eq_ignore_ascii_case(right) } else { left == right };
        return if equal { std::cmp::Ordering::Equal } else { std::cmp::Ordering::Less };
    }
    if ignore_case {
        return left.to_ascii_lowercase().cmp(&right.to_ascii_lowercase());
    }
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}
