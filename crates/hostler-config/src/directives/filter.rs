//! Directives of mod_filter, mod_deflate and mod_brotli, and of filters that have little else: mod_buffer, mod_sed,
//! mod_ext_filter.
//!
//! ```text
//! names     which filters there are, and where they stand
//! harness   mod_filter: filters that are declared, and put in order
//! external  mod_ext_filter: programs that are filters
//! ```

pub mod external;
pub mod harness;
mod names;

pub use names::{CONTENT_SET, MOST, RESOURCE, Rank, Way, rank};
pub(crate) use names::{FilterLine, refuse_missing};
pub(in crate::directives) use names::{check_names, named, only_compress};

use crate::{
    Action, Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part,
};
use std::sync::Arc;

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

/// A directive that is known and does nothing.
const fn ignored(name: &'static str, doc: &'static str, why: &'static str) -> Directive {
    let directive = Directive::new(name, Arity::RawArgs, "", doc, |_, _| Ok(()));
    Directive { action: Action::Ignored(why), ..directive }
}

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "AddOutputFilterByType",
        Arity::Iterate2,
        "filter[;filter...] media-type ...",
        "Add output filters for responses of a media type",
        by_type,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
    .with_effect(Effect::HarmlessIf(only_compress)),
    Directive::new("FilterDeclare", Arity::Take12, "name [type]", "Declare a smart filter", harness::declare)
        .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "FilterProvider",
        Arity::Take3,
        "name filter expression",
        "Add a provider to a smart filter, used when an expression is true",
        harness::provider,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "FilterChain",
        Arity::Iterate,
        "[+|-|@|=|!]name ...",
        "Set the filter chain",
        harness::chain,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "FilterProtocol",
        Arity::Take23,
        "name [filter] change=yes|change=1:1|byteranges=no|proxy=no|proxy=transform|cache=no[;...]",
        "No effect, as in Apache 2.4: describes how a filter changes the response header",
        harness::protocol,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    ignored("FilterTrace", "Logs what a filter does", "LogLevel filter:trace4 shows which filters work")
        .allowed(Contexts::CONFIG, Overrides::NONE),
];

/// Why the compressor's memory cannot be chosen.
const OWN_MEMORY: &str = "Hostler's compressor chooses its own memory and buffers";

