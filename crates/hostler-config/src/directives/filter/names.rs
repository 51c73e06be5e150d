//! Which filters there are. One that is not there is never passed over in silence: an answer could go out with what the
//! filter was meant to take out of it. The words of mod_filter's chains are accepted where all that is lost is
//! compression.

use super::NO_CHAINS;
use crate::{Args, Command};

/// Filters that compress: an answer without them says the same.
const COMPRESS: &[&str] = &["DEFLATE", "BROTLI_COMPRESS"];

/// The other filters for answers that there are.
const FILTERS: &[&str] = &["INCLUDES", "RATE_LIMIT", "SUBSTITUTE", "DATA"];

fn is_among(list: &[&str], name: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The filters that a word names.
pub(super) fn named(word: &str) -> impl Iterator<Item = &str> {
    word.split(';').filter(|name| !name.is_empty())
}

/// Whether the first word names no filters but those that compress.
pub(in crate::directives) fn only_compress(words: &[String]) -> bool {
    words.iter().take(1).flat_map(|word| named(word)).all(|name| is_among(COMPRESS, name))
}

/// A filter that is not there would leave in what it is meant to take out, or send a page's source.
pub(in crate::directives) fn check_names(word: &str) -> Result<(), String> {
    match named(word).find(|name| !is_among(COMPRESS, name) && !is_among(FILTERS, name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "there is no filter {name} for answers, only {} and {}",
            FILTERS.join(", "),
            COMPRESS.join(", ")
        )),
    }
}

/// `FilterDeclare name`: nothing yet.
pub(super) fn declare(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    command.builder.filters.insert(args.first().to_ascii_lowercase());
    unchained(command);
    Ok(())
}

/// `FilterProvider name filter expression`
pub(super) fn provider(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let filter = args.word(1).ok_or("needs the name of a declared filter, and a filter")?;
    if !is_among(COMPRESS, filter) {
        return Err(format!("{filter} is not possible here: {NO_CHAINS}"));
    }
    declare(command, args)
}

/// `FilterChain name ...`
pub(super) fn filter_chain(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    for word in &args.words {
        let name = word.trim_start_matches(['+', '-', '@', '=', '!']);
        let is_declared = command.builder.filters.contains(&name.to_ascii_lowercase());
        if !is_declared && !name.is_empty() && !is_among(COMPRESS, name) {
            return Err(format!("{name} is not possible here: {NO_CHAINS}"));
        }
    }
    unchained(command);
    Ok(())
}

fn unchained(command: &mut Command<'_>) {
    let name = command.directive.name;
    command.warn_once(name, format!("{name} has no effect, nothing is compressed: {NO_CHAINS}"));
}

#[cfg(test)]
mod tests {
    fn said(lines: &str) -> Result<Vec<String>, String> {
        let config = crate::Config::build(&crate::read_text(lines, "/nowhere").unwrap());
        let config = config.map_err(|errors| errors[0].to_string())?;
        Ok(config.warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_has_no_filter_is_never_silent() {
        for line in [
            "SetInputFilter DEFLATE",
            "AddInputFilter DEFLATE .gz",
            "SetOutputFilter SED",
            "SetOutputFilter INCLUDES;NOSUCH",
            "AddOutputFilter PROXY-HTML .html",
            "AddOutputFilterByType SED text/html",
            "FilterProvider X INCLUDES true",
            "FilterProvider X",
            "FilterDeclare X\nFilterProvider X SUBSTITUTE true",
            "FilterChain INCLUDES",
            "FilterChain +UNDECLARED",
        ] {
            let error = said(line).expect_err(line);
            assert!(
                error.contains(line.split(' ').next().unwrap()) || error.contains("FilterProvider"),
                "{error}"
            );
        }
        let chain = "FilterDeclare C\nFilterProvider C DEFLATE true\nFilterChain !\nFilterChain c DEFLATE\n\
                     FilterProtocol C DEFLATE change=yes\nFilterTrace C 1";
        let warned = said(chain).unwrap();
        let names = ["FilterDeclare", "FilterProvider", "FilterChain", "FilterProtocol", "FilterTrace"];
        assert!(names.iter().all(|name| warned.iter().any(|line| line.contains(name))), "{warned:?}");
        assert_eq!(
            said("AddOutputFilter INCLUDES;deflate .x\nSetOutputFilter Brotli_Compress"),
            Ok(Vec::new())
        );
    }
}
