//! The existing filters, and their place in Apache. A missing filter is never skipped silently: a response could be
//! sent with content that the filter was meant to remove.

use crate::builder::Builder;
use crate::{Command, Origin};

/// Filters that compress: an answer without them says the same.
const COMPRESS: &[&str] = &["DEFLATE", "BROTLI_COMPRESS"];

/// A filter's place among the others (`AP_FTYPE_...`): the smallest is next to the content's source.
pub type Rank = u8;

/// Filters that change the content (`AP_FTYPE_RESOURCE`).
pub const RESOURCE: Rank = 10;
/// Filters that change its coding (`AP_FTYPE_CONTENT_SET`).
pub const CONTENT_SET: Rank = 20;

/// Filters for answers, and where they stand.
const OUTPUTS: &[(&str, Rank)] = &[
    ("INCLUDES", RESOURCE),
    ("SUBSTITUTE", RESOURCE),
    ("SED", RESOURCE),
    ("XLATEOUT", RESOURCE),
    ("XML2ENC", RESOURCE),
    ("PROXY-HTML", RESOURCE),
    ("DATA", RESOURCE),
    ("INFLATE", RESOURCE - 1),
    ("DEFLATE", CONTENT_SET),
    ("BROTLI_COMPRESS", CONTENT_SET),
    ("BUFFER", CONTENT_SET),
    ("RATE_LIMIT", 49),
];

/// Filters for requests, and where they stand.
const INPUTS: &[(&str, Rank)] =
    &[("DEFLATE", CONTENT_SET), ("BUFFER", CONTENT_SET), ("SED", RESOURCE), ("XLATEIN", RESOURCE)];

/// The direction of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// On requests.
    Input,
    /// On answers.
    Output,
}

/// Returns the place of one of the server's own filters; `None`: no such filter.
#[must_use]
pub fn rank(way: Way, name: &str) -> Option<Rank> {
    let all = if way == Way::Input { INPUTS } else { OUTPUTS };
    all.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, rank)| *rank)
}

/// The filters that a word names.
pub(in crate::directives) fn named(word: &str) -> impl Iterator<Item = &str> {
    word.split(';').filter(|name| !name.is_empty())
}

/// True if the first word names no filters but those that compress.
pub(in crate::directives) fn only_compress(words: &[String]) -> bool {
    let compresses = |name: &str| COMPRESS.iter().any(|known| known.eq_ignore_ascii_case(name));
    words.iter().take(1).flat_map(|word| named(word)).all(compresses)
}

/// Most filters that an answer or a request's body goes through: each holds some of it, and calls the one before it.
pub const MOST: usize = 64;

/// A filter that is not there would leave in what it is meant to take out, or send a page's source. In configuration
/// files `ExtFilterDefine` may come later.
pub(in crate::directives) fn check_names(
    command: &mut Command<'_>,
    way: Way,
    word: &str,
) -> Result<(), String> {
    if named(word).count() > MOST {
        return Err(format!("there may be no more than {MOST} filters"));
    }
    for name in named(word) {
        if rank(way, name).is_some() || command.builder.aliases.filters.contains(&name.to_ascii_lowercase()) {
            continue;
        }
        if command.is_htaccess() {
            return Err(missing(way, name));
        }
        let (origin, directive) = (command.origin, command.directive.name);
        command.builder.filters.push((origin, directive, way, name.to_ascii_lowercase()));
    }
    Ok(())
}

fn missing(way: Way, name: &str) -> String {
    let (all, what) = if way == Way::Input { (INPUTS, "requests") } else { (OUTPUTS, "responses") };
    let all: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let name = name.to_ascii_uppercase();
    format!("unknown filter \"{name}\" for {what} (expected {} or one of ExtFilterDefine)", all.join(", "))
}

/// A line that names a filter: where, its directive, the way, the name in lower case.
pub(crate) type FilterLine = (Origin, &'static str, Way, String);

/// Refuses names of filters that are nobody's, once all lines are known.
pub(crate) fn refuse_missing(builder: &mut Builder) {
    for (origin, directive, way, name) in std::mem::take(&mut builder.filters) {
        if !builder.aliases.filters.contains(&name) {
            builder.error(origin, directive, missing(way, &name), String::new());
        }
    }
}
