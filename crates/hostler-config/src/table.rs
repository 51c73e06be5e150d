//! The elements of the table of directives. A module is a name and a list of [`Directive`]s; the words for arity and
//! context are those of Apache's `http_config.h`.

use crate::{Command, Node};
use std::ops::BitOr;

/// A module, as `LoadModule` and `IfModule` know it.
#[derive(Debug)]
pub struct Module {
    /// `alias_module`.
    pub name: &'static str,
    /// `mod_alias.c`.
    pub file: &'static str,
    /// Its directives.
    pub directives: &'static [Directive],
    /// The effect of leaving a directive out, unless its own row states it.
    pub effect: Effect,
}

impl Module {
    /// Returns whether any of its directives is carried out. The others of such a module are listed to be refused with
    /// a reason.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let is_refused = |directive: &Directive| matches!(directive.action, Action::Refused(_));
        self.directives.is_empty() || !self.directives.iter().all(is_refused)
    }
}

/// A directive.
#[derive(Debug)]
pub struct Directive {
    /// Apache's spelling; looked up without regard to case. Sections without their brackets.
    pub name: &'static str,
    /// The number of arguments.
    pub arity: Arity,
    /// The accepted form of the arguments, for errors and documentation: `On|Off`.
    pub form: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// The contexts that allow it.
    pub contexts: Contexts,
    /// The AllowOverride class that permits it in .htaccess.
    pub overrides: Overrides,
    /// Its action.
    pub action: Action,
    /// The effect of leaving it out; `None`: the module's.
    pub effect: Option<Effect>,
}

/// The effect of leaving a line out. A block for a module that is not there may be left out only if that is harmless
/// for all of its lines.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// Access to content. Unknown directives count as such.
    Guards,
    /// The assignment of files to a program: their source could be sent instead.
    HandsOver,
    /// Neither.
    Harmless,
    /// Harmless with these arguments, else it guards.
    HarmlessIf(fn(&[String]) -> bool),
    /// Harmless with these arguments, else it hands files to a program.
    HandsOverUnless(fn(&[String]) -> bool),
    /// A section that does nothing by itself: what its lines do.
    AsItsLines,
}

