//! The parts of a listing, and its rows.

use super::lookup::{describe, find};
use super::{Dir, IndexOption, View};
use std::borrow::Cow;

/// A file in a directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// A directory, or a link to one.
    pub is_directory: bool,
    /// Size in bytes.
    pub size: u64,
    /// Last change, in seconds since 1970.
    pub modified: i64,
    /// Media type, with or without parameters.
    pub media_type: Option<&'a str>,
    /// Content coding.
    pub encoding: Option<&'a str>,
    /// The contents of its `<title>`, if [`View::wants_titles`].
    pub title: Option<&'a [u8]>,
}

impl Entry<'_> {
    /// Returns whether a file's title may serve as its description: HTML that is not compressed.
    #[must_use]
    pub fn may_have_title(&self) -> bool {
        let essence = self.media_type.map(|name| name.split(';').next().unwrap_or(name).trim());
        let html = essence.is_some_and(|name| {
            name.eq_ignore_ascii_case("text/html") || name == "text/x-server-parsed-html"
        });
        html && self.encoding.is_none() && !self.is_directory
    }
}

/// The target of HeaderName or ReadmeName.
#[derive(Clone, Copy, Debug, Default)]
pub enum Part<'a> {
    /// Nothing that can be shown.
    #[default]
    None,
    /// HTML, as it is; it may bring its own head and foot (SuppressHTMLPreamble).
    Html(&'a [u8]),
    /// Other text.
    Text(&'a [u8]),
}

/// A directory and its files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listing<'a> {
    /// The decoded path of the request; it ends with a slash.
    pub uri: &'a [u8],
    /// The directory's path in the file system; it ends with a slash.
    pub directory: &'a [u8],
    /// The files, in any order.
    pub entries: &'a [Entry<'a>],
    /// HeaderName.
    pub header: Part<'a>,
    /// ReadmeName.
    pub readme: Part<'a>,
    /// ServerSignature: the line with `<address>`, or nothing.
    pub signature: &'a [u8],
}

/// A row of a listing.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    /// With a slash at the end if it is a directory; for the parent the path of its URL.
    pub(super) name: Cow<'a, [u8]>,
    pub(super) is_parent: bool,
    /// Comes before the files (FoldersFirst).
    pub(super) is_folder: bool,
    pub(super) icon: Option<&'a str>,
    pub(super) alt: Option<&'a str>,
    pub(super) description: Option<Cow<'a, [u8]>>,
    pub(super) size: Option<u64>,
    pub(super) modified: Option<i64>,
}

impl Row<'_> {
    /// Returns the text of the link.
    pub(super) fn label(&self) -> &[u8] {
        if self.is_parent { b"Parent Directory" } else { &self.name }
    }
}

/// The rows of a listing, unsorted.
pub(super) fn rows<'a>(dir: &'a Dir, view: &View, listing: &'a Listing<'_>) -> Vec<Row<'a>> {
    let shown = |entry: &&Entry<'_>| {
        view.accepts(entry.name) && !dir.ignores(&[listing.directory, entry.name].concat())
    };
    let entries = listing.entries.iter().filter(shown).map(|entry| row(dir, view, listing, entry));
    parent(dir, view, listing).into_iter().chain(entries).collect()
}

fn row<'a>(dir: &'a Dir, view: &View, listing: &Listing<'_>, entry: &'a Entry<'a>) -> Row<'a> {
    let name =
        if entry.is_directory { Cow::Owned([entry.name, b"/"].concat()) } else { Cow::Borrowed(entry.name) };
    let is_folder = entry.is_directory && view.options.has(IndexOption::FoldersFirst) && view.is_fancy();
    let mut row = Row {
        name,
        is_parent: false,
        is_folder,
        icon: None,
        alt: None,
        description: None,
        size: None,
        modified: None,
    };
    if !view.is_fancy() {
        return row;
    }
    let path = [listing.directory, entry.name].concat();
    let media_type = entry.media_type.map(|name| name.split(';').next().unwrap_or(name).trim_end());
    let get = |items| find(items, &path, media_type, entry.encoding, entry.is_directory);
    (row.icon, row.alt) = (get(&dir.icons), get(&dir.alts));
    if entry.is_directory {
        row.icon = row.icon.or_else(|| special(&dir.icons, b"^^DIRECTORY^^"));
        row.alt = row.alt.or_else(|| special(&dir.alts, b"^^DIRECTORY^^")).or(Some("DIR"));
    } else {
        row.size = Some(entry.size);
    }
    row.modified = Some(entry.modified);
    let described = describe(&dir.descriptions, &path).map(|text| Cow::Borrowed(text.as_bytes()));
    let title = entry.title.filter(|_| view.wants_titles()).map(Cow::Borrowed);
    row.description = described.or(title);
    row
}

/// The way up, unless there is none or IndexIgnore says `..`.
fn parent<'a>(dir: &'a Dir, view: &View, listing: &Listing<'_>) -> Option<Row<'a>> {
    let own = listing.uri.strip_suffix(b"/").unwrap_or(listing.uri);
    let slash = own.iter().rposition(|byte| *byte == b'/')?;
    let path = [listing.directory, b".."].concat();
    if dir.ignores(&path) {
        return None;
    }
    let mut row = Row {
        name: Cow::Owned(own[..=slash].to_vec()),
        is_parent: true,
        is_folder: false,
        icon: None,
        alt: None,
        description: None,
        size: None,
        modified: None,
    };
    if view.options.has(IndexOption::FancyIndexing) {
        row.icon = special(&dir.icons, &path).or_else(|| special(&dir.icons, b"^^DIRECTORY^^"));
        row.alt =
            special(&dir.alts, &path).or_else(|| special(&dir.alts, b"^^DIRECTORY^^")).or(Some("PARENTDIR"));
        row.description = describe(&dir.descriptions, &path).map(|text| Cow::Borrowed(text.as_bytes()));
    }
    Some(row)
}

/// An icon or text by a name that is no file's.
pub(super) fn special<'i>(items: &'i [super::Item], name: &[u8]) -> Option<&'i str> {
    find(items, name, None, None, true)
}
