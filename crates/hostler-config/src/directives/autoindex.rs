//! Directives of mod_autoindex: listings of directories. A listing is made in three steps: [`View::new`] reads
//! the query, the caller gathers the [`Entry`]s that may be shown ([`Dir::ignores`], [`View::accepts`]), and
//! [`render`] writes the page, byte for byte as Apache does.

mod listing;
mod lookup;
mod natural;
mod options;
mod render;
mod sort;
mod table;
mod view;

pub use listing::{Entry, Listing, Part};
pub use options::{IndexOption, OptionSet, Options, Width};
pub use render::render;
pub use view::{Key, View};

use crate::section::Kind;
use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use lookup::{Description, Item, Subject};

/// The module.
pub static MODULE: Module = Module {
    name: "autoindex_module",
    file: "mod_autoindex.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

/// A directive of this module: they may all stand anywhere, and belong to `Indexes`.
const fn indexes(
    name: &'static str,
    arity: Arity,
    form: &'static str,
    doc: &'static str,
    set: fn(&mut Command<'_>, &Args) -> Result<(), String>,
) -> Directive {
    Directive::new(name, arity, form, doc, set).allowed(Contexts::ANYWHERE, Overrides::INDEXES)
}

static DIRECTIVES: &[Directive] = &[
    indexes(
        "IndexOptions",
        Arity::RawArgs,
        "[+|-]option ...",
        "Set the appearance of listings",
        options::index_options,
    ),
    indexes(
        "IndexOrderDefault",
        Arity::Take2,
        "Ascending|Descending Name|Date|Size|Description",
        "Set the default sort order of listings",
        view::index_order_default,
    ),
    indexes(
        "IndexIgnore",
        Arity::Iterate,
        "file ...",
        "Set the files that listings omit",
        |command, args| {
            let item = Item::new(place(command), Subject::Name, args.first(), "");
            command.dir.autoindex.ignored.push(item);
            Ok(())
        },
    )
    .with_effect(Effect::Guards),
    indexes(
        "IndexIgnoreReset",
        Arity::Flag,
        "On|Off",
        "Discard the IndexIgnore list of outer directories",
        |command, args| {
            command.dir.autoindex.ignored_anew = args.flag();
            Ok(())
        },
    ),
    indexes(
        "AddIcon",
        Arity::Iterate2,
        "icon|(ALT,icon) name ...",
        "Set the icon of files, by name",
        |command, args| add_icon(command, args, Subject::Path),
    ),
    indexes(
        "AddIconByType",
        Arity::Iterate2,
        "icon|(ALT,icon) media-type ...",
        "Set the icon of files, by media type",
        |command, args| add_icon(command, args, Subject::Type),
    ),
    indexes(
        "AddIconByEncoding",
        Arity::Iterate2,
        "icon|(ALT,icon) encoding ...",
        "Set the icon of files, by content coding",
        |command, args| add_icon(command, args, Subject::Encoding),
    ),
    indexes(
        "AddAlt",
        Arity::Iterate2,
        "text name ...",
        "Set the alternative text of icons, by file name",
        |command, args| {
            add_alt(command, args.first(), args.word(1).unwrap_or_default(), Subject::Path);
            Ok(())
        },
    ),
    indexes(
        "AddAltByType",
        Arity::Iterate2,
        "text media-type ...",
        "Set the alternative text of icons, by media type",
        |command, args| {
            add_alt(command, args.first(), args.word(1).unwrap_or_default(), Subject::Type);
            Ok(())
        },
    ),
    indexes(
        "AddAltByEncoding",
        Arity::Iterate2,
        "text encoding ...",
        "Set the alternative text of icons, by content coding",
        |command, args| {
            add_alt(command, args.first(), args.word(1).unwrap_or_default(), Subject::Encoding);
            Ok(())
        },
    ),
    indexes(
        "AddDescription",
        Arity::Iterate2,
        "text file ...",
        "Set the description of files",
        |command, args| {
            let description = Description::new(args.word(1).unwrap_or_default(), args.first());
            command.dir.autoindex.descriptions.push(description);
            Ok(())
        },
    ),
    indexes(
        "DefaultIcon",
        Arity::Take1,
        "icon",
        "Set the icon of files without any other icon",
        |command, args| {
            command.dir.autoindex.default_icon = Some(args.first().into());
            Ok(())
        },
    ),
    indexes("HeaderName", Arity::Take1, "file", "Set the file shown above a listing", |command, args| {
        let item = Item::new(place(command), Subject::Name, "", args.first());
        command.dir.autoindex.headers.push(item);
        Ok(())
    }),
    indexes("ReadmeName", Arity::Take1, "file", "Set the file shown below a listing", |command, args| {
        let item = Item::new(place(command), Subject::Name, "", args.first());
        command.dir.autoindex.readmes.push(item);
        Ok(())
    }),
    indexes("IndexStyleSheet", Arity::Take1, "URL", "Set the style sheet of listings", |command, args| {
        command.dir.autoindex.style_sheet = Some(args.first().into());
        Ok(())
    }),
    indexes(
        "IndexHeadInsert",
        Arity::Take1,
        "text",
        "Insert text into the <head> of listings",
        |command, args| {
            command.dir.autoindex.head_insert = Some(args.first().into());
            Ok(())
        },
    ),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// IndexOptions
    pub options: Options,
    /// First word of IndexOrderDefault.
    pub descending: Option<bool>,
    /// Second word of IndexOrderDefault.
    pub order: Option<Key>,
    /// DefaultIcon
    pub default_icon: Option<Box<str>>,
    /// IndexStyleSheet
    pub style_sheet: Option<Box<str>>,
    /// IndexHeadInsert
    pub head_insert: Option<Box<str>>,
    icons: Vec<Item>,
    alts: Vec<Item>,
    descriptions: Vec<Description>,
    ignored: Vec<Item>,
    ignored_anew: bool,
    headers: Vec<Item>,
    readmes: Vec<Item>,
}

impl Merge for Dir {
    /// In all lists the first entry that fits counts, and an inner directory's come first.
    fn merge(&self, inner: &Self) -> Self {
        let ignored =
            if inner.ignored_anew { inner.ignored.clone() } else { joined(&inner.ignored, &self.ignored) };
        Self {
            options: self.options.merge(&inner.options),
            descending: over(&self.descending, &inner.descending),
            order: over(&self.order, &inner.order),
            default_icon: over(&self.default_icon, &inner.default_icon),
            style_sheet: over(&self.style_sheet, &inner.style_sheet),
            head_insert: over(&self.head_insert, &inner.head_insert),
            icons: joined(&inner.icons, &self.icons),
            alts: joined(&inner.alts, &self.alts),
            descriptions: joined(&inner.descriptions, &self.descriptions),
            ignored,
            ignored_anew: inner.ignored_anew,
            headers: joined(&inner.headers, &self.headers),
            readmes: joined(&inner.readmes, &self.readmes),
        }
    }

    unset_part!(Dir);
}

/// mod_autoindex has nothing per server.
pub type Server = ();

impl Dir {
    /// Returns whether a listing leaves a file out. `path` is the file's, absolute.
    #[must_use]
    pub fn ignores(&self, path: &[u8]) -> bool {
        self.ignored.iter().any(|item| item.names(path))
    }

    /// The file to show above the listing of a directory: a URL relative to it.
    #[must_use]
    pub fn header_name(&self, directory: &[u8]) -> Option<&str> {
        lookup::find(&self.headers, directory, None, None, false)
    }

    /// The file to show below the listing of a directory: a URL relative to it.
    #[must_use]
    pub fn readme_name(&self, directory: &[u8]) -> Option<&str> {
        lookup::find(&self.readmes, directory, None, None, false)
    }

    /// The media type of listings, with its character set.
    #[must_use]
    pub fn content_type(&self) -> String {
        let media_type = self.options.media_type.as_deref().unwrap_or("text/html");
        let charset = self.options.charset.as_deref().unwrap_or("ISO-8859-1");
        format!("{media_type};charset={charset}")
    }
}

fn joined<T: Clone>(first: &[T], second: &[T]) -> Vec<T> {
    first.iter().chain(second).cloned().collect()
}

/// The path that a line is for: files that do not begin with it are not meant.
fn place(command: &Command<'_>) -> String {
    match command.place {
        None => String::new(),
        Some(place) if place.kind == Kind::Directory && !place.path.ends_with('/') => {
            format!("{}/", place.path)
        }
        Some(place) => place.path.to_string(),
    }
}

/// The name in capitals is an old spelling.
fn directory_word(name: &str, subject: Subject) -> &str {
    if subject == Subject::Path && name == "**DIRECTORY**" { "^^DIRECTORY^^" } else { name }
}

fn add_icon(command: &mut Command<'_>, args: &Args, subject: Subject) -> Result<(), String> {
    let (mut icon, name) = (args.first(), args.word(1).unwrap_or_default());
    if let Some(pair) = icon.strip_prefix('(') {
        let pair = pair.split_once(')').ok_or("a closing bracket is missing")?.0;
        let (alt, url) = pair.split_once(',').unwrap_or((pair, ""));
        add_alt(command, alt, name, subject);
        icon = url;
    }
    let item = Item::new(place(command), subject, directory_word(name, subject), icon);
    command.dir.autoindex.icons.push(item);
    Ok(())
}

fn add_alt(command: &mut Command<'_>, text: &str, name: &str, subject: Subject) {
    let item = Item::new(place(command), subject, directory_word(name, subject), text);
    command.dir.autoindex.alts.push(item);
}

#[cfg(test)]
mod tests;
