//! `RewriteCond`: what must hold before a rule is carried out.

use crate::line::{arguments, flags};
use crate::template::Template;
use crate::variable::Ahead;
use hostler_expr::{Expr, FileAccess, FileTest, Flags, Kind, Place, Regex, RegexOptions};

/// The test of a condition.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// The text matches.
    Match(Regex),
    /// `-f`, `-d` and the like, of the text as a path.
    File(FileTest),
    /// `-U`, `-F`: a sub-request for it would be answered.
    Subrequest(Ahead),
    /// `<text`, `>=text` ...
    Text(Order, Box<[u8]>),
    /// `-lt number` ...
    Number(Order, i64),
    /// `expr`
    Expression(Box<Expr>),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

impl Order {
    pub(crate) fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Equal => ordering.is_eq(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Greater => ordering.is_gt(),
        }
    }

    /// As it stands before a text.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Equal => "=",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
        }
    }
}

/// A condition.
#[derive(Clone, Debug)]
pub struct Condition {
    pub(crate) input: Template,
    pub(crate) test: Test,
    /// The pattern as it was written, without `!`, for the trace.
    pub(crate) pattern: Box<str>,
    pub(crate) negated: bool,
    pub(crate) ignore_case: bool,
    /// `OR`: the next one may hold in its place.
    pub(crate) or: bool,
    /// `NV`: the answer does not vary on it.
    pub(crate) no_vary: bool,
}

impl Condition {
    /// Reads the arguments of `RewriteCond`. A second value is something to warn of. `files`: what an expression may look at.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(
        line: &str,
        options: RegexOptions,
        files: FileAccess,
    ) -> Result<(Self, Option<String>), String> {
        let arguments = arguments(line).ok_or_else(|| format!("bad argument line '{line}'"))?;
        let (mut ignore_case, mut or, mut no_vary) = (false, false, false);
        for (name, _) in arguments.third.map_or(Ok(Vec::new()), flags)? {
            let is = |names: [&str; 2]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
            match () {
                () if is(["NC", "nocase"]) => ignore_case = true,
                () if is(["OR", "ornext"]) => or = true,
                () if is(["NV", "novary"]) => no_vary = true,
                () => return Err(format!("unknown flag '{name}'")),
            }
        }
        let pattern = arguments.second;
        let (inverted, pattern) = match pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let (test, twice) = if arguments.first.eq_ignore_ascii_case("expr") {
            (expression(pattern, files)?, false)
        } else {
            test(pattern, RegexOptions { ignore_case: options.ignore_case || ignore_case, ..options })?
        };
        let warning = (ignore_case && !matches!(test, Test::Match(_) | Test::Text(..))).then(|| {
            format!("NoCase option for non-regex pattern '{pattern}' is not supported and will be ignored.")
        });
        let condition = Self {
            input: Template::new(arguments.first),
            test,
            pattern: pattern.into(),
            negated: inverted != twice,
            ignore_case,
            or,
            no_vary,
        };
        Ok((condition, warning))
    }

    /// Names the place where it stands, for errors.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.test = match self.test {
            Test::Match(regex) => Test::Match(regex.at(place)),
            Test::Expression(expr) => Test::Expression(Box::new(expr.at(place))),
            other => other,
        };
        self
    }

    /// Bytes of memory that it takes, about.
    pub(crate) fn size(&self) -> usize {
        let test = match &self.test {
            Test::Match(regex) => regex.size(),
            Test::Text(_, text) => text.len(),
            Test::Expression(expr) => 8 * expr.source().len(),
            _ => 0,
        };
        size_of::<Self>() + self.input.size() + self.pattern.len() + test
    }
}

fn expression(source: &str, files: FileAccess) -> Result<Test, String> {
    let expr = Expr::parse(source, Kind::Boolean, Flags { files, ..Flags::default() })
        .map_err(|error| format!("cannot compile expression \"{source}\": {error}"))?;
    Ok(Test::Expression(Box::new(expr)))
}