/// The action of a directive.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Sets something. An `Err` is the sentence of the error, without the directive's name.
    Set(fn(&mut Command<'_>, &Args) -> Result<(), String>),
    /// A section; the function decides what happens to its contents (mostly [`Command::run`]).
    Section(fn(&mut Command<'_>, &Args, &[Node]) -> Result<(), String>),
    /// Known, not implemented, harmless: a warning with this reason, once.
    Ignored(&'static str),
    /// Known, not implemented, and could change who may see what: an error with this reason.
    Refused(&'static str),
    /// The same, unless its only argument is this word, which turns the thing off.
    RefusedUnless(&'static str, &'static str),
    /// Settled while reading (Include, IfModule): never in a tree.
    Read,
}

impl Directive {
    /// A directive for the server and its virtual hosts (`RSRC_CONF`); other places by [`Directive::allowed`].
    #[must_use]
    pub const fn new(
        name: &'static str,
        arity: Arity,
        form: &'static str,
        doc: &'static str,
        set: fn(&mut Command<'_>, &Args) -> Result<(), String>,
    ) -> Self {
        let action = Action::Set(set);
        let (contexts, overrides, effect) = (Contexts::SERVER, Overrides::NONE, None);
        Self { name, arity, form, doc, contexts, overrides, action, effect }
    }

    /// A section.
    #[must_use]
    pub const fn section(
        name: &'static str,
        form: &'static str,
        doc: &'static str,
        open: fn(&mut Command<'_>, &Args, &[Node]) -> Result<(), String>,
    ) -> Self {
        let action = Action::Section(open);
        let (arity, contexts, overrides) = (Arity::RawArgs, Contexts::SERVER, Overrides::NONE);
        Self { name, arity, form, doc, contexts, overrides, action, effect: None }
    }

    /// One that is known, not implemented, and could change who may see what.
    #[must_use]
    pub const fn refused(name: &'static str, doc: &'static str, why: &'static str) -> Self {
        let directive = Self::new(name, Arity::RawArgs, "", doc, |_, _| Ok(()));
        Self { action: Action::Refused(why), ..directive }
    }

    /// Returns whether it does something; else it is only known by name.
    #[must_use]
    pub const fn is_carried_out(&self) -> bool {
        matches!(self.action, Action::Set(_) | Action::Section(_) | Action::Read)
    }

    /// The accepted form, name included; empty for what is not implemented.
    #[must_use]
    pub fn full_form(&self) -> String {
        match self.action {
            Action::Ignored(_) | Action::Refused(_) | Action::RefusedUnless(..) => String::new(),
            _ if self.form.starts_with('<') => self.form.to_owned(),
            _ => format!("{} {}", self.name, self.form).trim_end().to_owned(),
        }
    }

    /// States what leaving it out would change, where that is not what its module says.
    #[must_use]
    pub const fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = Some(effect);
        self
    }

    /// States where it may stand and which override class it belongs to.
    #[must_use]
    pub const fn allowed(mut self, contexts: Contexts, overrides: Overrides) -> Self {
        self.contexts = contexts;
        self.overrides = overrides;
        self
    }
}

/// The arguments of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// None.
    NoArgs,
    /// One.
    Take1,
    /// Two.
    Take2,
    /// Three.
    Take3,
    /// One or two.
    Take12,
    /// One or three.
    Take13,
    /// Two or three.
    Take23,
    /// One, two or three.
    Take123,
    /// Any number; the function sees them all.
    TakeArgv,
    /// One or more; the function is called for each.
    Iterate,
    /// Two or more; the function is called with the first and each of the others.
    Iterate2,
    /// `On` or `Off`.
    Flag,
    /// The rest of the line as it is.
    RawArgs,
}

/// The contexts that allow a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contexts(u8);

impl Contexts {
    /// Outside of sections, main server only.
    pub const GLOBAL: Self = Self(1);
    /// Outside of sections, and in `<VirtualHost>`.
    pub const SERVER: Self = Self(1 | 2);
    /// In `<Directory>`, `<Files>`, `<Location>`, `<If>`.
    pub const DIRECTORY: Self = Self(4);
    /// In `<Directory>` and the like and in .htaccess: `OR_AUTHCFG`, `OR_LIMIT`.
    pub const DIR_HTACCESS: Self = Self(4 | 8);
    /// Everywhere but .htaccess.
    pub const CONFIG: Self = Self(1 | 2 | 4);
    /// Everywhere: `OR_FILEINFO`, `OR_INDEXES`, `OR_OPTIONS`, `OR_ALL`.
    pub const ANYWHERE: Self = Self(1 | 2 | 4 | 8);

    /// The places of these bits.
    pub(crate) const fn of(bits: u8) -> Self {
        Self(bits)
    }

    pub(crate) const MAIN_BIT: u8 = 1;
    pub(crate) const VHOST_BIT: u8 = 2;
    pub(crate) const DIR_BIT: u8 = 4;
    pub(crate) const HTACCESS_BIT: u8 = 8;

    /// Returns whether .htaccess is among the places.
    #[must_use]
    pub const fn in_htaccess(self) -> bool {
        self.has(Self::HTACCESS_BIT)
    }

    pub(crate) const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

/// Override classes (AllowOverride).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides(u8);

impl Overrides {
    /// Not in .htaccess.
    pub const NONE: Self = Self(0);
    /// `AuthConfig`
    pub const AUTH_CONFIG: Self = Self(1);
    /// `FileInfo`
    pub const FILE_INFO: Self = Self(2);
    /// `Indexes`
    pub const INDEXES: Self = Self(4);
    /// `Limit`
    pub const LIMIT: Self = Self(8);
    /// `Options`
    pub const OPTIONS: Self = Self(16);
    /// For a directive: either class permits it.
    pub const AUTH_CONFIG_OR_LIMIT: Self = Self(1 | 8);
    /// For a directive: any class permits it.
    pub const ALL: Self = Self(31);

    /// Returns whether the two have a class in common.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The names, as AllowOverride writes them.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            (Self::AUTH_CONFIG, "AuthConfig"),
            (Self::FILE_INFO, "FileInfo"),
            (Self::INDEXES, "Indexes"),
            (Self::LIMIT, "Limit"),
            (Self::OPTIONS, "Options"),
        ];
        all.into_iter().filter(|(class, _)| self.intersects(*class)).map(|(_, name)| name).collect()
    }
}

impl BitOr for Overrides {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The arguments of a directive, unquoted.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// The words; for [`Arity::Iterate`] one, for [`Arity::Iterate2`] two.
    pub words: Vec<String>,
    /// The rest of the line as it was written.
    pub raw: String,
}

impl Args {
    /// The first word, or the empty text.
    #[must_use]
    pub fn first(&self) -> &str {
        self.word(0).unwrap_or("")
    }

    /// A word by position from 0.
    #[must_use]
    pub fn word(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(String::as_str)
    }

    /// The first word of an [`Arity::Flag`]: whether it is `On`. The table has checked that it is `On` or `Off`.
    #[must_use]
    pub fn flag(&self) -> bool {
        self.first().eq_ignore_ascii_case("on")
    }
}
