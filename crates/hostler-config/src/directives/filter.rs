//! Directives of mod_filter, mod_deflate and mod_brotli: filters by media type, and compression.

mod names;

pub(super) use names::{check_names, only_compress};

use crate::{
    Action, Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part,
};

/// mod_filter.
pub static MODULE: Module =
    Module { name: "filter_module", file: "mod_filter.c", directives: DIRECTIVES, effect: Effect::Guards };

/// mod_deflate.
pub static DEFLATE: Module = Module {
    name: "deflate_module",
    file: "mod_deflate.c",
    directives: DEFLATE_DIRECTIVES,
    effect: Effect::Harmless,
};

/// mod_brotli.
pub static BROTLI: Module = Module {
    name: "brotli_module",
    file: "mod_brotli.c",
    directives: BROTLI_DIRECTIVES,
    effect: Effect::Harmless,
};

/// Why mod_filter's own chains do nothing.
const NO_CHAINS: &str =
    "Hostler has no filter chains; AddOutputFilterByType does what they are mostly used for";

/// A directive that is known and does nothing.
const fn ignored(name: &'static str, doc: &'static str, why: &'static str) -> Directive {
    let directive = Directive::new(name, Arity::RawArgs, "", doc, |_, _| Ok(()));
    Directive { action: Action::Ignored(why), ..directive }
}