/// The test that a pattern stands for, and whether it is to be inverted.
fn test(pattern: &str, options: RegexOptions) -> Result<(Test, bool), String> {
    let plain = |test| Ok((test, false));
    match pattern {
        "-f" => return plain(Test::File(FileTest::Regular)),
        "-s" => return plain(Test::File(FileTest::NotEmpty)),
        "-d" => return plain(Test::File(FileTest::Directory)),
        "-x" => return plain(Test::File(FileTest::Executable)),
        "-l" | "-L" | "-h" => return plain(Test::File(FileTest::SymbolicLink)),
        "-U" => return plain(Test::Subrequest(Ahead::Uri)),
        "-F" => return plain(Test::Subrequest(Ahead::File)),
        _ => {}
    }
    let numeric = [
        ("-lt", Order::Less),
        ("-le", Order::LessOrEqual),
        ("-eq", Order::Equal),
        ("-ge", Order::GreaterOrEqual),
        ("-gt", Order::Greater),
        ("-ne", Order::Equal),
    ];
    for (name, order) in numeric {
        if let Some(number) = pattern.strip_prefix(name).filter(|rest| !rest.is_empty()) {
            return Ok((Test::Number(order, integer(number.as_bytes())), name == "-ne"));
        }
    }
    if pattern.len() > 1 {
        for order in [Order::LessOrEqual, Order::GreaterOrEqual, Order::Less, Order::Greater, Order::Equal] {
            if let Some(text) = pattern.strip_prefix(order.sign()) {
                let text = if order == Order::Equal && text == "\"\"" { "" } else { text };
                return plain(Test::Text(order, text.as_bytes().into()));
            }
        }
    }
    let regex = Regex::new(pattern, options)
        .map_err(|error| format!("cannot compile regular expression '{pattern}': {error}"))?;
    plain(Test::Match(regex))
}

/// As C's `atoi`: white space, a sign, digits; 0 for what has none.
pub(crate) fn integer(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value =
        digits.fold(0_i64, |value, digit| value.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    if negative { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Condition {
        Condition::parse(line, RegexOptions::default(), FileAccess::Full).unwrap().0
    }

    #[test]
    fn patterns_are_told_apart() {
        assert!(matches!(of("a -f").test, Test::File(FileTest::Regular)));
        assert!(matches!(of("a -U").test, Test::Subrequest(Ahead::Uri)));
        assert!(matches!(of("a -lt5").test, Test::Number(Order::Less, 5)));
        assert!(matches!(of("a <=b").test, Test::Text(Order::LessOrEqual, text) if &*text == b"b"));
        assert!(matches!(of("a =").test, Test::Match(_)));
        assert!(matches!(of("a =\"\"").test, Test::Text(Order::Equal, text) if text.is_empty()));
        assert!(matches!(of("a -foo").test, Test::Match(_)));
        assert!(matches!(of("expr \"1 == 1\"").test, Test::Expression(_)));
        let not_equal = of("a -ne3");
        assert!(matches!(not_equal.test, Test::Number(Order::Equal, 3)) && not_equal.negated);
        assert!(!of("a !-ne3").negated);
    }

    #[test]
    fn flags_and_errors() {
        let condition = of("a b [NC,OR]");
        assert!(condition.ignore_case && condition.or && !condition.no_vary);
        for bad in ["a", "a b [X]", "a b NC", "a (", "expr (("] {
            assert!(Condition::parse(bad, RegexOptions::default(), FileAccess::Full).is_err(), "{bad}");
        }
        let warned = Condition::parse("a -f [NC]", RegexOptions::default(), FileAccess::Full).unwrap().1;
        assert!(warned.unwrap().contains("NoCase"));
    }

    #[test]
    fn integers_as_atoi_reads_them() {
        assert_eq!((integer(b" -12x"), integer(b"x"), integer(b"+3")), (-12, 0, 3));
    }
}
