//! IndexOptions: what a listing looks like.

use crate::{Args, Command, over, words};

/// A word of IndexOptions that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are Apache's")]
pub enum IndexOption {
    IconsAreLinks,
    ScanHtmlTitles,
    SuppressIcon,
    SuppressLastModified,
    SuppressSize,
    SuppressDescription,
    SuppressHtmlPreamble,
    SuppressColumnSorting,
    SuppressRules,
    FoldersFirst,
    VersionSort,
    TrackModified,
    FancyIndexing,
    HtmlTable,
    IgnoreClient,
    IgnoreCase,
    Xhtml,
    ShowForbidden,
    AddAltClass,
    UseOldDateFormat,
}

const NAMES: [(&str, IndexOption); 20] = [
    ("IconsAreLinks", IndexOption::IconsAreLinks),
    ("ScanHTMLTitles", IndexOption::ScanHtmlTitles),
    ("SuppressIcon", IndexOption::SuppressIcon),
    ("SuppressLastModified", IndexOption::SuppressLastModified),
    ("SuppressSize", IndexOption::SuppressSize),
    ("SuppressDescription", IndexOption::SuppressDescription),
    ("SuppressHTMLPreamble", IndexOption::SuppressHtmlPreamble),
    ("SuppressColumnSorting", IndexOption::SuppressColumnSorting),
    ("SuppressRules", IndexOption::SuppressRules),
    ("FoldersFirst", IndexOption::FoldersFirst),
    ("VersionSort", IndexOption::VersionSort),
    ("TrackModified", IndexOption::TrackModified),
    ("FancyIndexing", IndexOption::FancyIndexing),
    ("HTMLTable", IndexOption::HtmlTable),
    ("IgnoreClient", IndexOption::IgnoreClient),
    ("IgnoreCase", IndexOption::IgnoreCase),
    ("XHTML", IndexOption::Xhtml),
    ("ShowForbidden", IndexOption::ShowForbidden),
    ("AddAltClass", IndexOption::AddAltClass),
    ("UseOldDateFormat", IndexOption::UseOldDateFormat),
];

/// A set of [`IndexOption`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionSet(u32);

impl OptionSet {
    /// Returns whether an option is on.
    #[must_use]
    pub fn has(self, option: IndexOption) -> bool {
        self.0 & bit(option) != 0
    }

    /// The set with an option switched.
    #[must_use]
    pub fn with(self, option: IndexOption, on: bool) -> Self {
        Self(if on { self.0 | bit(option) } else { self.0 & !bit(option) })
    }
}

fn bit(option: IndexOption) -> u32 {
    1 << option as u32
}

/// Width of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// In bytes.
    Fixed(usize),
    /// As wide as the longest entry.
    Longest,
}

/// IndexOptions of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `None`: nothing is taken from further out.
    none: bool,
    /// Words without sign: they replace what comes from further out.
    base: OptionSet,
    added: OptionSet,
    removed: OptionSet,
    /// NameWidth
    pub name_width: Option<Width>,
    /// DescriptionWidth
    pub description_width: Option<Width>,
    /// IconWidth in pixels; 0 counts as unset.
    pub icon_width: u32,
    /// IconHeight in pixels; 0 counts as unset.
    pub icon_height: u32,
    /// Charset
    pub charset: Option<Box<str>>,
    /// Type
    pub media_type: Option<Box<str>>,
}

/// Width of a column where nothing is set.
pub(super) const DEFAULT_WIDTH: usize = 23;

impl Options {
    /// The options that are in effect.
    #[must_use]
    pub fn effective(&self) -> OptionSet {
        OptionSet((self.base.0 | self.added.0) & !self.removed.0)
    }

    /// Returns the merged options when `inner` is more specific.
    pub(super) fn merge(&self, inner: &Self) -> Self {
        let (base, added, removed) = if inner.none {
            <(OptionSet, OptionSet, OptionSet)>::default()
        } else if inner.base == OptionSet::default() {
            let added = OptionSet((self.added.0 | inner.added.0) & !inner.removed.0);
            // Apache never takes a `-` of further out back; a `+` here must still work.
            let removed = OptionSet((self.removed.0 & !inner.added.0) | inner.removed.0);
            (self.base, added, removed)
        } else {
            (inner.base, OptionSet::default(), OptionSet::default())
        };
        Self {
            none: inner.none,
            base,
            added,
            removed,
            name_width: over(&self.name_width, &inner.name_width),
            description_width: over(&self.description_width, &inner.description_width),
            icon_width: if inner.icon_width > 0 { inner.icon_width } else { self.icon_width },
            icon_height: if inner.icon_height > 0 { inner.icon_height } else { self.icon_height },
            charset: over(&self.charset, &inner.charset),
            media_type: over(&self.media_type, &inner.media_type),
        }
    }

    /// A word without sign takes back those with one before it. Those after it, in the same place, do nothing
    /// in Apache, whatever its manual says, and pages should look the same: `false` then.
    fn switch(&mut self, sign: Option<char>, option: IndexOption) -> bool {
        match sign {
            Some(_) if self.base != OptionSet::default() => return false,
            None => {
                self.base = self.base.with(option, true);
                (self.added, self.removed) = Default::default();
            }
            Some('-') => {
                (self.added, self.removed) =
                    (self.added.with(option, false), self.removed.with(option, true));
            }
            Some(_) => {
                (self.added, self.removed) =
                    (self.added.with(option, true), self.removed.with(option, false));
            }
        }
        true
    }

