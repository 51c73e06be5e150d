//! The flags of `RewriteRule` (docs/manual/rewrite/flags.html): their names, long and short, and what they carry.

use crate::template::Template;

/// The characters to escape in groups that a substitution refers to (`B` and related flags).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Escapes {
    /// `B`: what is neither letter, digit nor `_`.
    pub(crate) all: bool,
    /// `B=...`: only these.
    pub(crate) only: Option<Box<[u8]>>,
    /// `BNE=...`: none of these.
    pub(crate) never: Option<Box<[u8]>>,
    /// `BCTLS`: control characters and spaces.
    pub(crate) controls: bool,
    /// `BNP`: a space becomes `%20` and not `+`.
    pub(crate) no_plus: bool,
}

impl Escapes {
    /// Returns whether anything is escaped.
    pub(crate) fn any(&self) -> bool {
        self.all || self.controls
    }
}

/// Rounds that `N` goes on for, where it says nothing.
const ROUNDS: u32 = 10_000;
/// Rounds that it goes on for at most, whatever it says.
const MOST_ROUNDS: u32 = 32_000;

/// The flags of a rule.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of Apache's, and any may stand with any")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleFlags {
    pub(crate) escapes: Escapes,
    pub(crate) chain: bool,
    pub(crate) cookies: Vec<Template>,
    pub(crate) discard_path_info: bool,
    pub(crate) env: Vec<Template>,
    pub(crate) end: bool,
    /// `F`, `G` and `R` with a status that is no redirect: the answer, without a substitution.
    pub(crate) answer: bool,
    pub(crate) handler: Option<Template>,
    pub(crate) last: bool,
    /// `N`: the most rounds.
    pub(crate) next: Option<u32>,
    pub(crate) ignore_case: bool,
    pub(crate) no_escape: bool,
    pub(crate) no_subrequest: bool,
    pub(crate) proxy: bool,
    pub(crate) pass_through: bool,
    pub(crate) query_append: bool,
    pub(crate) query_discard: bool,
    pub(crate) query_last: bool,
    pub(crate) query_none: bool,
    pub(crate) redirect: bool,
    pub(crate) status: u16,
    pub(crate) skip: usize,
    pub(crate) mime_type: Option<Template>,
    pub(crate) unsafe_allow_3f: bool,
    pub(crate) unsafe_prefix_stat: bool,
}

impl Default for RuleFlags {
    fn default() -> Self {
        Self {
            escapes: Escapes::default(),
            chain: false,
            cookies: Vec::new(),
            discard_path_info: false,
            env: Vec::new(),
            end: false,
            answer: false,
            handler: None,
            last: false,
            next: None,
            ignore_case: false,
            no_escape: false,
            no_subrequest: false,
            proxy: false,
            pass_through: false,
            query_append: false,
            query_discard: false,
            query_last: false,
            query_none: false,
            redirect: false,
            status: 302,
            skip: 0,
            mime_type: None,
            unsafe_allow_3f: false,
            unsafe_prefix_stat: false,
        }
    }
}

