//! Directives of mod_charset_lite: texts that are stored in one character set and sent in another.

use crate::{Args, Arity, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use encoding_rs::{Encoding, REPLACEMENT, UTF_16BE, UTF_16LE};

/// The module.
pub static MODULE: Module = Module {
    name: "charset_lite_module",
    file: "mod_charset_lite.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "CharsetSourceEnc",
        Arity::Take1,
        "charset",
        "Set the character set of stored text and of what programs read and write",
        |command, args| set(&mut command.dir.charset_lite.source, args),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "CharsetDefault",
        Arity::Take1,
        "charset",
        "Set the character set in which text is sent and received",
        |command, args| set(&mut command.dir.charset_lite.default, args),
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "CharsetOptions",
        Arity::Iterate,
        "[No]ImplicitAdd [No]TranslateAllMimeTypes ...",
        "Set when the filters XLATEOUT and XLATEIN are added and what they translate",
        |command, args| {
            let dir = &mut command.dir.charset_lite;
            match args.first().to_ascii_lowercase().as_str() {
                "implicitadd" => dir.adds = Some(true),
                "noimplicitadd" => dir.adds = Some(false),
                "translateallmimetypes" => dir.all_types = Some(true),
                "notranslateallmimetypes" => dir.all_types = Some(false),
                _ => return Err(format!("invalid CharsetOptions option: {}", args.first())),
            }
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
];

/// A character set, as a configuration names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charset {
    /// The name.
    pub name: Box<str>,
    /// Its kind.
    pub code: Code,
}

/// The encoding of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// US-ASCII: seven bits.
    Ascii,
    /// ISO-8859-1, where each byte is the character of its number. (To browsers the name means windows-1252.)
    Latin1,
    /// UTF-16. `marked`: a byte order mark says which way round it is, and is not a part of the text.
    Utf16 {
        /// The larger half of a unit comes first.
        big: bool,
        /// It begins with a byte order mark.
        marked: bool,
    },
    /// One of the Encoding Standard's.
    Standard(&'static Encoding),
}

impl Code {
    fn of(name: &str) -> Option<Self> {
        let plain = name.to_ascii_lowercase().replace('_', "-");
        Some(match plain.as_str() {
            "us-ascii" | "ascii" | "ansi-x3.4-1968" | "646" => Self::Ascii,
            "iso-8859-1" | "iso8859-1" | "latin1" | "l1" => Self::Latin1,
            "utf-16" | "utf16" => Self::Utf16 { big: false, marked: true },
            _ => {
                let found = Encoding::for_label(name.as_bytes())?;
                match found {
                    found if found == UTF_16LE => Self::Utf16 { big: false, marked: false },
                    found if found == UTF_16BE => Self::Utf16 { big: true, marked: false },
                    found if found == REPLACEMENT => return None,
                    found => Self::Standard(found),
                }
            }
        })
    }

    /// Returns whether each character is one byte.
    #[must_use]
    pub fn is_single_byte(self) -> bool {
        match self {
            Self::Ascii | Self::Latin1 => true,
            Self::Utf16 { .. } => false,
            Self::Standard(encoding) => encoding.is_single_byte(),
        }
    }
}

fn set(set: &mut Option<Charset>, args: &Args) -> Result<(), String> {
    *set = Some(charset(args.first())?);
    Ok(())
}

/// The character set of this name.
pub(super) fn charset(name: &str) -> Result<Charset, String> {
    let code = Code::of(name).ok_or_else(|| {
        format!("unknown character set \"{name}\" (expected one of the Encoding Standard, such as UTF-8, windows-1252 or Shift_JIS)")
    })?;
    Ok(Charset { name: name.into(), code })
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// CharsetSourceEnc
    pub source: Option<Charset>,
    /// CharsetDefault
    pub default: Option<Charset>,
    /// CharsetOptions ImplicitAdd: the filters are there without being named.
    pub adds: Option<bool>,
    /// CharsetOptions TranslateAllMimeTypes: not only texts and messages.
    pub all_types: Option<bool>,
}

impl Dir {
    /// The character set in which it is stored, and the one in which it is sent; `None`: nothing is translated.
    #[must_use]
    pub fn translation(&self) -> Option<(&Charset, &Charset)> {
        let pair = self.source.as_ref().zip(self.default.as_ref());
        pair.filter(|(source, default)| !source.name.eq_ignore_ascii_case(&default.name))
    }
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            source: over(&self.source, &other.source),
            default: over(&self.default, &other.default),
            adds: over(&self.adds, &other.adds),
            all_types: over(&self.all_types, &other.all_types),
        }
    }

    unset_part!(Dir);
}

/// The module has nothing per server.
pub type Server = ();

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(lines: &str) -> Result<Dir, String> {
        let text = format!("<Location /x>\n{lines}\n</Location>");
        let config = crate::Config::build(&crate::read_text(&text, "/etc").unwrap());
        config
            .map(|config| Dir::clone(&config.main().locations[0].conf.charset_lite))
            .map_err(|e| e[0].to_string())
    }

    #[test]
    fn two_names_are_a_translation_unless_they_are_the_same() {
        let found = dir("CharsetSourceEnc ISO-8859-1\nCharsetDefault utf-8").unwrap();
        let (source, default) = found.translation().unwrap();
        assert_eq!((source.code, &*default.name), (Code::Latin1, "utf-8"));
        assert!(dir("CharsetSourceEnc UTF-8\nCharsetDefault utf-8").unwrap().translation().is_none());
        assert!(dir("CharsetSourceEnc UTF-8").unwrap().translation().is_none());
    }

    #[test]
    fn what_is_unknown_is_refused() {
        assert!(dir("CharsetSourceEnc martian").unwrap_err().contains("unknown character set"));
        assert!(dir("CharsetSourceEnc iso-2022-kr").is_err(), "the standard has it replaced");
        assert!(dir("CharsetOptions Sometimes").unwrap_err().contains("invalid CharsetOptions"));
        let found = dir("CharsetOptions NoImplicitAdd translateAllMimeTypes").unwrap();
        assert_eq!((found.adds, found.all_types), (Some(false), Some(true)));
    }
}
