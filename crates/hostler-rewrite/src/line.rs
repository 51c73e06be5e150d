//! A line's arguments, as mod_rewrite takes them apart: by white space, with `"` or `'` around what contains some. A
//! backslash before white space keeps it inside its argument, and stays there itself. Nothing else is unescaped:
//! that is for patterns and substitutions to do.

/// The two or three arguments of `RewriteCond` and `RewriteRule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arguments<'a> {
    pub(crate) first: &'a str,
    pub(crate) second: &'a str,
    pub(crate) third: Option<&'a str>,
}

/// Takes a line apart; `None` if there is no second argument.
pub(crate) fn arguments(line: &str) -> Option<Arguments<'_>> {
    let (first, rest) = argument(line)?;
    let rest = rest?;
    let (second, rest) = argument(rest)?;
    let third = rest.and_then(argument).map(|(third, _)| third);
    Some(Arguments { first, second, third })
}

/// The first argument, and what follows what has ended it; `None` for that if the text has ended it.
fn argument(text: &str) -> Option<(&str, Option<&str>)> {
    let text = text.trim_start_matches(is_space);
    let quote = text.bytes().next().filter(|byte| matches!(byte, b'"' | b'\''));
    if text.is_empty() {
        return None;
    }
    let text = &text[usize::from(quote.is_some())..];
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let ends = quote.map_or_else(|| is_space(char::from(byte)), |quote| byte == quote);
        if ends {
            return Some((&text[..at], Some(&text[at + 1..])));
        }
        let protects = byte == b'\\' && bytes.get(at + 1).is_some_and(|next| is_space(char::from(*next)));
        at += 1 + usize::from(protects);
    }
    Some((text, None))
}

/// C's `isspace` in the C locale.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// The words of a list of flags in brackets, each with its value.
///
/// # Errors
/// When there are no brackets.
pub(crate) fn flags(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let inside =
        text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).ok_or("bad flag delimiters")?;
    let words = inside.split(',').map(|word| word.trim_matches(is_space));
    Ok(words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(&str, &str, Option<&str>)> {
        arguments(line).map(|arguments| (arguments.first, arguments.second, arguments.third))
    }

    #[test]
    fn arguments_end_at_white_space_or_quotes() {
        assert_eq!(of("a b"), Some(("a", "b", None)));
        assert_eq!(of("  a\tb  [L] d"), Some(("a", "b", Some("[L]"))));
        assert_eq!(of("\"a b\" 'c \"d' [R, L]"), Some(("a b", "c \"d", Some("[R,"))));
        assert_eq!(of(r"a\ b c\d"), Some((r"a\ b", r"c\d", None)));
        assert_eq!(of("\"\" b"), Some(("", "b", None)));
        assert_eq!(of("a"), None);
        assert_eq!(of("a "), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn flags_stand_in_brackets() {
        assert_eq!(flags("[R=301, L,E=a:b=c]"), Ok(vec![("R", "301"), ("L", ""), ("E", "a:b=c")]));
        assert_eq!(flags("[]"), Ok(vec![("", "")]), "which is no flag");
        assert!(flags("R").is_err() && flags("[R").is_err());
    }
}