    /// `Name=value`, and the four that can also stand alone. `None`: there is no such word.
    fn set_value(
        &mut self,
        sign: Option<char>,
        name: &str,
        value: Option<&str>,
    ) -> Option<Result<(), String>> {
        let minus = sign == Some('-');
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if minus && value.is_some() {
            return Some(Err(format!("{name} with a value cannot be taken away with \"-\"")));
        }
        if is("IconWidth") || is("IconHeight") {
            let usual = if is("IconWidth") { 20 } else { 22 };
            let pixels = match value {
                None => {
                    if minus {
                        0
                    } else {
                        usual
                    }
                }
                Some(value) => leading_number(value),
            };
            *if is("IconWidth") { &mut self.icon_width } else { &mut self.icon_height } = pixels;
            return Some(Ok(()));
        }
        if is("NameWidth") || is("DescriptionWidth") {
            let least = if is("NameWidth") { 5 } else { 12 };
            let width = width(name, least, minus, value);
            let slot = if is("NameWidth") { &mut self.name_width } else { &mut self.description_width };
            return Some(width.map(|width| *slot = Some(width)));
        }
        let value = value?;
        if is("Charset") {
            self.charset = Some(value.into());
        } else if is("Type") {
            self.media_type = Some(value.into());
        } else {
            return None;
        }
        Some(Ok(()))
    }
}

fn width(name: &str, least: usize, minus: bool, value: Option<&str>) -> Result<Width, String> {
    match value {
        None if minus => Ok(Width::Fixed(DEFAULT_WIDTH)),
        None => Err(format!("{name} needs a value, or a \"-\" before it")),
        Some(value) if value.starts_with('*') => Ok(Width::Longest),
        Some(value) => match leading_number(value) as usize {
            width if width > 0 && width < least => Err(format!("{name} must be at least {least}")),
            width => Ok(Width::Fixed(width)),
        },
    }
}

/// As C's atoi: digits at the beginning, 0 if there are none.
fn leading_number(text: &str) -> u32 {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count().min(9);
    text[..digits].parse().unwrap_or(0)
}

/// `IndexOptions`
pub(super) fn index_options(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let mut useless = Vec::new();
    let options = &mut command.dir.autoindex.options;
    for text in words(&args.raw) {
        let word = text.strip_prefix(['+', '-']).unwrap_or(&text);
        let sign = text.chars().next().filter(|_| word.len() < text.len());
        if let Some((_, option)) = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
            if !options.switch(sign, *option) {
                useless.push(text);
            }
            continue;
        }
        if word.eq_ignore_ascii_case("None") {
            if sign.is_some() {
                return Err("None cannot take + or -".into());
            }
            (options.none, options.base) = (true, OptionSet::default());
            (options.added, options.removed) = Default::default();
            continue;
        }
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        options.set_value(sign, name, value).unwrap_or_else(|| Err(crate::unknown("option", word, &[])))?;
    }
    if options.none && options.base != OptionSet::default() {
        return Err("None cannot be combined with other options".into());
    }
    if !useless.is_empty() {
        let useless = useless.join(" ");
        command
            .warn(format!("IndexOptions: {useless} has no effect in the same place as words without sign"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    /// Describes a listing after nested sections.
    fn effect(levels: &[&str]) -> String {
        let mut text = "IndexOptions FancyIndexing SuppressSize\n".to_owned();
        let mut path = String::new();
        for level in levels {
            path.push_str("/x");
            text.push_str(&format!("<Directory {path}>\nIndexOptions {level}\n</Directory>\n"));
        }
        let config = Config::build(&crate::read_text(&text, "/").expect(&text)).expect(&text);
        let main = config.main();
        let all =
            main.directories.iter().fold(main.defaults.autoindex.options.clone(), |options, section| {
                options.merge(&section.conf.autoindex.options)
            });
        let shown = [
            (IndexOption::FancyIndexing, "fancy"),
            (IndexOption::SuppressSize, "-size"),
            (IndexOption::SuppressDescription, "-description"),
            (IndexOption::HtmlTable, "table"),
        ];
        let on = shown.into_iter().filter(|(option, _)| all.effective().has(*option));
        on.map(|(_, name)| name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn signs_and_sections() {
        for (levels, expected) in [
            (&["+SuppressDescription"][..], "fancy -size -description"),
            (&["-SuppressSize"], "fancy"),
            (&["+SuppressDescription", "-SuppressDescription"], "fancy -size"),
            (&["FancyIndexing", "+SuppressDescription"], "fancy -description"),
            (&["None", "+FancyIndexing"], "fancy"),
            (&["NameWidth=30"], "fancy -size"),
            (&["HTMLTable"], "table"),
            (&["+SuppressDescription FancyIndexing"], "fancy"),
            (&["FancyIndexing +SuppressDescription"], "fancy"),
        ] {
            assert_eq!(effect(levels), expected, "{levels:?}");
        }
    }
}
