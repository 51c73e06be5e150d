//! Options of mod_wsgi's directives: `name=value` behind the first words of a line, where the value can be quoted.

use hostler_config::first_word;

/// A name and a value.
type Pair = (String, String);

/// Words, and options by name.
pub(crate) type Parts = (Vec<String>, Vec<Pair>);

/// The first words of a line, as many as `count` if there are so many, and the options behind them.
pub(crate) fn split(text: &str, count: usize) -> Result<Parts, String> {
    let (mut words, mut options, mut rest) = (Vec::new(), Vec::new(), text);
    while words.len() < count
        && let Some((word, behind)) = first_word(rest)
    {
        words.push(word);
        rest = behind;
    }
    while let Some((option, behind)) = option(rest)? {
        options.push(option);
        rest = behind;
    }
    Ok((words, options))
}

fn option(text: &str) -> Result<Option<(Pair, &str)>, String> {
    let text = text.trim_start();
    let Some((whole, behind)) = first_word(text) else { return Ok(None) };
    let no_option = || format!("the option \"{whole}\" is not of the form name=value");
    if text.starts_with(['"', '\'']) {
        let (name, value) = whole.split_once('=').ok_or_else(no_option)?;
        return Ok(Some(((name.to_owned(), value.to_owned()), behind)));
    }
    let end = text.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(text.len());
    let value = text[end..].strip_prefix('=').ok_or_else(no_option)?;
    let (value, behind) = first_word(value).unwrap_or_default();
    Ok(Some(((text[..end].to_owned(), value), behind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_can_be_quoted() {
        let (words, options) = split("one '/a b' x='%{GROUP}' home=\"/a b\" \"c=d e\" f=", 2).unwrap();
        assert_eq!(words, ["one", "/a b"]);
        let pairs: Vec<_> = options.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(pairs, [("x", "%{GROUP}"), ("home", "/a b"), ("c", "d e"), ("f", "")]);
        assert_eq!(split("one", 2).unwrap().0, ["one"]);
        for wrong in ["one two", "one two three=4", "one \"a b\""] {
            assert!(split(wrong, 1).is_err(), "{wrong}");
        }
    }
}
