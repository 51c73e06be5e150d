//! The presentation of one listing: the configuration, and the query's wishes (`?C=S;O=D;F=2;V=1;P=*.c`).

use super::Dir;
use super::options::{IndexOption, OptionSet};
use crate::directives::alias::push_escaped_path;
use crate::{Args, Command};
use hostler_cgi::write_html;
use hostler_expr::{GlobMode, glob_matches};
use hostler_ssi::unescape_url;

/// The sort key of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Key {
    /// `N`
    #[default]
    Name,
    /// `M`
    LastModified,
    /// `S`
    Size,
    /// `D`
    Description,
}

impl Key {
    pub(super) const fn letter(self) -> u8 {
        match self {
            Self::Name => b'N',
            Self::LastModified => b'M',
            Self::Size => b'S',
            Self::Description => b'D',
        }
    }

    fn from_letter(letter: u8) -> Option<Self> {
        [Self::Name, Self::LastModified, Self::Size, Self::Description]
            .into_iter()
            .find(|key| key.letter() == letter)
    }
}

/// The presentation of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The options, the query's wishes included.
    pub options: OptionSet,
    /// The sort key of the entries.
    pub key: Key,
    /// True if the largest comes first.
    pub descending: bool,
    /// The part of the query that the columns' links repeat.
    pub(super) kept: Vec<u8>,
    pattern: Option<Vec<u8>>,
}

impl View {
    /// The view of a directory for a query.
    #[must_use]
    pub fn new(dir: &Dir, query: Option<&[u8]>) -> Self {
        let mut view = Self {
            options: dir.options.effective(),
            key: dir.order.unwrap_or_default(),
            descending: dir.descending == Some(true),
            kept: Vec::new(),
            pattern: None,
        };
        if view.options.has(IndexOption::IgnoreClient) {
            view.options = view.options.with(IndexOption::SuppressColumnSorting, true);
        } else {
            view.read(query.unwrap_or_default());
        }
        view
    }

    /// Returns whether a listing shows a file of this name (`P=`).
    #[must_use]
    pub fn accepts(&self, name: &[u8]) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        let hidden = name.first() == Some(&b'.') && pattern.first() != Some(&b'.');
        // A backslash is a backslash here.
        let literal: Vec<u8> = pattern
            .iter()
            .flat_map(|byte| std::iter::repeat_n(*byte, 1 + usize::from(*byte == b'\\')))
            .collect();
        !hidden && glob_matches(&literal, name, GlobMode::Anything)
    }

    /// Returns whether descriptions come from the titles of HTML files that have none in the configuration.
    #[must_use]
    pub fn wants_titles(&self) -> bool {
        self.is_fancy() && self.options.has(IndexOption::ScanHtmlTitles)
    }

    /// Returns whether files that may not be read are listed.
    #[must_use]
    pub fn shows_forbidden(&self) -> bool {
        self.options.has(IndexOption::ShowForbidden)
    }

    /// More than a list of names.
    pub(super) fn is_fancy(&self) -> bool {
        self.options.has(IndexOption::FancyIndexing) || self.options.has(IndexOption::HtmlTable)
    }

    /// Reads the query up to the first word that has no meaning.
    fn read(&mut self, query: &[u8]) {
        let (mut format, mut version) = (None, None);
        let mut rest = query;
        while let [letter, b'=', after @ ..] = rest {
            let end = after.iter().position(|byte| matches!(byte, b';' | b'&')).unwrap_or(after.len());
            let value = &after[..end];
            rest = after.get(end + 1..).unwrap_or_default();
            match (letter, value) {
                (b'P', value) => self.set_pattern(value),
                (b'C', [letter]) if Key::from_letter(*letter).is_some() => {
                    self.key = Key::from_letter(*letter).unwrap_or_default();
                }
                (b'O', [letter @ (b'A' | b'D')]) => self.descending = *letter == b'D',
                (b'F', [digit @ b'0'..=b'2']) => format = Some(*digit),
                (b'V', [digit @ b'0'..=b'1']) => version = Some(*digit),
                _ => break,
            }
        }
        if let Some(digit) = format {
            self.options = self.options.with(IndexOption::FancyIndexing, digit != b'0');
            self.options = self.options.with(IndexOption::HtmlTable, digit == b'2');
        }
        if let Some(digit) = version {
            self.options = self.options.with(IndexOption::VersionSort, digit == b'1');
        }
        self.keep(format, version);
    }

    fn set_pattern(&mut self, value: &[u8]) {
        let mut pattern = Vec::with_capacity(value.len());
        unescape_url(value, &mut pattern);
        self.pattern = Some(pattern).filter(|pattern| !pattern.is_empty());
    }

    fn keep(&mut self, format: Option<u8>, version: Option<u8>) {
        for (name, digit) in [(b'F', format), (b'V', version)] {
            if let Some(digit) = digit {
                self.kept.extend_from_slice(&[b';', name, b'=', digit]);
            }
        }
        if let Some(pattern) = &self.pattern {
            let mut escaped = Vec::new();
            push_escaped_path(pattern, &mut escaped);
            self.kept.extend_from_slice(b";P=");
            write_html(&escaped, |part| self.kept.extend_from_slice(part));
        }
    }
}

/// `IndexOrderDefault`
pub(super) fn index_order_default(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let dir = &mut command.dir.autoindex;
    dir.descending = Some(match &args.first().to_ascii_lowercase()[..] {
        "ascending" => false,
        "descending" => true,
        other => return Err(crate::unknown("order", other, &["Ascending", "Descending"])),
    });
    dir.order = Some(match &args.word(1).unwrap_or_default().to_ascii_lowercase()[..] {
        "name" => Key::Name,
        "date" => Key::LastModified,
        "size" => Key::Size,
        "description" => Key::Description,
        other => return Err(crate::unknown("key", other, &["Name", "Date", "Size", "Description"])),
    });
    Ok(())
}
