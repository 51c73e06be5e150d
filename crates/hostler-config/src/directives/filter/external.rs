//! mod_ext_filter: programs that are filters. The site's process runs them, as its user.

use super::Rank;
use super::names::RESOURCE;
use super::names::Way;
use crate::{Args, Arity, Command, Contexts, Directive, Overrides};
use std::sync::Arc;

/// `ExtFilterDefine`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The name as written.
    pub name: Box<str>,
    /// Its direction: input only or output only.
    pub way: Way,
    /// The program and its arguments.
    pub command: Vec<Box<str>>,
    /// The media type that it is for; `None`: any.
    pub takes: Option<Box<str>>,
    /// The media type of what it makes; `None`: it stays.
    pub makes: Option<Box<str>>,
    /// Its output has as many bytes as its input.
    pub keeps_length: bool,
    /// Its place.
    pub rank: Rank,
    /// It works only where this variable is set.
    pub enabled_by: Option<Box<str>>,
    /// It does not work where this variable is set.
    pub disabled_by: Option<Box<str>>,
}

/// `ExtFilterOptions`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `LogStderr`
    pub log_errors: Option<bool>,
    /// `Onfail=remove`: an answer whose filter cannot be started goes out without it.
    pub on_fail_remove: Option<bool>,
}

impl Options {
    pub(super) fn merge(self, over: Self) -> Self {
        Self {
            log_errors: over.log_errors.or(self.log_errors),
            on_fail_remove: over.on_fail_remove.or(self.on_fail_remove),
        }
    }
}

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "ExtFilterDefine",
        Arity::RawArgs,
        "name cmd=\"program [argument ...]\" [mode=output|input] [intype=type] [outtype=type] \
         [PreservesContentLength] [ftype=number] [enableenv=variable] [disableenv=variable]",
        "Define an external program as a filter; it runs as the site's user",
        define,
    ),
    Directive::new(
        "ExtFilterOptions",
        Arity::Iterate,
        "[No]LogStderr|Onfail=abort|Onfail=remove ...",
        "Set how errors of external filters are handled",
        options,
    )
    .allowed(Contexts::DIRECTORY, Overrides::NONE),
];

fn define(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let words = words(&args.raw)?;
    let (name, rest) = words.split_first().ok_or("needs a name")?;
    let mut filter = External {
        name: name.as_str().into(),
        way: Way::Output,
        command: Vec::new(),
        takes: None,
        makes: None,
        keeps_length: false,
        rank: RESOURCE,
        enabled_by: None,
        disabled_by: None,
    };
    for word in rest {
        set(&mut filter, word)?;
    }
    if filter.command.is_empty() {
        return Err("needs cmd=, the program".to_owned());
    }
    let key = name.to_ascii_lowercase();
    Arc::make_mut(&mut command.builder.aliases).filters.insert(key.clone());
    command.server.filter.external.insert(key.into(), Arc::new(filter));
    Ok(())
}

fn set(filter: &mut External, word: &str) -> Result<(), String> {
    if word.eq_ignore_ascii_case("PreservesContentLength") {
        filter.keeps_length = true;
        return Ok(());
    }
    let (key, value) = word.split_once('=').ok_or_else(|| crate::unknown("option", word, &[]))?;
    let some = || Some(value).filter(|value| !value.is_empty()).map(Into::into);
    match &key.to_ascii_lowercase()[..] {
        "mode" => {
            filter.way = match value {
                "output" => Way::Output,
                "input" => Way::Input,
                _ => return Err(crate::unknown("mode", value, &["output", "input"])),
            };
        }
        "cmd" => {
            filter.command = words(value)?.into_iter().map(Into::into).collect();
            if !filter.command.first().is_some_and(|program| program.starts_with('/')) {
                return Err("cmd= needs an absolute path".to_owned());
            }
        }
        "intype" => filter.takes = some(),
        "outtype" => filter.makes = some(),
        "ftype" => {
            let number = value.parse().ok().filter(|rank| *rank > 0);
            filter.rank = number.ok_or_else(|| format!("ftype={value} is not a number from 1 to 255"))?;
        }
        "enableenv" => filter.enabled_by = some(),
        "disableenv" => filter.disabled_by = some(),
        _ => return Err(crate::unknown("option", key, &[])),
    }
    Ok(())
}

/// Words with quotes around them, or around what follows a `=`.
fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', Some(q)) if characters.peek().is_some_and(|next| *next == q || *next == '\\') => {
                word.extend(characters.next());
            }
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.push(c),
            ('"' | '\'', None) => (quote, begun) = (Some(c), true),
            (c, None) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                    begun = false;
                }
            }
            (c, None) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if quote.is_some() {
        return Err("a quotation mark is missing".to_owned());
    }
    if begun {
        words.push(word);
    }
    Ok(words)
}

fn options(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let options = &mut command.dir.filter.external;
    match &args.first().to_ascii_lowercase()[..] {
        "logstderr" => options.log_errors = Some(true),
        "nologstderr" => options.log_errors = Some(false),
        "onfail=abort" => options.on_fail_remove = Some(false),
        "onfail=remove" => options.on_fail_remove = Some(true),
        other => return Err(crate::unknown("option", other, &[])),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_words_together() {
        let all = words(r#"a  mode=output cmd="/bin/sed s/a/'b c'/ \"x\"" ''"#).unwrap();
        assert_eq!(all, ["a", "mode=output", r#"cmd=/bin/sed s/a/'b c'/ "x""#, ""]);
        assert_eq!(words(r#"/bin/sed s/a/'b c'/ "x y""#).unwrap(), ["/bin/sed", "s/a/b c/", "x y"]);
        assert!(words("a \"b").is_err());
    }
}
