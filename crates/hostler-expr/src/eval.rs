//! Evaluates a tree against a host. Stops at the first thing the host cannot answer yet.

use crate::captures::Captures;
use crate::error::Question;
use crate::function::Function;
use crate::tree::{Comparison, Condition, Inner, Root, Word};
use crate::{Answer, EvalError, FileError, Flags, Host, Regex, digest, effort, glob_matches, text};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::net::IpAddr;

pub(crate) fn test(expr: &Inner, host: &dyn Host, captures: &mut Captures) -> Result<bool, EvalError> {
    match &expr.root {
        Root::Condition(condition) => Evaluation::new(expr, host, true).condition(condition, captures),
        Root::Text(word) => Ok(!Evaluation::new(expr, host, false).word(word, captures)?.is_empty()),
    }
}

pub(crate) fn string(expr: &Inner, host: &dyn Host, captures: &Captures) -> Result<Vec<u8>, EvalError> {
    match &expr.root {
        Root::Text(word) => Ok(Evaluation::new(expr, host, false).word(word, captures)?.into_owned()),
        Root::Condition(condition) => {
            let holds =
                Evaluation::new(expr, host, true).condition(condition, &mut captures.without_progress())?;
            Ok(if holds { b"true".to_vec() } else { Vec::new() })
        }
    }
}

struct Evaluation<'e> {
    host: &'e dyn Host,
    flags: Flags,
    report_vary: bool,
}

impl<'e> Evaluation<'e> {
    /// Quirk(apache): string expressions never add to `Vary`.
    fn new(expr: &Inner, host: &'e dyn Host, condition: bool) -> Self {
        Self { host, flags: expr.flags, report_vary: condition && !expr.flags.dont_vary }
    }

    fn condition(&self, condition: &Condition, captures: &mut Captures) -> Result<bool, EvalError> {
        spend(0)?;
        Ok(match condition {
            Condition::Constant(value) => *value,
            Condition::Not(inner) => !self.condition(inner, captures)?,
            Condition::All(conditions) => return self.chain(conditions, captures, true),
            Condition::Any(conditions) => return self.chain(conditions, captures, false),
            Condition::Match { word, regex, negated } => self.matches(word, regex, captures)? != *negated,
            Condition::File(test, word) => {
                let path = self.word(word, captures)?;
                let answer = self.host.file_test(*test, &path);
                ready(answer, || Question::File(*test, path.into_owned()))?
            }
            Condition::Subrequest(test, word) => {
                let target = self.word(word, captures)?;
                let answer = self.host.subrequest(*test, &target);
                ready(answer, || Question::Subrequest(*test, target.into_owned()))?
            }
            other => return self.simple(other, captures),
        })
    }

    /// `&&` (stops at the first false) and `||` (at the first true).
    fn chain(&self, conditions: &[Condition], captures: &mut Captures, all: bool) -> Result<bool, EvalError> {
        let first = captures.continue_at();
        for (at, condition) in conditions.iter().enumerate().skip(first) {
            if at > first && captures.keeps_progress() && effort::is_overdue() {
                captures.stop_at(at);
                return Err(EvalError::pending(Question::Turn));
            }
            match self.condition(condition, captures) {
                Ok(holds) if holds != all => return Ok(!all),
                Ok(_) => {}
                Err(error) => {
                    if matches!(error, EvalError::Pending(_)) {
                        captures.stop_at(at);
                    }
                    return Err(error);
                }
            }
        }
        Ok(all)
    }

    /// Comparisons that need no more than their words.
    fn simple(&self, condition: &Condition, captures: &Captures) -> Result<bool, EvalError> {
        let word = |word| self.word(word, captures);
        Ok(match condition {
            Condition::Compare(how, left, right) => self.compare(*how, &word(left)?, &word(right)?),
            Condition::CompareIntegers(how, left, right) => {
                how.holds(text::integer(&word(left)?).cmp(&text::integer(&word(right)?)))
            }
            Condition::InWords(needle, items) => return self.in_words(needle, items, captures),
            Condition::InList { word: needle, function, argument } => {
                let (needle, argument) = (word(needle)?, word(argument)?);
                let answer = self.host.list(function, &argument);
                let list = ready(answer, || Question::List((*function).to_owned(), argument.into_owned()))?;
                list.iter().any(|item| item[..] == needle[..])
            }
            Condition::Empty(inner) => word(inner)?.is_empty(),
            Condition::NotEmpty(inner) => !word(inner)?.is_empty(),
            Condition::Truthy(inner) => text::is_truthy(&word(inner)?),
            Condition::RemoteIn(subnet) => {
                self.host.remote_ip().is_some_and(|address| subnet.contains(address))
            }
            Condition::IpMatch(inner, subnet) => {
                parse_address(&word(inner)?).is_some_and(|address| subnet.contains(address))
            }
            Condition::Glob(mode, inner, pattern) => {
                let (pattern, text) = (word(pattern)?, word(inner)?);
                spend(pattern.len().saturating_mul(text.len()))?;
                glob_matches(&pattern, &text, *mode)
            }
            _ => false,
        })
    }

    fn compare(&self, how: Comparison, left: &[u8], right: &[u8]) -> bool {
        // Equality needs no ordering, and is by far the most frequent test.
        match how {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            _ if self.flags.ssl_compat => how.holds(by_length(left, right)),
            _ => how.holds(left.cmp(right)),
        }
    }

