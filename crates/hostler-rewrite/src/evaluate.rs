//! One rule on one request: whether it applies, and what it would do. Nothing is changed here, so a rule that has to
//! wait for an answer, or has used up its time slice, continues later with the condition at which it stopped.

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
    /// The input of its pattern, if it is wanted.
    pub(crate) input: Vec<u8>,
    /// Why it does not apply.
    pub(crate) why_not: Option<WhyNot>,
    /// The result of its substitution; `None`: it has none.
    pub(crate) result: Option<Vec<u8>>,
    /// A question mark of the client's would begin a query in it.
    pub(crate) led_astray: bool,
    pub(crate) cookies: Vec<Vec<u8>>,
    pub(crate) mime_type: Option<Vec<u8>>,
    pub(crate) handler: Option<Vec<u8>>,
    pub(crate) notes: Notes,
}

/// A rule's evaluation that has stopped at a condition, or after the last one.
#[derive(Debug)]
pub(crate) struct Stopped {
    at: usize,
    rule: Captures,
    condition: Captures,
    /// The groups of the expression in which it has stopped.
    expression: Option<Captures>,
    notes: Notes,
}

/// Returns the input of a directory's rules: the file name with the rest of the path, without the directory.
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

/// Evaluates a rule. `stopped`: where its evaluation has stopped before, and then where it stops now.
pub(crate) fn evaluate(
    rule: &Rule,
    directory: Option<&str>,
    maps: &Maps,
    host: &dyn Host,
    stopped: &mut Option<Stopped>,
) -> Result<Evaluation, Stop> {
    let mut scene = Scene {
        host,
        maps,
        trace: host.trace_level(),
        rule: Captures::new(),
        condition: Captures::new(),
        expression: None,
        question_marks: QuestionMarks::default(),
        notes: Notes::default(),
    };
    let evaluated = match stopped.take() {
        None => scene.pattern(rule, directory)?,
        Some(stopped) => {
            let Stopped { at, rule: groups, condition, expression, notes } = stopped;
            scene = Scene { rule: groups, condition, expression, notes, ..scene };
            let input = subject(host, directory, None).into_owned();
            Matched { input, why_not: None, at }
        }
    };
    let outcome = scene.conclude(rule, evaluated, stopped)?;
    Ok(Evaluation { notes: scene.notes, ..outcome })
}

/// A rule whose pattern has been looked at, and conditions up to a certain one.
struct Matched {
    input: Vec<u8>,
    why_not: Option<WhyNot>,
    at: usize,
}

impl Scene<'_> {
    /// Matches the rule's pattern.
    fn pattern(&mut self, rule: &Rule, directory: Option<&str>) -> Result<Matched, Stop> {
        let (host, trace) = (self.host, self.trace);
        let mut told = |line| self.trace(3, || line);
        let input = subject(host, directory, (trace >= 3).then_some(&mut told as &mut dyn FnMut(Vec<u8>)));
        self.trace(3, || {
            [b"applying pattern '", rule.pattern().as_bytes(), b"' to uri '", &input[..], b"'"].concat()
        });
        let mut groups = Captures::new();
        let matched = rule.regex.capture(&input, &mut groups)?;
        if matched != rule.negated && !rule.negated {
            self.rule = groups;
        }
        let why_not = (matched == rule.negated).then_some(WhyNot::Pattern);
        let is_kept = why_not.is_none() || host.is_explained();
        Ok(Matched { input: if is_kept { input.into_owned() } else { Vec::new() }, why_not, at: 0 })
    }

    /// Looks at the conditions of a rule, and at what it does if they hold.
    fn conclude(
        &mut self,
        rule: &Rule,
        matched: Matched,
        stopped: &mut Option<Stopped>,
    ) -> Result<Evaluation, Stop> {
        let Matched { input, mut why_not, at } = matched;
        if why_not.is_none() {
            why_not = self.conditions(&rule.conditions, at, stopped)?.map(WhyNot::Condition);
        }
        let mut evaluated = Evaluation { input, why_not, ..Evaluation::default() };
        if evaluated.why_not.is_none() {
            let lines = self.notes.lines.len();
            let done = self.effects(rule, &mut evaluated);
            if matches!(done, Err(Stop::Need(_))) {
                self.notes.env.clear();
                self.stop(rule.conditions.len(), lines, stopped);
            }
            done?;
        } else if !self.host.is_explained() {
            evaluated.input = Vec::new();
        }
        Ok(evaluated)
    }

    /// Keeps what the conditions before this one have come to. `lines`: lines of the trace up to there.
    fn stop(&mut self, at: usize, lines: usize, stopped: &mut Option<Stopped>) {
        let mut notes = std::mem::take(&mut self.notes);
        notes.lines.truncate(lines);
        notes.looked_at.clear();
        *stopped = Some(Stopped {
            at,
            rule: std::mem::take(&mut self.rule),
            condition: std::mem::take(&mut self.condition),
            expression: self.expression.take(),
            notes,
        });
    }

    /// Returns the first condition that fails, starting at this index; `None`: all hold.
    fn conditions(
        &mut self,
        conditions: &[Condition],
        from: usize,
        stopped: &mut Option<Stopped>,
    ) -> Result<Option<usize>, Stop> {
        let mut all = conditions.iter().enumerate().skip(from);
        while let Some((index, condition)) = all.next() {
            let lines = self.notes.lines.len();
            let is_late = index > from && self.host.is_overdue();
            let holds = if is_late { Err(Stop::Need(Need::Turn)) } else { self.holds(condition) };
            if matches!(holds, Err(Stop::Need(_))) {
                self.stop(index, lines, stopped);
            }
            let holds = holds?;
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
                let matched = regex.capture(input, &mut groups)?;
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
        let mut groups = self.expression.take().unwrap_or_else(|| self.condition.clone().and_progress());
        match expr.test(self.host.expressions(), &mut groups) {
            Ok(holds) => {
                if holds && !condition.negated {
                    self.condition = groups;
                }
                Ok(holds)
            }
            Err(EvalError::Pending(question)) => {
                self.expression = Some(groups);
                Err(Stop::Need(Need::Expression(question)))
            }
            Err(error) => Err(Stop::Failed(format!(
                "RewriteCond: expr='{}' evaluation failed: {error}",
                condition.pattern
            ))),
        }
    }

    /// Applies the effects of a matching rule.
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
