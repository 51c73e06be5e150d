//! Directives of mod_substitute: what is put in the place of what, line by line. The lines are the front's.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use hostler_expr::{Groups, Regex, RegexError, effort};
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module {
    name: "substitute_module",
    file: "mod_substitute.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Substitute",
        Arity::Take1,
        "s/pattern/replacement/[infq]",
        "Set a substitution of the filter SUBSTITUTE",
        |command, args| {
            let rule = rule(command, args)?;
            command.dir.substitute.rules.push(Arc::new(rule));
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "SubstituteMaxLineLength",
        Arity::Take1,
        "bytes[b|k|m|g]",
        "Limit the length of a line that the filter SUBSTITUTE processes",
        longest,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "SubstituteInheritBefore",
        Arity::Flag,
        "On|Off",
        "Apply inherited substitutions before a directory's own",
        |command, args| {
            command.dir.substitute.inherit_before = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
];

/// Longest line that is ever held in memory, in bytes; also where SubstituteMaxLineLength is not set.
pub const LONGEST: usize = 1 << 20;

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// Substitute, in the order in which they are carried out.
    pub rules: Vec<Arc<Rule>>,
    /// SubstituteMaxLineLength, in bytes.
    pub longest: Option<usize>,
    inherit_before: Option<bool>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        let inherit_before = over(&self.inherit_before, &other.inherit_before);
        let (first, second) = if inherit_before == Some(true) { (self, other) } else { (other, self) };
        let rules = first.rules.iter().chain(&second.rules).cloned().collect();
        Self { rules, longest: over(&self.longest, &other.longest), inherit_before }
    }

    unset_part!(Dir);
}

/// The module has nothing per server.
pub type Server = ();

/// `s/pattern/replacement/flags`
#[derive(Clone, Debug)]
pub struct Rule {
    find: Find,
    replacement: Template,
    /// `q` is not among the flags: what comes next looks at the line as a whole.
    flattens: bool,
}

#[derive(Clone, Debug)]
enum Find {
    Pattern(Regex),
    Text { text: Vec<u8>, ignores_case: bool },
}

/// The replacement: `$0` to `$9` are the match's groups; a backslash makes the next character literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::directives) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(Vec<u8>),
    Group(usize),
}

fn rule(command: &mut Command<'_>, args: &Args) -> Result<Rule, String> {
    let text = args.first();
    let mut characters = text.char_indices();
    let Some((_, 's')) = characters.next() else { return Err("the pattern must be an s/// pattern".into()) };
    let wrong = "the pattern must be a complete s/// pattern";
    let (_, delimiter) = characters.next().ok_or(wrong)?;
    let mut parts = text[1 + delimiter.len_utf8()..].splitn(3, delimiter);
    let (Some(pattern), Some(replacement)) = (parts.next().filter(|from| !from.is_empty()), parts.next())
    else {
        return Err(wrong.into());
    };
    let (mut ignores_case, mut is_text, mut flattens) = (false, false, true);
    for flag in parts.next().unwrap_or_default().chars() {
        match flag.to_ascii_lowercase() {
            'i' => ignores_case = true,
            'n' => is_text = true,
            'f' => flattens = true,
            'q' => flattens = false,
            _ => return Err(crate::unknown("flag", &flag.to_string(), &["i", "n", "f", "q"])),
        }
    }
    if is_text {
        let find = Find::Text { text: pattern.into(), ignores_case };
        return Ok(Rule { find, replacement: Template(vec![Piece::Literal(replacement.into())]), flattens });
    }
    let mut options = command.regex_options();
    options.ignore_case |= ignores_case;
    // Quirk(apache): a dot does not match the end of a line here.
    options.dot_all = false;
    let find = Find::Pattern(Regex::new(pattern, options).map_err(|error| error.to_string())?);
    Ok(Rule { find, replacement: Template::new(replacement.as_bytes()), flattens })
}

impl Template {
    pub(in crate::directives) fn new(text: &[u8]) -> Self {
        let (mut found, mut literal, mut rest) = (Vec::new(), Vec::new(), text);
        while let [byte, after @ ..] = rest {
            rest = match (byte, after) {
                (b'$', [digit @ b'0'..=b'9', after @ ..]) => {
                    found.push(Piece::Literal(std::mem::take(&mut literal)));
                    found.push(Piece::Group(usize::from(digit - b'0')));
                    after
                }
                (b'\\', [escaped, after @ ..]) => {
                    literal.push(*escaped);
                    after
                }
                _ => {
                    literal.push(*byte);
                    after
                }
            };
        }
        found.push(Piece::Literal(literal));
        found.retain(|piece| !matches!(piece, Piece::Literal(text) if text.is_empty()));
        Self(found)
    }