    /// Quirk(apache): goes through the list from its end, which shows in the order of `Vary`.
    fn in_words(&self, needle: &Word, items: &[Word], captures: &Captures) -> Result<bool, EvalError> {
        let needle = self.word(needle, captures)?;
        for item in items.iter().rev() {
            spend(0)?;
            if self.word(item, captures)? == needle {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A match that gives up at a limit is an error and not "does not match", or `!~` would let through what
    /// it is meant to stop.
    fn matches(&self, word: &Word, regex: &Regex, captures: &mut Captures) -> Result<bool, EvalError> {
        let subject = self.word(word, captures)?;
        if regex.group_count() == 0 {
            return Ok(regex.is_match(&subject)?);
        }
        match regex.spans(&subject)? {
            Some(found) => {
                let subject = subject.into_owned();
                captures.record(subject, found);
                Ok(true)
            }
            None => {
                captures.clear();
                Ok(false)
            }
        }
    }

    fn word<'w>(&self, word: &'w Word, captures: &'w Captures) -> Result<Cow<'w, [u8]>, EvalError>
    where
        'e: 'w,
    {
        let value = match word {
            Word::Literal(text) => Some(Cow::Borrowed(&text[..])),
            Word::Variable(variable) => {
                ready(self.host.variable(*variable), || Question::Variable(variable.name().to_owned()))?
            }
            Word::SslVariable(name) => {
                ready(self.host.ssl_variable(name), || Question::Variable(name.clone().into_string()))?
            }
            Word::RequestHeader(name) => self.varying_header(name.as_bytes()),
            Word::Group(index) => captures.group(usize::from(*index)).map(Cow::Borrowed),
            Word::Concat(words) => {
                let mut joined = Vec::new();
                for word in words {
                    joined.extend_from_slice(&self.word(word, captures)?);
                    spend(joined.len() / 16)?;
                }
                Some(Cow::Owned(joined))
            }
            Word::Call(function, argument) => self.call(*function, argument, captures)?,
        };
        Ok(value.unwrap_or_default())
    }

    /// A request header that other answers depend on.
    fn varying_header(&self, name: &[u8]) -> Option<Cow<'e, [u8]>> {
        if self.report_vary && !name.eq_ignore_ascii_case(b"host") {
            self.host.varies_on(name);
        }
        self.host.request_header(name)
    }

    fn call<'w>(
        &self,
        function: Function,
        argument: &'w Word,
        captures: &'w Captures,
    ) -> Result<Option<Cow<'w, [u8]>>, EvalError>
    where
        'e: 'w,
    {
        let argument = self.word(argument, captures)?;
        spend(8 * argument.len())?;
        let owned = |bytes: Vec<u8>| Some(Cow::Owned(bytes));
        Ok(match function {
            Function::Req => self.varying_header(&argument),
            Function::ReqNovary => self.host.request_header(&argument),
            Function::Resp => self.host.response_header(&argument),
            Function::ReqEnv => self.host.request_env(&argument, captures),
            Function::OsEnv => self.host.os_env(&argument),
            Function::Note => self.host.note(&argument),
            Function::Env => self
                .host
                .note(&argument)
                .or_else(|| self.host.request_env(&argument, captures))
                .or_else(|| self.host.os_env(&argument)),
            Function::Ssl => {
                let name = String::from_utf8_lossy(&argument);
                ready(self.host.ssl_variable(&name), || Question::Variable(name.clone().into_owned()))?
            }
            Function::ToLower => owned(argument.to_ascii_lowercase()),
            Function::ToUpper => owned(argument.to_ascii_uppercase()),
            Function::Escape => owned(text::escape(&argument)),
            Function::Unescape => owned(text::unescape(&argument)),
            Function::Base64 => owned(text::base64(&argument)),
            Function::Unbase64 => owned(text::unbase64(&argument)),
            Function::Md5 => owned(digest::md5(&argument)),
            Function::Sha1 => owned(digest::sha1(&argument)),
            Function::Ldap => owned(text::ldap(&argument)),
            Function::File | Function::FileSize | Function::FileMod => owned(self.file(function, &argument)?),
        })
    }

    fn file(&self, function: Function, path: &[u8]) -> Result<Vec<u8>, EvalError> {
        let number = |value: Option<u64>| value.unwrap_or(0).to_string().into_bytes();
        let failed = |reason: &str| EvalError::File(format!("{reason}: {}", String::from_utf8_lossy(path)));
        match function {
            Function::FileSize => {
                ready(self.host.file_size(path), || Question::FileSize(path.to_vec())).map(number)
            }
            Function::FileMod => {
                ready(self.host.file_modified(path), || Question::FileModified(path.to_vec())).map(number)
            }
            _ => match ready(self.host.file_contents(path), || Question::FileContents(path.to_vec()))? {
                Ok(contents) => Ok(text::until_nul(contents.into_owned())),
                Err(FileError::Unreadable) => Err(failed("cannot read the file")),
                Err(FileError::TooLarge) => Err(failed("the file is larger than 10 MB")),
            },
        }
    }
}

/// Notes the work for a step and this much besides.
fn spend(units: usize) -> Result<(), EvalError> {
    effort::spend(50 + units).map_err(EvalError::from)
}

fn ready<T>(answer: Answer<T>, question: impl FnOnce() -> Question) -> Result<T, EvalError> {
    match answer {
        Answer::Ready(value) => Ok(value),
        Answer::Pending => Err(EvalError::pending(question())),
    }
}

/// SSLRequire's order: shorter is less; equal lengths by bytes.
fn by_length(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// The left side of `-ipmatch`. Apache would also resolve a host name here; an expression must not wait for
/// the resolver, so a name never matches.
fn parse_address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let without_zone = text.split_once('%').map_or(text, |(address, _zone)| address);
    without_zone.parse().ok()
}
