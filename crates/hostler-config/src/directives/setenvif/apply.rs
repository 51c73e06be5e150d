//! Carrying out SetEnvIf rules.

use super::{Attribute, Rule, Subject, Test, substitute};
use hostler_expr::{Answer, Captures, EvalError, Host, Place, Question, Regex, RegexError};
use std::borrow::Cow;
use std::sync::Arc;

/// The values that rules read and write.
pub trait Request {
    /// One of the six attributes.
    fn attribute(&self, attribute: Attribute) -> Answer<Option<Cow<'_, [u8]>>>;
    /// A field of the request's header; several of a name joined with `, `.
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// The first field of the request's header whose name matches.
    ///
    /// # Errors
    /// A match was given up or postponed.
    fn header_matching(&self, name: &Regex) -> Result<Option<Cow<'_, [u8]>>, RegexError>;
    /// A variable of the request's environment.
    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// Sets a variable.
    fn set_env(&mut self, name: &str, value: Vec<u8>);
    /// Unsets a variable.
    fn unset_env(&mut self, name: &str);
    /// For expressions.
    fn expression_host(&self) -> &dyn Host;
    /// A rule that could not be tested, for the error log. What it would have set may be what access depends on, so
    /// the request must not go on.
    fn failed(&self, reason: &str);
    /// Returns whether to pause before the next rule.
    fn is_overdue(&self) -> bool {
        false
    }
}

/// A value that must be fetched before the rules can continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: the time slice is over, or a match is postponed.
    Turn,
    /// The client's name.
    RemoteHost,
    /// The question of an expression.
    Expression(Box<Question>),
}

/// The rules have stopped: fetch what is needed and apply them again, beginning at this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Index of the rule.
    pub at: usize,
    /// The value to fetch.
    pub need: Need,
}

/// Applies the rules in order, beginning with the one of this index.
///
/// # Errors
/// [`Pause`] when a rule needs something that is not known yet.
pub fn apply(rules: &[Arc<Rule>], from: usize, request: &mut dyn Request) -> Result<(), Pause> {
    for (at, rule) in rules.iter().enumerate().skip(from) {
        if at > from && request.is_overdue() {
            return Err(Pause { at, need: Need::Turn });
        }
        let mut captures = Captures::new();
        let holds = rule.test.holds(request, &mut captures).map_err(|need| Pause { at, need })?;
        if holds {
            assign(rule, &captures, request);
        }
    }
    Ok(())
}

fn assign(rule: &Rule, captures: &Captures, request: &mut dyn Request) {
    for assignment in &rule.assignments {
        match &assignment.value {
            // An expression in which nothing was matched leaves `$0` as it is written.
            Some(value) if matches!(rule.test, Test::Expr(_)) && !captures.has_match() => {
                request.set_env(&assignment.name, value.as_bytes().to_vec());
            }
            Some(value) => request.set_env(&assignment.name, substitute(value.as_bytes(), captures)),
            None => request.unset_env(&assignment.name),
        }
    }
}

impl Rule {
    /// Its place.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        match &self.test {
            Test::Match(_, regex) => regex.place(),
            Test::Expr(expr) => expr.place(),
        }
    }

    /// Returns whether it looks at nothing but the client's User-Agent, and sets what does not depend on how that
    /// matches.
    #[must_use]
    pub fn is_about_agent(&self) -> bool {
        let Test::Match(Subject::Header(name), _) = &self.test else { return false };
        let constant = |assignment: &super::Assignment| {
            // A header that is not there is looked for among the variables.
            !assignment.name.eq_ignore_ascii_case(AGENT)
                && assignment.value.as_ref().is_none_or(|value| !value.contains('$'))
        };
        name.eq_ignore_ascii_case(AGENT) && self.assignments.iter().all(constant)
    }

    /// Returns whether a rule about the User-Agent applies; `None`: the pattern can't be carried out on it.
    #[must_use]
    pub fn matches_agent(&self, agent: &[u8]) -> Option<bool> {
        let Test::Match(_, regex) = &self.test else { return None };
        regex.is_match(agent).ok()
    }
}

const AGENT: &str = "User-Agent";

impl Test {
    fn holds(&self, request: &dyn Request, captures: &mut Captures) -> Result<bool, Need> {
        match self {
            Self::Match(subject, regex) => {
                let value = subject.value(request)?;
                let matched = regex.capture(value.as_deref().unwrap_or_default(), captures);
                matched.or_else(|error| gave_up(request, &error))
            }
            Self::Expr(expr) => match expr.test(request.expression_host(), captures) {
                Ok(holds) => Ok(holds),
                Err(EvalError::Pending(question)) => Err(Need::Expression(question)),
                Err(error) => {
                    request.failed(&error.to_string());
                    Ok(false)
                }
            },
        }
    }
}

/// A match that is not postponed has failed, and then the rule does not apply.
fn gave_up(request: &dyn Request, error: &RegexError) -> Result<bool, Need> {
    if error.is_postponed() {
        return Err(Need::Turn);
    }
    request.failed(&error.to_string());
    Ok(false)
}

impl Subject {
    fn value<'r>(&self, request: &'r dyn Request) -> Result<Option<Cow<'r, [u8]>>, Need> {
        match self {
            Self::Attribute(attribute) => match request.attribute(*attribute) {
                Answer::Ready(value) => Ok(value),
                Answer::Pending => Err(Need::RemoteHost),
            },
            Self::Header(name) => Ok(request.header(name).or_else(|| request.env(name))),
            Self::HeaderMatching(regex) => match request.header_matching(regex) {
                Ok(value) => Ok(value),
                Err(error) => gave_up(request, &error).map(|_| None),
            },
        }
    }
}
