//! LoadModule, and the table of directives that are settled while reading.
//!
//! What is built in needs no loading. A module that Hostler does not have is told about: modules of a stock
//! Apache in one warning, because what they could protect is refused directive by directive, and where it stands in a
//! block that depends on them, by `lacking`; others are an error when their name says that they guard something.

use super::expand::Reader;
use crate::directives::{self, known};
use crate::lexer::words;
use crate::table::{Action, Directive, Effect, Module, Overrides};
use crate::{Arity, Contexts, Foreign, Origin};

/// Words in the name of a module that may decide who sees what.
const GUARDS: &[&str] = &[
    "auth",
    "access",
    "security",
    "evasive",
    "qos",
    "limit",
    "geoip",
    "maxmind",
    "shib",
    "mellon",
    "kerb",
    "gssapi",
    "nss",
    "jk",
    "cas",
    "saml",
    "oidc",
    "openid",
    "perl",
    "python",
    "lua",
    "php",
    "suphp",
    "ruid",
    "peruser",
    "chroot",
    "rpaf",
    "cloudflare",
    "realip",
    "firewall",
    "antiloris",
    "bw",
    "vhost",
    "rewrite",
    "proxy",
    "crowd",
    "pagespeed",
];

/// A directive that is carried out while reading.
const fn read(name: &'static str, form: &'static str, doc: &'static str) -> Directive {
    Directive {
        name,
        arity: Arity::RawArgs,
        form,
        doc,
        contexts: Contexts::CONFIG,
        overrides: Overrides::NONE,
        action: Action::Read,
        effect: None,
    }
}

/// One that .htaccess files may contain too.
const fn everywhere(directive: Directive) -> Directive {
    directive.allowed(Contexts::ANYWHERE, Overrides::ALL)
}

/// The directives that are settled while reading.
pub(crate) static MODULE: Module = Module {
    name: "core_module",
    file: "core.c",
    directives: &[
        read("Include", "file|directory|pattern", "Reads other files"),
        read("IncludeOptional", "file|directory|pattern", "Reads other files, if there are any"),
        read("Define", "name [value]", "Makes a variable"),
        read("UnDefine", "name", "Removes a variable"),
        read("LoadModule", "name file", "Without effect: what Hostler has is built in"),
        read("ServerRoot", "directory", "Where relative paths begin"),
        everywhere(read("IfModule", "<IfModule [!]module>", "Lines for when a module is there")),
        everywhere(read("IfDefine", "<IfDefine [!]name>", "Lines for when a variable is defined")),
        everywhere(read(
            "IfVersion",
            "<IfVersion [[!]operator] version>",
            "Lines for some versions of Apache",
        )),
        everywhere(read("IfDirective", "<IfDirective [!]name>", "Lines for when a directive is there")),
        everywhere(read("IfSection", "<IfSection [!]name>", "Lines for when a section is there")),
        read("IfFile", "<IfFile [!]file>", "Lines for when a file is there"),
        everywhere(read("Macro", "<Macro name [parameter ...]>", "Lines to be used often")),
        everywhere(read("Use", "macro [value ...]", "The lines of a macro")),
        everywhere(read("UndefMacro", "macro", "Removes a macro")),
        everywhere(read("MacroIgnoreEmptyArgs", "", "Without effect")),
        everywhere(read("MacroIgnoreBadNesting", "", "Without effect")),
        everywhere(read("Error", "text", "Stops with a text")),
        everywhere(read("Warning", "text", "Warns with a text")),
    ],
    effect: Effect::Guards,
};

/// Whether a name is one of these directives.
pub(super) fn is_read(name: &str) -> bool {
    MODULE.directives.iter().any(|directive| directive.name.eq_ignore_ascii_case(name))
}

/// Whether .htaccess files may contain it.
pub(super) fn is_read_in_htaccess(name: &str) -> bool {
    let mut directives = MODULE.directives.iter();
    directives.any(|directive| directive.name.eq_ignore_ascii_case(name) && directive.contexts.in_htaccess())
}

/// Whether a module is there, by either of its names: `alias_module` or `mod_alias.c`.
pub(super) fn is_built_in(name: &str) -> bool {
    let mut names = directives::all_modules().map(|module| (module.name, module.file));
    names.any(|(module, file)| module == name || file == name)
        || directives::MORE_NAMES.iter().any(|(module, file)| *module == name || *file == name)
}

/// Keeps both names of a module that is not there: blocks may depend on it. A module from elsewhere is mostly called
/// like its file: `modules/mod_x.so` is made of `mod_x.c`.
fn note_missing(reader: &mut Reader, name: &str, file: &str) {
    let source = known::source_of(name).map(str::to_owned).or_else(|| {
        let file = file.rsplit('/').next().unwrap_or_default();
        Some(format!("{}.c", file.strip_suffix(".so")?))
    });
    reader.facts.missing_modules.extend(source.into_iter().chain([name.to_owned()]));
}

/// `LoadModule name file`
pub(super) fn load(reader: &mut Reader, at: Origin, args: &str) -> Result<(), String> {
    let words = words(args);
    let [name, file] = &words[..] else { return Err(format!("takes two arguments, not {}", words.len())) };
    reader.note_module(name);
    if is_built_in(name) {
        return Ok(());
    }
    note_missing(reader, name, file);
    if known::is_superseded(name) {
        return Ok(());
    }
    if known::is_stock_module(name) {
        reader.missing_modules.push((at, name.clone()));
        return Ok(());
    }
    reader.facts.foreign.push(Foreign { name: name.clone(), origin: at });
    let lower = name.to_ascii_lowercase();
    if GUARDS.iter().any(|word| lower.contains(word)) {
        return Err(format!("Hostler does not have {name}, and it may decide who sees what"));
    }
    reader.warn(at, format!("Hostler does not have {name}; its directives will be unknown"));
    Ok(())
}
