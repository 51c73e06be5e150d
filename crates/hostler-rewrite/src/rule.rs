//! `RewriteRule`, and lists of rules.

use crate::condition::Condition;
use crate::flags::RuleFlags;
use crate::index::{self, Index};
use crate::line::arguments;
use crate::template::Template;
use hostler_expr::{Place, Regex, RegexOptions};
use std::sync::{Arc, OnceLock};

/// A rule with its conditions.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) regex: Regex,
    /// `!pattern`
    pub(crate) negated: bool,
    /// The prefix that the pattern requires.
    prefix: Vec<u8>,
    /// `None`: `-`, or an answer's status that needs none.
    pub(crate) substitution: Option<Template>,
    pub(crate) flags: RuleFlags,
    place: Place,
    source: Box<str>,
}

impl Rule {
    /// Reads the arguments of `RewriteRule`.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(
        line: &str,
        options: RegexOptions,
        conditions: Vec<Condition>,
        place: Place,
    ) -> Result<Self, String> {
        let arguments = arguments(line).ok_or_else(|| format!("bad argument line '{line}'"))?;
        let mut flags = arguments.third.map_or_else(|| Ok(RuleFlags::default()), RuleFlags::parse)?;
        let (negated, pattern) = match arguments.first.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, arguments.first),
        };
        let options = RegexOptions { ignore_case: options.ignore_case || flags.ignore_case, ..options };
        let regex = Regex::new(pattern, options)
            .map_err(|error| format!("cannot compile regular expression '{pattern}': {error}"))?
            .at(place.clone());
        let mut substitution = arguments.second;
        // A question mark at the end means: no query. What comes before it is not looked at for another one.
        if let Some(path) = substitution.strip_suffix('?') {
            if flags.query_append {
                flags.query_last = true;
            } else {
                (flags.query_none, substitution) = (true, path);
            }
        }
        let none = flags.answer || arguments.second == "-";
        Ok(Self {
            conditions,
            negated,
            prefix: if negated { Vec::new() } else { index::prefix(pattern, options) },
            regex,
            substitution: (!none).then(|| Template::new(substitution)),
            flags,
            place,
            source: line.into(),
        })
    }

    /// The pattern, without `!`.
    #[must_use]
    pub fn pattern(&self) -> &str {
        self.regex.pattern()
    }

    /// Returns whether another server is to answer (`P`).
    #[must_use]
    pub fn is_proxy(&self) -> bool {
        self.flags.proxy
    }

    /// Its place.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The arguments as they were written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Bytes of memory that it takes, about.
    #[must_use]
    pub fn size(&self) -> usize {
        let conditions: usize = self.conditions.iter().map(Condition::size).sum();
        let substitution = self.substitution.as_ref().map_or(0, Template::size);
        size_of::<Self>() + conditions + self.regex.size() + substitution + self.source.len()
    }
}

/// Rules that are carried out in order.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    list: Vec<Arc<Rule>>,
    index: OnceLock<Option<Arc<Index>>>,
}

/// Lists of so many rules are gone through one by one.
const FEW: usize = 8;

impl Rules {
    /// Rules in this order.
    #[must_use]
    pub fn new(list: Vec<Arc<Rule>>) -> Self {
        Self { list, index: OnceLock::new() }
    }

    /// Adds a rule at the end.
    pub fn push(&mut self, rule: Rule) {
        self.list.push(Arc::new(rule));
        self.index = OnceLock::new();
    }

    /// These rules, and then those.
    #[must_use]
    pub fn followed_by(&self, then: &Self) -> Self {
        match (self.list.is_empty(), then.list.is_empty()) {
            (true, _) => then.clone(),
            (_, true) => self.clone(),
            _ => Self::new([&self.list[..], &then.list].concat()),
        }
    }

    /// The rules.
    #[must_use]
    pub fn list(&self) -> &[Arc<Rule>] {
        &self.list
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Bytes of memory that they take, about.
    #[must_use]
    pub fn size(&self) -> usize {
        let index = self.index.get().and_then(Option::as_ref).map_or(0, |index| index.size());
        index + self.list.iter().map(|rule| rule.size()).sum::<usize>()
    }

    /// The first rule at or after `from` that has to be looked at for this text. What is left out can't match.
    pub(crate) fn next(&self, from: usize, text: &[u8]) -> Option<usize> {
        // Within a chain each rule is reached by the one before it alone.
        if from >= self.list.len() || self.list.len() <= FEW || self.is_chained(from) {
            return (from < self.list.len()).then_some(from);
        }
        let index = self.index.get_or_init(|| self.worth_an_index().then(|| Arc::new(self.build())));
        match index {
            Some(index) => index.next(u32::try_from(from).ok()?, text).map(|rule| rule as usize),
            None => Some(from),
        }
    }

    fn is_chained(&self, at: usize) -> bool {
        at > 0 && self.list[at - 1].flags.chain
    }

    fn worth_an_index(&self) -> bool {
        self.list.iter().filter(|rule| !rule.prefix.is_empty()).count() > FEW
    }

    fn build(&self) -> Index {
        let entries = (0..self.list.len()).filter(|at| !self.is_chained(*at));
        let entry = |at: usize| (u32::try_from(at).unwrap_or(u32::MAX), Some(&*self.list[at].prefix));
        Index::new(entries.map(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(line: &str) -> Result<Rule, String> {
        Rule::parse(line, RegexOptions::default(), Vec::new(), Place::default())
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (line, why) in [
            ("a", "bad argument line 'a'"),
            ("a b L", "bad flag delimiters"),
            ("a b [X]", "unknown flag 'X'"),
            ("( b", "cannot compile regular expression '('"),
        ] {
            let error = rule(line).unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
    }

    #[test]
    fn a_hyphen_or_an_answer_is_no_substitution() {
        assert!(rule("a -").unwrap().substitution.is_none());
        assert!(rule("a b [F]").unwrap().substitution.is_none());
        assert!(rule("a b").unwrap().substitution.is_some());
        assert!(rule("!a b").unwrap().negated);
    }

    #[test]
    fn many_rules_are_found_by_their_prefixes_and_chains_are_entered_at_their_first() {
        let mut rules = Rules::default();
        for number in 0..50 {
            rules.push(rule(&format!("^/old{number}/ /x [C]")).unwrap());
            rules.push(rule(&format!("^/old{}/ /y", 49 - number)).unwrap());
        }
        assert_eq!(rules.next(0, b"/old7/a"), Some(14));
        assert_eq!(rules.next(15, b"/old7/a"), Some(15), "the chain's next is looked at, whatever it wants");
        assert_eq!(rules.next(16, b"/old7/a"), None);
        assert_eq!(rules.next(100, b"/old7/a"), None);
    }
}
