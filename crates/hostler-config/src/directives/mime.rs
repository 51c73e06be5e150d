//! Directives of mod_mime: what the extensions of a file's name say about it. [`check`] reads a name.

mod builtin;
mod check;
mod content_type;
pub mod programs;
mod types;

pub use check::{MimeFacts, check, unknown_parts};
pub use types::Types;

use crate::directives::filter::Way;
use crate::directives::reach;
use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use std::collections::HashMap;
use std::sync::Arc;

/// The module.
pub static MODULE: Module =
    Module { name: "mime_module", file: "mod_mime.c", directives: DIRECTIVES, effect: Effect::Guards };

/// An `Add...` directive and its `Remove...`.
macro_rules! attribute {
    ($name:literal, $form:literal, $doc:literal, $attribute:ident, $effect:expr) => {
        Directive::new($name, Arity::Iterate2, $form, $doc, |command, args| {
            add(command, args, Attribute::$attribute)
        })
        .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
        .with_effect($effect)
    };
}

/// See [`attribute`].
macro_rules! removal {
    ($name:literal, $doc:literal, $attribute:ident, $effect:expr) => {
        Directive::new($name, Arity::Iterate, "extension ...", $doc, |command, args| {
            remove(command, args, Attribute::$attribute)
        })
        .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
        .with_effect($effect)
    };
}