static DEFLATE_DIRECTIVES: &[Directive] = &[
    Directive::new(
        "DeflateCompressionLevel",
        Arity::Take1,
        "1 ... 9",
        "Set the compression level of DEFLATE",
        |command, args| {
            command.server.filter.deflate_level = Some(number(args.first(), 1, 9)?);
            Ok(())
        },
    ),
    Directive::new(
        "DeflateAlterETag",
        Arity::Take1,
        "AddSuffix|NoChange|Remove",
        "Set how DEFLATE changes the ETag header",
        |command, args| {
            command.server.filter.deflate_etag = Some(alter_etag(args.first())?);
            Ok(())
        },
    ),
    Directive::new(
        "DeflateFilterNote",
        Arity::Take12,
        "[Input|Output|Ratio] note",
        "Store the compression ratio or sizes in a note for logging",
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
    Directive::new(
        "DeflateInflateLimitRequestBody",
        Arity::Take1,
        "bytes",
        "Limit the size of an inflated request body in bytes",
        |command, args| {
            command.dir.filter.inflate.longest = Some(whole(args.first(), 0)?);
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "DeflateInflateRatioLimit",
        Arity::Take1,
        "ratio",
        "Limit the inflation ratio of request bodies",
        |command, args| {
            command.dir.filter.inflate.ratio = Some(whole(args.first(), 1)?);
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "DeflateInflateRatioBurst",
        Arity::Take1,
        "count",
        "Set how many times the inflation ratio may be exceeded",
        |command, args| {
            command.dir.filter.inflate.burst = Some(whole(args.first(), 1)?);
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
];

/// The limits of inflated request bodies (mod_deflate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inflate {
    /// DeflateInflateLimitRequestBody, in bytes; 0: no limit of its own.
    pub longest: Option<u64>,
    /// DeflateInflateRatioLimit; unset means 200.
    pub ratio: Option<u64>,
    /// DeflateInflateRatioBurst; unset means 3.
    pub burst: Option<u64>,
}

impl Inflate {
    fn merge(self, over: Self) -> Self {
        Self {
            longest: over.longest.or(self.longest),
            ratio: over.ratio.or(self.ratio),
            burst: over.burst.or(self.burst),
        }
    }
}

/// mod_buffer.
pub static BUFFER: Module = Module {
    name: "buffer_module",
    file: "mod_buffer.c",
    directives: &[Directive::new(
        "BufferSize",
        Arity::Take1,
        "bytes",
        "Set how many bytes the filter BUFFER collects before passing them on",
        |command, args| {
            command.dir.filter.buffer_size = Some(whole(args.first(), 1)?);
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE)],
    effect: Effect::Harmless,
};

/// mod_ext_filter.
pub static EXT_FILTER: Module = Module {
    name: "ext_filter_module",
    file: "mod_ext_filter.c",
    directives: external::DIRECTIVES,
    effect: Effect::Guards,
};

static BROTLI_DIRECTIVES: &[Directive] = &[
    Directive::new(
        "BrotliCompressionQuality",
        Arity::Take1,
        "0 ... 11",
        "Set the compression quality of BROTLI_COMPRESS",
        |command, args| {
            command.server.filter.brotli_quality = Some(number(args.first(), 0, 11)?);
            Ok(())
        },
    ),
    Directive::new(
        "BrotliCompressionWindow",
        Arity::Take1,
        "10 ... 24",
        "Set the window size of BROTLI_COMPRESS as a power of 2",
        |command, args| {
            command.server.filter.brotli_window = Some(number(args.first(), 10, 24)?);
            Ok(())
        },
    ),
    Directive::new(
        "BrotliAlterETag",
        Arity::Take1,
        "AddSuffix|NoChange|Remove",
        "Set how BROTLI_COMPRESS changes the ETag header",
        |command, args| {
            command.server.filter.brotli_etag = Some(alter_etag(args.first())?);
            Ok(())
        },
    ),
    Directive::new(
        "BrotliFilterNote",
        Arity::Take12,
        "[Input|Output|Ratio] note",
        "Store the compression ratio or sizes in a note for logging",
        |command, args| {
            let (kind, note) = args.word(1).map_or(("ratio", args.first()), |note| (args.first(), note));
            let notes = &mut command.server.filter.brotli_notes;
            *notes.slot(kind)? = Some(note.into());
            Ok(())
        },
    ),
    ignored("BrotliCompressionMaxInputBlock", "Size of the compressor's blocks", OWN_MEMORY),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// mod_filter's.
    pub chain: harness::Chain,
    /// Bounds of inflated requests.
    pub inflate: Inflate,
    /// BufferSize, in bytes.
    pub buffer_size: Option<u64>,
    /// ExtFilterOptions
    pub external: external::Options,
}

impl Merge for Dir {
    fn merge(&self, over: &Self) -> Self {
        Self {
            chain: self.chain.merge(&over.chain),
            inflate: self.inflate.merge(over.inflate),
            buffer_size: over.buffer_size.or(self.buffer_size),
            external: self.external.merge(over.external),
        }
    }

    unset_part!(Dir);
}

/// The effect of compression on an entity tag.
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
            _ => Err(crate::unknown("kind", kind, &["Input", "Output", "Ratio"])),
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

/// A server's settings.
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
    /// ExtFilterDefine, by names in lower case.
    pub external: std::collections::BTreeMap<Box<str>, Arc<external::External>>,
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
            external: {
                let mut external = self.external.clone();
                external.extend(other.external.iter().map(|(name, filter)| (name.clone(), filter.clone())));
                external
            },
        }
    }

    unset_part!(Server);
}

fn by_type(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let media_type = args.word(1).unwrap_or_default();
    check_names(command, Way::Output, args.first())?;
    for filter in named(args.first()) {
        command.dir.filter.chain.add_type(filter, media_type);
    }
    Ok(())
}

fn whole(text: &str, least: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| format!("\"{text}\" is not a number from {least} on"))
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
        _ => return Err(crate::unknown("value", word, &["AddSuffix", "NoChange", "Remove"])),
    })
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
            "SetInputFilter INFLATE",
            "AddInputFilter SUBSTITUTE .gz",
            "SetOutputFilter INCLUDES;NOSUCH",
            "AddOutputFilter CACHE .html",
            "AddOutputFilterByType NOSUCH text/html",
            "FilterProvider X NOSUCH true",
            "FilterProvider X INCLUDES",
            "FilterProvider X INCLUDES (",
            "FilterDeclare X ODD",
            "FilterProtocol X change=yes",
            "FilterDeclare X\nFilterProtocol X change=maybe",
        ] {
            let error = said(line).expect_err(line);
            assert!(error.contains("Filter"), "{error}");
        }
    }

    #[test]
    fn what_there_is_is_taken_wherever_it_is_defined() {
        for lines in [
            "AddOutputFilter INCLUDES;deflate .x\nSetOutputFilter Brotli_Compress",
            "SetInputFilter DEFLATE\nAddInputFilter DEFLATE;BUFFER .gz\nRemoveInputFilter .gz",
            "SetOutputFilter mine\nExtFilterDefine Mine mode=output cmd=/bin/cat",
            "FilterDeclare C CONTENT_SET\nFilterProvider C DEFLATE true\nFilterChain ! C =C @C -C\n\
             FilterProtocol C DEFLATE change=yes;proxy=no",
        ] {
            assert_eq!(said(lines), Ok(Vec::new()), "{lines}");
        }
    }
}