/// A word of mod_filter's chains.
const fn chain(
    name: &'static str,
    form: &'static str,
    doc: &'static str,
    set: fn(&mut Command<'_>, &Args) -> Result<(), String>,
) -> Directive {
    Directive::new(name, Arity::TakeArgv, form, doc, set)
}

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "AddOutputFilterByType",
        Arity::Iterate2,
        "filter[;filter...] media-type ...",
        "Filters for answers of a media type",
        by_type,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
    .with_effect(Effect::HarmlessIf(only_compress)),
    chain("FilterDeclare", "name [type]", "Declares a filter", names::declare)
        .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    chain(
        "FilterProvider",
        "name filter expression",
        "Gives a declared filter something to do: accepted for DEFLATE and BROTLI_COMPRESS, without effect",
        names::provider,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    chain(
        "FilterChain",
        "[+|-|@|=|!]name ...",
        "Puts declared filters in order: accepted where they compress, without effect",
        names::filter_chain,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    ignored("FilterProtocol", "Says what a filter does to headers", NO_CHAINS)
        .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    ignored("FilterTrace", "Logs what a filter does", NO_CHAINS).allowed(Contexts::CONFIG, Overrides::NONE),
];

/// Why limits for inflating have nothing to limit.
const NO_INFLATE: &str = "Hostler inflates neither requests nor answers";

/// Why the compressor's memory cannot be chosen.
const OWN_MEMORY: &str = "Hostler's compressor chooses its own memory and buffers";

static DEFLATE_DIRECTIVES: &[Directive] = &[
    Directive::new(
        "DeflateCompressionLevel",
        Arity::Take1,
        "1 ... 9",
        "How hard DEFLATE tries",
        |command, args| {
            command.server.filter.deflate_level = Some(number(args.first(), 1, 9)?);
            Ok(())
        },
    ),
    Directive::new(
        "DeflateAlterETag",
        Arity::Take1,
        "AddSuffix|NoChange|Remove",
        "What DEFLATE does to ETag",
        |command, args| {
            command.server.filter.deflate_etag = Some(alter_etag(args.first())?);
            Ok(())
        },
    ),
    Directive::new(
        "DeflateFilterNote",
        Arity::Take12,
        "[Input|Output|Ratio] note",
        "Notes the compression for the log",
        |command, args| {
            let (kind, note) = args.word(1).map_or(("ratio", args.first()), |note| (args.first(), note));
            let notes = &mut command.server.filter.deflate_notes;
            *notes.slot(kind)? = Some(note.into());
            Ok(())
        },
    ),
    ignored("DeflateBufferSize", "Size of the compressor's buffer", OWN_MEMORY),
    ignored("DeflateMemLevel", "Memory of the compressor", OWN_MEMORY),
    ignored("DeflateWindowSize", "Window of the compressor", OWN_MEMORY),
    ignored("DeflateInflateLimitRequestBody", "Largest request after inflating", NO_INFLATE)
        .allowed(Contexts::CONFIG, Overrides::NONE),
    ignored("DeflateInflateRatioLimit", "Largest ratio when inflating", NO_INFLATE)
        .allowed(Contexts::CONFIG, Overrides::NONE),
    ignored("DeflateInflateRatioBurst", "How often the ratio may be exceeded", NO_INFLATE)
        .allowed(Contexts::CONFIG, Overrides::NONE),
];

static BROTLI_DIRECTIVES: &[Directive] = &[
    Directive::new(
        "BrotliCompressionQuality",
        Arity::Take1,
        "0 ... 11",
        "How hard BROTLI_COMPRESS tries",
        |command, args| {
            command.server.filter.brotli_quality = Some(number(args.first(), 0, 11)?);
            Ok(())
        },
    ),
    Directive::new(
        "BrotliCompressionWindow",
        Arity::Take1,
        "10 ... 24",
        "Window of BROTLI_COMPRESS, as a power of 2",
        |command, args| {
            command.server.filter.brotli_window = Some(number(args.first(), 10, 24)?);
            Ok(())
        },
    ),
    Directive::new(
        "BrotliAlterETag",
        Arity::Take1,
        "AddSuffix|NoChange|Remove",
        "What BROTLI_COMPRESS does to ETag",
        |command, args| {
            command.server.filter.brotli_etag = Some(alter_etag(args.first())?);
            Ok(())
        },
    ),
    Directive::new(
        "BrotliFilterNote",
        Arity::Take12,
        "[Input|Output|Ratio] note",
        "Notes the compression for the log",
        |command, args| {
            let (kind, note) = args.word(1).map_or(("ratio", args.first()), |note| (args.first(), note));
            let notes = &mut command.server.filter.brotli_notes;
            *notes.slot(kind)? = Some(note.into());
            Ok(())
        },
    ),
    ignored("BrotliCompressionMaxInputBlock", "Size of the compressor's blocks", OWN_MEMORY),
];

/// An AddOutputFilterByType: a filter and the media types it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByType {
    /// The filter, as written; names do not depend on case.
    pub filter: Box<str>,
    /// Media types without parameters.
    pub types: Vec<Box<str>>,
}

/// What a directory sets.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// AddOutputFilterByType, in the order in which the filters are applied.
    pub by_type: Vec<ByType>,
}

impl Merge for Dir {
    /// A filter's media types replace those from further out, as in Apache; its place in the order stays.
    fn merge(&self, over: &Self) -> Self {
        let mut by_type = self.by_type.clone();
        for entry in &over.by_type {
            match by_type.iter_mut().find(|known| known.filter.eq_ignore_ascii_case(&entry.filter)) {
                Some(known) => *known = entry.clone(),
                None => by_type.push(entry.clone()),
            }
        }
        Self { by_type }
    }

    unset_part!(Dir);
}

impl Dir {
    /// The filters for a media type (parameters are ignored), in order.
    pub fn filters_for<'a>(&'a self, media_type: &str) -> impl Iterator<Item = &'a str> {
        let end = media_type.find([';', ' ', '\t']).unwrap_or(media_type.len());
        let essence = media_type[..end].to_owned();
        let fits = move |entry: &&ByType| entry.types.iter().any(|known| **known == *essence);
        self.by_type.iter().filter(fits).map(|entry| &*entry.filter)
    }
}

/// What compression does to an entity tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlterETag {
    /// Adds `-gzip` or `-br`.
    #[default]
    AddSuffix,
    /// Leaves it.
    NoChange,
    /// Removes it.
    Remove,
}