static DIRECTIVES: &[Directive] = &[
    attribute!(
        "AddType",
        "media-type extension ...",
        "Set the media type of files with an extension",
        Type,
        Effect::HandsOverUnless(names_no_program)
    ),
    attribute!(
        "AddHandler",
        "handler extension ...",
        "Set the handler of files with an extension",
        Handler,
        Effect::HandsOver
    ),
    attribute!(
        "AddEncoding",
        "encoding extension ...",
        "Set the content coding of files with an extension",
        Encoding,
        Effect::Harmless
    ),
    attribute!(
        "AddCharset",
        "charset extension ...",
        "Set the character set of files with an extension",
        Charset,
        Effect::Harmless
    ),
    attribute!(
        "AddLanguage",
        "language extension ...",
        "Set the language of files with an extension",
        Language,
        Effect::Harmless
    ),
    attribute!(
        "AddInputFilter",
        "filter[;filter...] extension ...",
        "Set the input filters of files with an extension",
        InputFilters,
        Effect::Guards
    ),
    attribute!(
        "AddOutputFilter",
        "filter[;filter...] extension ...",
        "Set the output filters of files with an extension",
        OutputFilters,
        Effect::HarmlessIf(super::filter::only_compress)
    ),
    removal!(
        "RemoveType",
        "Remove the media type of an extension, whether from AddType or TypesConfig",
        Type,
        Effect::Guards
    ),
    removal!("RemoveHandler", "Remove the handler of an extension", Handler, Effect::Guards),
    removal!("RemoveEncoding", "Remove the content coding of an extension", Encoding, Effect::Harmless),
    removal!("RemoveCharset", "Remove the character set of an extension", Charset, Effect::Harmless),
    removal!("RemoveLanguage", "Remove the language of an extension", Language, Effect::Harmless),
    removal!("RemoveInputFilter", "Remove the input filters of an extension", InputFilters, Effect::Guards),
    removal!(
        "RemoveOutputFilter",
        "Remove the output filters of an extension",
        OutputFilters,
        Effect::Guards
    ),
    Directive::new(
        "DefaultLanguage",
        Arity::Take1,
        "language",
        "Set the language of files without a language extension",
        |command, args| {
            command.dir.mime.default_language = Some(args.first().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
    .with_effect(Effect::Harmless),
    Directive::new(
        "MultiviewsMatch",
        Arity::Iterate,
        "Any|NegotiatedOnly|Filters|Handlers [Filters|Handlers]",
        "Set which files MultiViews considers",
        multiviews_match,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
    .with_effect(Effect::Harmless),
    Directive::new(
        "ModMimeUsePathInfo",
        Arity::Flag,
        "On|Off",
        "Also search the path after the file name for extensions",
        |command, args| {
            command.dir.mime.use_path_info = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::DIRECTORY, Overrides::NONE),
    Directive::new(
        "TypesConfig",
        Arity::Take1,
        "file-path",
        "Set the file that maps extensions to media types",
        types_config,
    )
    .with_effect(Effect::Harmless),
];

/// The settings of an extension. All values are lower case, as mod_mime keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    /// AddType; empty: RemoveType, so that TypesConfig's does not count either.
    pub media_type: Option<Arc<str>>,
    /// AddHandler
    pub handler: Option<Arc<str>>,
    /// AddEncoding
    pub encoding: Option<Arc<str>>,
    /// AddCharset
    pub charset: Option<Arc<str>>,
    /// AddLanguage
    pub language: Option<Arc<str>>,
    /// AddOutputFilter, separated by semicolons.
    pub output_filters: Option<Arc<str>>,
    /// AddInputFilter, separated by semicolons.
    pub input_filters: Option<Arc<str>>,
}

impl Extension {
    fn merge(&self, other: &Self) -> Self {
        Self {
            media_type: over(&self.media_type, &other.media_type),
            handler: over(&self.handler, &other.handler),
            encoding: over(&self.encoding, &other.encoding),
            charset: over(&self.charset, &other.charset),
            language: over(&self.language, &other.language),
            output_filters: over(&self.output_filters, &other.output_filters),
            input_filters: over(&self.input_filters, &other.input_filters),
        }
    }

    fn slot(&mut self, attribute: Attribute) -> &mut Option<Arc<str>> {
        match attribute {
            Attribute::Type => &mut self.media_type,
            Attribute::Handler => &mut self.handler,
            Attribute::Encoding => &mut self.encoding,
            Attribute::Charset => &mut self.charset,
            Attribute::Language => &mut self.language,
            Attribute::OutputFilters => &mut self.output_filters,
            Attribute::InputFilters => &mut self.input_filters,
        }
    }
}

/// The attribute that an `Add...` directive sets and a `Remove...` directive removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attribute {
    Type,
    Handler,
    Encoding,
    Charset,
    Language,
    OutputFilters,
    InputFilters,
}

/// MultiviewsMatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultiviewsMatch {
    /// All files, even with extensions that say nothing.
    pub any: bool,
    /// Only files whose extensions take part in negotiation; the default.
    pub negotiated_only: bool,
    /// Files with filters too.
    pub filters: bool,
    /// Files with handlers too.
    pub handlers: bool,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// The settings of extensions, by extension in lower case without its dot.
    pub extensions: HashMap<Box<str>, Extension>,
    /// The attributes that are unset here, whatever outer sections set.
    removed: Vec<(Box<str>, Attribute)>,
    /// DefaultLanguage
    pub default_language: Option<Box<str>>,
    /// MultiviewsMatch
    pub multiviews: Option<MultiviewsMatch>,
    /// ModMimeUsePathInfo; unset means Off.
    pub use_path_info: Option<bool>,
}

impl Merge for Dir {
    /// Extension by extension, attribute by attribute.
    fn merge(&self, other: &Self) -> Self {
        let mut extensions = self.extensions.clone();
        for (name, attribute) in &other.removed {
            if let Some(extension) = extensions.get_mut(name) {
                *extension.slot(*attribute) = None;
            }
        }
        for (name, extension) in &other.extensions {
            let merged = extensions.get(name).map_or_else(|| extension.clone(), |base| base.merge(extension));
            extensions.insert(name.clone(), merged);
        }
        let mut removed = self.removed.clone();
        removed.retain(|(name, attribute)| {
            extensions.get_mut(name).is_none_or(|known| known.slot(*attribute).is_none())
        });
        removed.extend(other.removed.iter().cloned());
        Self {
            extensions,
            removed,
            default_language: over(&self.default_language, &other.default_language),
            multiviews: over(&self.multiviews, &other.multiviews),
            use_path_info: over(&self.use_path_info, &other.use_path_info),
        }
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// TypesConfig
    pub types: Option<Arc<Types>>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self { types: over(&self.types, &other.types) }
    }

    unset_part!(Server);
}

impl Server {
    /// The types of the TypesConfig file, or the built-in ones.
    #[must_use]
    pub fn types(&self) -> &Types {
        self.types.as_ref().unwrap_or_else(|| Types::built_in())
    }
}

fn key(extension: &str) -> Box<str> {
    extension.strip_prefix('.').unwrap_or(extension).to_ascii_lowercase().into()
}

/// Returns whether an AddType is about a media type and no program.
fn names_no_program(words: &[String]) -> bool {
    !words.first().is_some_and(|name| programs::is_type(name))
}

/// A `Remove...` of the same section wins, whatever the order of the lines; except for types, see [`remove`].
fn add(command: &mut Command<'_>, args: &Args, attribute: Attribute) -> Result<(), String> {
    if attribute == Attribute::Handler && super::core::figures(command, args.first())? {
        command.dir.core.shows_figures = Some(true);
    }
    if attribute == Attribute::Handler && reach::proxied(args.first()).is_some() && !command.is_htaccess() {
        command.dir.reach.name(&args.first().to_ascii_lowercase());
    }
    match attribute {
        Attribute::Handler => command.name_handler(args.first()),
        Attribute::Type if programs::runs(args.first()) => command.name_handler(args.first()),
        Attribute::OutputFilters => super::filter::check_names(command, Way::Output, args.first())?,
        Attribute::InputFilters => super::filter::check_names(command, Way::Input, args.first())?,
        _ => {}
    }
    let dir = &mut *command.dir.mime;
    let extension = key(args.word(1).unwrap_or_default());
    if !dir.removed.iter().any(|(name, removed)| *name == extension && *removed == attribute) {
        let value = args.first().to_ascii_lowercase().into();
        *dir.extensions.entry(extension).or_default().slot(attribute) = Some(value);
    }
    Ok(())
}

/// Quirk(apache): RemoveType is an AddType that says nothing. It hides TypesConfig's type too, and an AddType after
/// it in the same section wins.
fn remove(command: &mut Command<'_>, args: &Args, attribute: Attribute) -> Result<(), String> {
    let dir = &mut *command.dir.mime;
    let extension = key(args.first());
    if attribute == Attribute::Type {
        dir.extensions.entry(extension).or_default().media_type = Some("".into());
        return Ok(());
    }
    if let Some(known) = dir.extensions.get_mut(&extension) {
        *known.slot(attribute) = None;
    }
    dir.removed.push((extension, attribute));
    Ok(())
}

fn multiviews_match(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let set = command.dir.mime.multiviews.get_or_insert_default();
    match &args.first().to_ascii_lowercase()[..] {
        "any" => set.any = true,
        "negotiatedonly" => set.negotiated_only = true,
        "filters" => set.filters = true,
        "handlers" => set.handlers = true,
        _ => {
            return Err(crate::unknown(
                "value",
                args.first(),
                &["Any", "NegotiatedOnly", "Filters", "Handlers"],
            ));
        }
    }
    let kinds = [set.any, set.negotiated_only, set.filters || set.handlers];
    if kinds.into_iter().filter(|kind| *kind).count() > 1 {
        return Err("Any, NegotiatedOnly and Filters or Handlers exclude each other".into());
    }
    Ok(())
}

fn types_config(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let text = match args.first() {
        // No types: the usual way to say so, and nothing that is read.
        "/dev/null" => Arc::from(""),
        file => command.attached(file).ok_or_else(|| format!("cannot read {file}"))?,
    };
    command.server.mime.types = Some(Arc::new(Types::parse(&text)));
    Ok(())
}

#[cfg(test)]
mod tests;