    /// With the groups that were found in a text.
    pub(in crate::directives) fn fill(&self, text: &[u8], groups: &Groups) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => out.extend_from_slice(literal),
                Piece::Group(index) => {
                    let span = groups.get(*index).copied().flatten();
                    out.extend_from_slice(
                        span.and_then(|(start, end)| text.get(start..end)).unwrap_or_default(),
                    );
                }
            }
        }
        out
    }
}

fn longest(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let word = args.first().to_ascii_lowercase();
    let (digits, shift) = match word.char_indices().last() {
        Some((at, 'b')) => (&word[..at], 0),
        Some((at, 'k')) => (&word[..at], 10),
        Some((at, 'm')) => (&word[..at], 20),
        Some((at, 'g')) => (&word[..at], 30),
        _ => (&word[..], 0),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u64>().ok().filter(|_| is_number);
    let bytes = number.ok_or("must be a non-negative number, optionally followed by b, k, m or g")?;
    let bytes = usize::try_from(bytes.saturating_mul(1 << shift)).unwrap_or(usize::MAX);
    if bytes > LONGEST {
        command.warn_once(
            "SubstituteMaxLineLength",
            "SubstituteMaxLineLength: no line of more than 1m is held in memory",
        );
    }
    command.dir.substitute.longest = Some(bytes.min(LONGEST));
    Ok(())
}

/// Why a line can't be changed as the rules say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubstituteError(pub String);

impl From<RegexError> for SubstituteError {
    fn from(error: RegexError) -> Self {
        Self(error.to_string())
    }
}

impl Dir {
    /// A line, its end included, after all rules.
    ///
    /// # Errors
    /// [`SubstituteError`]: it becomes too long, a pattern matches nothing at all again and again, or takes too long.
    pub fn changed(&self, line: &[u8]) -> Result<Vec<u8>, SubstituteError> {
        let changed = Changing::new(line).step(self, || true)?;
        changed.ok_or_else(|| SubstituteError("the line came to no end".into()))
    }
}

/// A line on its way through the rules, as many matches at a time as there is time for.
#[derive(Debug)]
pub struct Changing {
    /// The output of earlier rules. One rule sees one part; its replacement is a part of its own, unless it flattens.
    parts: Vec<Vec<u8>>,
    /// The rule's output.
    made: Vec<Vec<u8>>,
    rule: usize,
    /// The part that the rule is at, and where in it.
    part: usize,
    at: usize,
    /// The rule's output for the part, if it flattens.
    whole: Vec<u8>,
    /// Bytes that it has made of it.
    length: usize,
}

impl Changing {
    /// The line, its end included.
    #[must_use]
    pub fn new(line: &[u8]) -> Self {
        let (parts, made) = (vec![line.to_vec()], Vec::new());
        Self { parts, made, rule: 0, part: 0, at: 0, whole: Vec::new(), length: 0 }
    }

    /// Goes on while it may, which is asked after each match; the line when all rules are through.
    ///
    /// # Errors
    /// See [`Dir::changed`].
    pub fn step(
        &mut self,
        dir: &Dir,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, SubstituteError> {
        let longest = dir.longest.unwrap_or(LONGEST);
        while let Some(rule) = dir.rules.get(self.rule) {
            match self.parts.get(self.part) {
                Some(_) => self.next_match(rule, longest)?,
                None => self.next_rule(longest)?,
            }
            if !goes_on() {
                return Ok(None);
            }
        }
        Ok(Some(std::mem::take(&mut self.parts).concat()))
    }

    fn next_rule(&mut self, longest: usize) -> Result<(), SubstituteError> {
        if self.made.iter().map(Vec::len).sum::<usize>() > longest {
            return Err(too_long(longest));
        }
        self.parts = std::mem::take(&mut self.made);
        (self.rule, self.part) = (self.rule + 1, 0);
        Ok(())
    }

    fn next_match(&mut self, rule: &Rule, longest: usize) -> Result<(), SubstituteError> {
        let rest = &self.parts[self.part][self.at..];
        let found = rule.find.next(rest)?.and_then(|groups| groups[0].map(|span| (span, groups)));
        let Some(((start, end), groups)) = found else {
            self.whole.extend_from_slice(rest);
            self.made.push(std::mem::take(&mut self.whole));
            (self.part, self.at, self.length) = (self.part + 1, 0, 0);
            return Ok(());
        };
        if end == start {
            return Err(SubstituteError("the pattern of a Substitute matches an empty text".into()));
        }
        let replaced = rule.replacement.fill(rest, &groups);
        self.length += start + replaced.len();
        if self.length > longest {
            return Err(too_long(longest));
        }
        if rule.flattens {
            self.whole.extend_from_slice(&rest[..start]);
            self.whole.extend_from_slice(&replaced);
        } else {
            self.made.extend([rest[..start].to_vec(), replaced]);
        }
        self.at += end;
        Ok(())
    }
}

fn too_long(longest: usize) -> SubstituteError {
    SubstituteError(format!("a line becomes longer than {longest} bytes (SubstituteMaxLineLength)"))
}

impl Find {
    fn next(&self, text: &[u8]) -> Result<Option<Groups>, SubstituteError> {
        match self {
            _ if text.is_empty() => Ok(None),
            Self::Pattern(regex) => Ok(regex.groups(text)?),
            Self::Text { text: wanted, ignores_case } => {
                effort::spend(text.len() / 8 + 20)
                    .map_err(|_| SubstituteError("it takes too long".into()))?;
                let at = if *ignores_case {
                    text.windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted))
                } else {
                    memchr::memmem::find(text, wanted)
                };
                Ok(at.map(|at| {
                    let mut groups = Groups::default();
                    groups[0] = Some((at, at + wanted.len()));
                    groups
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(lines: &str) -> Result<Dir, String> {
        let text = format!("<Location /x>\n{lines}\n</Location>");
        let config = crate::Config::build(&crate::read_text(&text, "/etc").unwrap());
        config
            .map(|config| Dir::clone(&config.main().locations[0].conf.substitute))
            .map_err(|e| e[0].to_string())
    }

    fn changed(lines: &str, line: &str) -> Result<String, SubstituteError> {
        dir(lines).unwrap().changed(line.as_bytes()).map(|line| String::from_utf8(line).unwrap())
    }

    #[test]
    fn lines_are_changed_as_the_rules_say() {
        for (lines, line, expected) in [
            ("Substitute s/o/0/", "foo boo\n", "f00 b00\n"),
            ("Substitute s/^a/X/", "aab\n", "XXb\n"),
            ("Substitute s/o$/0/", "foo\n", "foo\n"),
            ("Substitute s/./x/", "ab\n", "xx\n"),
            ("Substitute \"s|(f)(o+)|$2$1\\\\$1&|i\"", "Foo", "ooF$1&"),
            ("Substitute s/a.b/x/n", "a.b aab", "x aab"),
            ("Substitute s/A.B/$0/in", "a.b", "$0"),
            ("Substitute s/a/b/\nSubstitute s/b/c/", "ab", "cc"),
            ("Substitute s/a/b/q\nSubstitute s/bb/c/", "ab", "bb"),
            ("Substitute s/a/b/\nSubstitute s/bb/c/", "ab", "c"),
            ("Substitute s/foo//", "a foo b", "a  b"),
        ] {
            assert_eq!(changed(lines, line), Ok(expected.into()), "{lines}");
        }
    }

    #[test]
    fn a_line_is_changed_bit_by_bit_as_at_once() {
        for rules in ["Substitute s/a|o/xy/\nSubstitute s/yx/z/", "Substitute s/a|o/xy/q\nSubstitute s/yb/z/"]
        {
            let (dir, line) = (dir(rules).unwrap(), b"aab foo ".repeat(50));
            let (mut steps, mut changing) = (0, Changing::new(&line));
            let by_steps = loop {
                steps += 1;
                if let Some(changed) = changing.step(&dir, || false).unwrap() {
                    break changed;
                }
            };
            assert!(steps > 200, "{steps}");
            assert_eq!(by_steps, dir.changed(&line).unwrap());
        }
    }

    #[test]
    fn what_would_have_no_end_has_one() {
        assert!(changed("Substitute s/x*/-/", "abc").is_err());
        assert!(changed("SubstituteMaxLineLength 10\nSubstitute s/a/bbb/", "aaaa").is_err());
        assert_eq!(changed("SubstituteMaxLineLength 12\nSubstitute s/a/bbb/", "aaaa"), Ok("b".repeat(12)));
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for wrong in ["s/a", "x/a/b/", "s//b/", "s/(/b/", "s/a/b/x", "s/a\\/c/b/", "s"] {
            assert!(dir(&format!("Substitute {wrong}")).is_err(), "{wrong}");
        }
        for wrong in ["x", "-1", "1x", "k"] {
            assert!(dir(&format!("SubstituteMaxLineLength {wrong}")).is_err(), "{wrong}");
        }
        assert_eq!(dir("SubstituteMaxLineLength 2K").unwrap().longest, Some(2048));
        assert_eq!(dir("SubstituteMaxLineLength 10g").unwrap().longest, Some(LONGEST));
    }
}
