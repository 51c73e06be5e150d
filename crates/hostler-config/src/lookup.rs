//! The applicable sections in merge order. Pure functions, for the front and for `hostler explain`; the caller reads
//! .htaccess files and evaluates conditions.
//!
//! A regular expression that gives up is an error, not a mismatch: the section might have forbidden something.
//!
//! The order for a request (docs/manual/sections.html): [`Server::defaults`], then [`directory_walk`], then
//! [`files`] over what that gave, then [`locations`], then the If sections in `conf.core.ifs` of what that gave.

use crate::section::{Pattern, Section};
use crate::{DirConfig, Server};
use hostler_expr::{GlobMode, RegexError, glob_matches};
use std::borrow::Cow;
use std::sync::Arc;

/// One step of the way to a directory.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Merge this section.
    Section(&'a Arc<Section>),
    /// Merge the .htaccess file of this directory (no slash at the end, except `/` itself), if the
    /// configuration merged so far allows one.
    Htaccess(&'a [u8]),
}

/// The steps to a directory: for each level from `/` down its sections, then its .htaccess, and the
/// regular-expression sections at the end. `path` is absolute, normal, without a slash at the end.
/// `resource` is what DirectoryMatch sees: the same, or the path of the file that is asked for.
///
/// # Errors
/// When a regular expression gave up.
pub fn directory_walk<'a>(
    server: &'a Server,
    path: &'a [u8],
    resource: &[u8],
) -> Result<Vec<Step<'a>>, RegexError> {
    let levels = levels(path);
    let mut steps = Vec::with_capacity(levels.len() + 4);
    let mut sections = server.directories.iter().peekable();
    for (depth, level) in levels.into_iter().enumerate() {
        while let Some(section) = sections.next_if(|section| is_at(section, depth)) {
            if matches_directory(&section.pattern, level) {
                steps.push(Step::Section(section));
            }
        }
        steps.push(Step::Htaccess(level));
    }
    for section in sections {
        if let Pattern::Regex(regex) = &section.pattern
            && regex.is_match(resource)?
        {
            steps.push(Step::Section(section));
        }
    }
    Ok(steps)
}

/// `/`, `/srv`, `/srv/www`
fn levels(path: &[u8]) -> Vec<&[u8]> {
    let mut levels: Vec<&[u8]> = vec![b"/"];
    if path.len() > 1 {
        let slashes = path.iter().enumerate().skip(1).filter(|(_, b)| **b == b'/');
        levels.extend(slashes.map(|(at, _)| &path[..at]));
        levels.push(path);
    }
    levels
}

fn is_at(section: &Section, depth: usize) -> bool {
    !matches!(section.pattern, Pattern::Regex(_)) && section.depth as usize <= depth
}

fn matches_directory(pattern: &Pattern, directory: &[u8]) -> bool {
    match pattern {
        Pattern::Plain(path) => **path == *directory,
        Pattern::Glob(glob) => glob_matches(glob, directory, GlobMode::Path),
        Pattern::Regex(_) | Pattern::Condition { .. } => false,
    }
}

/// The Files sections of a configuration that match a file's name (the last part of its path).
///
/// # Errors
/// When a regular expression gave up.
pub fn files<'a>(conf: &'a DirConfig, name: &[u8]) -> Result<Vec<&'a Arc<Section>>, RegexError> {
    files_among(&conf.core.files, name)
}

/// The same of some of them.
///
/// # Errors
/// When a regular expression gave up.
pub fn files_among<'a>(
    sections: &'a [Arc<Section>],
    name: &[u8],
) -> Result<Vec<&'a Arc<Section>>, RegexError> {
    select(sections, |pattern| match pattern {
        Pattern::Plain(plain) => Ok(**plain == *name),
        Pattern::Glob(glob) => Ok(glob_matches(glob, name, GlobMode::Path)),
        Pattern::Regex(regex) => regex.is_match(name),
        Pattern::Condition { .. } => Ok(false),
    })
}

/// The Location sections that match a URL path (decoded). Plain ones take several slashes for one; LocationMatch
/// sees the path as it is.
///
/// # Errors
/// When a regular expression gave up.
pub fn locations<'a>(server: &'a Server, path: &[u8]) -> Result<Vec<&'a Arc<Section>>, RegexError> {
    let merged = merged_slashes(path);
    select(&server.locations, |pattern| match pattern {
        Pattern::Plain(plain) => Ok(is_below(plain, &merged)),
        Pattern::Glob(glob) => Ok(glob_matches(glob, &merged, GlobMode::Path)),
        Pattern::Regex(regex) => regex.is_match(path),
        Pattern::Condition { .. } => Ok(false),
    })
}

fn select(
    sections: &[Arc<Section>],
    matches: impl Fn(&Pattern) -> Result<bool, RegexError>,
) -> Result<Vec<&Arc<Section>>, RegexError> {
    let judged = sections.iter().map(|section| Ok((section, matches(&section.pattern)?)));
    judged.filter_map(|judged| judged.map(|(section, yes)| yes.then_some(section)).transpose()).collect()
}

/// A prefix that ends where a part of the path ends.
fn is_below(prefix: &[u8], path: &[u8]) -> bool {
    let ends = prefix.is_empty() || prefix.ends_with(b"/");
    path.strip_prefix(prefix).is_some_and(|rest| ends || rest.is_empty() || rest[0] == b'/')
}

/// Copies only where there is something to merge.
fn merged_slashes(path: &[u8]) -> Cow<'_, [u8]> {
    if !path.starts_with(b"/") || !path.windows(2).any(|two| two == b"//") {
        return Cow::Borrowed(path);
    }
    let mut merged = path.to_vec();
    merged.dedup_by(|b, a| *b == b'/' && *a == b'/');
    Cow::Owned(merged)
}

/// Returns the named groups of a Match section in the text it matched: names for the environment (`MATCH_NAME`) and
/// values.
///
/// # Errors
/// When the regular expression gave up.
pub fn named_groups(section: &Section, text: &[u8]) -> Result<Vec<(String, Vec<u8>)>, RegexError> {
    let Pattern::Regex(regex) = &section.pattern else { return Ok(Vec::new()) };
    let groups = regex.named_groups(text)?;
    Ok(groups
        .into_iter()
        .map(|(name, value)| (format!("MATCH_{}", name.to_ascii_uppercase()), value))
        .collect())
}