/// Notes about compression, for `%{...}n`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Bytes before.
    pub input: Option<Box<str>>,
    /// Bytes after.
    pub output: Option<Box<str>>,
    /// Percentage.
    pub ratio: Option<Box<str>>,
}

impl Notes {
    fn slot(&mut self, kind: &str) -> Result<&mut Option<Box<str>>, String> {
        match &kind.to_ascii_lowercase()[..] {
            "input" => Ok(&mut self.input),
            "output" => Ok(&mut self.output),
            "ratio" => Ok(&mut self.ratio),
            _ => Err(format!("\"{kind}\" is neither Input nor Output nor Ratio")),
        }
    }

    fn merge(&self, other: &Self) -> Self {
        Self {
            input: over(&self.input, &other.input),
            output: over(&self.output, &other.output),
            ratio: over(&self.ratio, &other.ratio),
        }
    }
}

/// What a server sets.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// DeflateCompressionLevel; unset means 6.
    pub deflate_level: Option<u32>,
    /// DeflateAlterETag
    pub deflate_etag: Option<AlterETag>,
    /// DeflateFilterNote
    pub deflate_notes: Notes,
    /// BrotliCompressionQuality; unset means 5.
    pub brotli_quality: Option<u32>,
    /// BrotliCompressionWindow; unset means 18.
    pub brotli_window: Option<u32>,
    /// BrotliAlterETag
    pub brotli_etag: Option<AlterETag>,
    /// BrotliFilterNote
    pub brotli_notes: Notes,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self {
            deflate_level: over(&self.deflate_level, &other.deflate_level),
            deflate_etag: over(&self.deflate_etag, &other.deflate_etag),
            deflate_notes: self.deflate_notes.merge(&other.deflate_notes),
            brotli_quality: over(&self.brotli_quality, &other.brotli_quality),
            brotli_window: over(&self.brotli_window, &other.brotli_window),
            brotli_etag: over(&self.brotli_etag, &other.brotli_etag),
            brotli_notes: self.brotli_notes.merge(&other.brotli_notes),
        }
    }

    unset_part!(Server);
}

fn by_type(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let media_type = args.word(1).unwrap_or_default();
    check_names(args.first())?;
    let list = &mut command.dir.filter.by_type;
    for filter in names::named(args.first()) {
        match list.iter_mut().find(|known| known.filter.eq_ignore_ascii_case(filter)) {
            Some(known) => known.types.push(media_type.into()),
            None => list.push(ByType { filter: filter.into(), types: vec![media_type.into()] }),
        }
    }
    Ok(())
}

fn number(text: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("\"{text}\" is not a number from {least} to {most}"))
}

fn alter_etag(word: &str) -> Result<AlterETag, String> {
    Ok(match &word.to_ascii_lowercase()[..] {
        "addsuffix" => AlterETag::AddSuffix,
        "nochange" => AlterETag::NoChange,
        "remove" => AlterETag::Remove,
        _ => return Err(format!("\"{word}\" is neither AddSuffix nor NoChange nor Remove")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(filter: &str, types: &[&str]) -> ByType {
        ByType { filter: filter.into(), types: types.iter().map(|name| (*name).into()).collect() }
    }

    #[test]
    fn filters_by_type() {
        let outer = Dir {
            by_type: vec![entry("DEFLATE", &["text/plain"]), entry("X", &["text/plain", "text/html"])],
        };
        let filters = |dir: &Dir, name| dir.filters_for(name).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(filters(&outer, "text/plain; charset=x"), ["DEFLATE", "X"]);
        assert_eq!(filters(&outer, "text/html"), ["X"]);
        assert_eq!(filters(&outer, "TEXT/html"), [""; 0]);
        let inner = outer.merge(&Dir { by_type: vec![entry("deflate", &["text/html"])] });
        assert_eq!(filters(&inner, "text/html"), ["deflate", "X"]);
        assert_eq!(filters(&inner, "text/plain"), ["X"]);
    }
}
