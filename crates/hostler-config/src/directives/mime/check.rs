//! Reading a file's name as mod_mime does: every extension counts, whatever its place. Comparisons fold ASCII
//! letters only, so that no other alphabet can spell `.php`.

use super::content_type::with_charset;
use super::{Dir, Extension, Types, programs};
use std::borrow::Cow;
use std::sync::Arc;

/// The facts that a name gives about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MimeFacts<'a> {
    /// Media type with its parameters, AddCharset's included.
    pub content_type: Option<Cow<'a, str>>,
    /// AddCharset; already in `content_type` if there is one.
    pub charset: Option<&'a str>,
    /// For `Content-Encoding`: several are joined with `, `.
    pub encoding: Option<Cow<'a, str>>,
    /// For `Content-Language`, in the order of the extensions.
    pub languages: Vec<&'a str>,
    /// AddHandler of the last extension that has one.
    pub handler: Option<&'a str>,
    /// AddOutputFilter, in order.
    pub output_filters: Vec<&'a str>,
    /// AddInputFilter, in order.
    pub input_filters: Vec<&'a str>,
    /// It is a program's source by its extension or type, and the configuration does not say that it is a text.
    pub is_source: bool,
}

/// Reads a file's name, or a path, of which the last component counts. With ModMimeUsePathInfo, `path_info` is
/// a part of the name. Not for directories.
#[must_use]
pub fn check<'a>(path: &[u8], path_info: &[u8], dir: &'a Dir, types: &'a Types) -> MimeFacts<'a> {
    let path = match dir.use_path_info {
        Some(true) if !path_info.is_empty() => Cow::Owned([path, path_info].concat()),
        _ => Cow::Borrowed(path),
    };
    let mut facts = MimeFacts::default();
    for extension in extensions(&path) {
        let folded = extension.to_ascii_lowercase();
        let Ok(extension) = std::str::from_utf8(&folded) else { continue };
        let known = dir.extensions.get(extension);
        facts.is_source = is_source(extension, known, types).unwrap_or(facts.is_source);
        if known.is_none_or(|known| known.media_type.is_none()) {
            facts.content_type = types.of(extension).map(Cow::Borrowed).or(facts.content_type);
        }
        if let Some(known) = known {
            facts.take(known);
        }
    }
    facts.content_type = facts.content_type.map(|name| with_charset(name, facts.charset));
    if facts.languages.is_empty() {
        facts.languages.extend(dir.default_language.as_deref());
    }
    facts
}

/// The base name and the extensions that say nothing about the file, in their order: somebody who asks for the file
/// without its other extensions has to name these (MultiviewsMatch). `None`: no extension says anything.
#[must_use]
pub fn unknown_parts<'n>(name: &'n [u8], dir: &Dir, types: &Types) -> Option<Vec<&'n [u8]>> {
    let allowed = dir.multiviews.unwrap_or_default();
    let dots = name.iter().take_while(|byte| **byte == b'.').count();
    let base = name[dots..].iter().position(|byte| *byte == b'.').map_or(name.len(), |end| dots + end);
    let (mut unknown, mut says_something) = (vec![&name[..base]], false);
    for extension in extensions(name) {
        let folded = extension.to_ascii_lowercase();
        let folded = std::str::from_utf8(&folded).unwrap_or_default();
        let own = dir.extensions.get(folded);
        let has = |known: fn(&Extension) -> bool| own.is_some_and(known);
        let is_typed = has(|known| known.media_type.is_some()) || types.of(folded).is_some();
        let describes = has(|e| e.charset.is_some() || e.language.is_some() || e.encoding.is_some());
        let runs = allowed.handlers && has(|known| known.handler.is_some());
        let filtered =
            allowed.filters && has(|known| known.output_filters.is_some() || known.input_filters.is_some());
        if is_typed || describes || runs || filtered || allowed.any {
            says_something = true;
        } else {
            unknown.push(extension);
        }
    }
    says_something.then_some(unknown)
}

/// Debian's type of copies that editors leave behind: a copy of a program is one.
const LEFT_OVER: &str = "application/x-trash";

/// Returns an extension's statement on whether its file is a program's source; as for types, the last statement
/// decides. TypesConfig knows types of programs' sources, too, so it is no reason to send them.
fn is_source(extension: &str, known: Option<&Extension>, types: &Types) -> Option<bool> {
    let of_configuration = |known: &Extension| {
        let handed_over = |filters: &Arc<str>| filters.split(';').any(|name| name == "includes");
        if known.output_filters.as_ref().is_some_and(handed_over) {
            return Some(false);
        }
        let name = known.media_type.as_deref().filter(|name| !name.is_empty())?;
        Some(programs::is_shown_as(name) == Some(false))
    };
    known.and_then(of_configuration).or_else(|| {
        if programs::is_extension(extension) {
            return Some(true);
        }
        // What is coded is still what it was.
        let is_coding = known.is_some_and(|known| known.encoding.is_some());
        types.of(extension).filter(|name| !is_coding && *name != LEFT_OVER).map(programs::is_type)
    })
}

/// The extensions of the last component of a path. Leading dots belong to the base name, which is none.
fn extensions(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let name = &path[start..];
    let dots = name.iter().take_while(|byte| **byte == b'.').count();
    name[dots..].split(|byte| *byte == b'.').skip(1).filter(|extension| !extension.is_empty())
}

impl<'a> MimeFacts<'a> {
    fn take(&mut self, extension: &'a Extension) {
        if let Some(media_type) = extension.media_type.as_ref().filter(|name| !name.is_empty()) {
            self.content_type = Some(Cow::Borrowed(media_type));
        }
        self.charset = extension.charset.as_deref().or(self.charset);
        self.handler = extension.handler.as_deref().or(self.handler);
        self.languages.extend(extension.language.as_deref());
        if let Some(encoding) = extension.encoding.as_deref() {
            self.encoding = Some(match self.encoding.take() {
                Some(before) => Cow::Owned(format!("{before}, {encoding}")),
                None => Cow::Borrowed(encoding),
            });
        }
        self.output_filters.extend(filters(extension.output_filters.as_deref()));
        self.input_filters.extend(filters(extension.input_filters.as_deref()));
    }
}

fn filters(list: Option<&str>) -> impl Iterator<Item = &str> {
    list.into_iter().flat_map(|list| list.split(';')).filter(|name| !name.is_empty())
}