impl RuleFlags {
    /// Reads `[flag,flag=value]`.
    ///
    /// # Errors
    /// For what is no flag, and values that are none.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut flags = Self::default();
        for (name, value) in crate::line::flags(text)? {
            flags.set(name, value)?;
        }
        Ok(flags)
    }

    #[allow(clippy::too_many_lines, reason = "one line per flag")]
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let given = Some(value).filter(|value| !value.is_empty());
        let is =
            |short: &str, long: &str| name.eq_ignore_ascii_case(short) || name.eq_ignore_ascii_case(long);
        if is("B", "B") {
            self.escapes.all = true;
            self.escapes.only = given.map(|value| value.as_bytes().into()).or(self.escapes.only.take());
        } else if is("BCTLS", "BCTLS") {
            self.escapes.controls = true;
        } else if is("BNE", "BNE") {
            let given = given.ok_or("flag 'BNE' wants a list of characters (i.e. [BNE=...])")?;
            self.escapes.never = Some(given.as_bytes().into());
        } else if is("BNP", "BNP") {
            self.escapes.no_plus = true;
        } else if is("C", "chain") {
            self.chain = true;
        } else if is("CO", "cookie") {
            self.cookies.push(Template::new(value));
        } else if is("DPI", "discardpath") || is("DPI", "discardpathinfo") {
            self.discard_path_info = true;
        } else if is("E", "env") {
            self.env.push(Template::new(value));
        } else if is("END", "END") {
            self.end = true;
        } else if is("F", "forbidden") {
            (self.answer, self.status) = (true, 403);
        } else if is("G", "gone") {
            (self.answer, self.status) = (true, 410);
        } else if is("H", "handler") {
            self.handler = Some(Template::new(value));
        } else if is("L", "last") {
            self.last = true;
        } else if is("N", "next") {
            self.next = Some(given.map_or(ROUNDS, number).min(MOST_ROUNDS));
        } else if is("NC", "nocase") {
            self.ignore_case = true;
        } else if is("NE", "noescape") {
            self.no_escape = true;
        } else if is("NS", "nosubreq") {
            self.no_subrequest = true;
        } else if is("P", "proxy") {
            self.proxy = true;
        } else if is("PT", "passthrough") {
            self.pass_through = true;
        } else if is("QSA", "qsappend") {
            self.query_append = true;
        } else if is("QSD", "qsdiscard") {
            self.query_discard = true;
        } else if is("QSL", "qslast") {
            self.query_last = true;
        } else if is("R", "redirect") {
            self.redirect(value)?;
        } else if is("S", "skip") {
            self.skip = number(value) as usize;
        } else if is("T", "type") {
            self.mime_type = Some(Template::new(&value.to_ascii_lowercase()));
        } else if is("UnsafeAllow3F", "UnsafeAllow3F") {
            self.unsafe_allow_3f = true;
        } else if is("UnsafePrefixStat", "UnsafePrefixStat") {
            self.unsafe_prefix_stat = true;
        } else if is("UNC", "UNC") {
            // About Windows' names of other machines.
        } else {
            return Err(format!("unknown flag '{name}'"));
        }
        Ok(())
    }

    fn redirect(&mut self, value: &str) -> Result<(), String> {
        let known = [("", self.status), ("permanent", 301), ("temp", 302), ("seeother", 303)];
        let named =
            known.iter().find(|(name, _)| value.eq_ignore_ascii_case(name)).map(|(_, status)| *status);
        let status = match named {
            Some(status) => status,
            // Quirk(apache): a word that is none of these means nothing.
            None if !value.starts_with(|c: char| c.is_ascii_digit()) => 302,
            None => {
                status(value).ok_or_else(|| format!("invalid HTTP response code '{value}' for flag 'R'"))?
            }
        };
        self.redirect = true;
        self.status = status;
        if !(300..400).contains(&status) {
            self.answer = true;
        }
        Ok(())
    }
}

/// A status by its number, if HTTP has it.
fn status(text: &str) -> Option<u16> {
    let status = u16::try_from(number(text)).ok()?;
    let known = matches!(status, 100..=103 | 200..=208 | 226 | 300..=305 | 307 | 308 | 400..=417 | 421..=424 | 426
        | 428 | 429 | 431 | 451 | 500..=508 | 510 | 511);
    known.then_some(status)
}

/// As C's `atoi`, of what is not negative: the digits at the beginning.
fn number(text: &str) -> u32 {
    let text = text.trim_start_matches(crate::line::is_space);
    let digits = text.strip_prefix('+').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 { 0 } else { digits[..end].parse().unwrap_or(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_long_or_short_in_any_case() {
        for text in ["[L,NC,QSA]", "[last,nocase,QSAppend]", "[l, nc , qsa]"] {
            let flags = RuleFlags::parse(text).unwrap();
            assert!(flags.last && flags.ignore_case && flags.query_append, "{text}");
        }
        assert_eq!(RuleFlags::parse("[X]").unwrap_err(), "unknown flag 'X'");
        assert_eq!(RuleFlags::parse("L").unwrap_err(), "bad flag delimiters");
    }

    #[test]
    fn redirects_have_a_status() {
        let of = |text| RuleFlags::parse(text).map(|flags| (flags.status, flags.answer));
        assert_eq!(of("[R]"), Ok((302, false)));
        assert_eq!(of("[R=permanent]"), Ok((301, false)));
        assert_eq!(of("[R=308]"), Ok((308, false)));
        assert_eq!(of("[R=404]"), Ok((404, true)));
        assert_eq!(of("[F]"), Ok((403, true)));
        assert!(of("[R=999]").is_err() && of("[R=3x]").is_err() && of("[R=418]").is_err());
    }

    #[test]
    fn numbers_are_read_as_far_as_they_go() {
        assert_eq!((number("12x"), number("x"), number("99999999999")), (12, 0, u32::MAX));
        assert_eq!(RuleFlags::parse("[N]").unwrap().next, Some(ROUNDS));
        assert_eq!(RuleFlags::parse("[N=3]").unwrap().next, Some(3));
    }
}
