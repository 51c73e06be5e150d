//! LoadModule, and which names are of directives that are settled while reading.
//!
//! A built-in module needs no loading. Modules that Hostler does not have are reported: those of a stock
//! Apache in one warning, because what they could protect is refused directive by directive, and where it stands in a
//! block that depends on them, by `lacking`; others are an error when their name says that they guard something.

use super::expand::Reader;
use crate::directives::reading::MODULE;
use crate::lexer::words;
use crate::modules::{self, known};
use crate::{Foreign, Module, Origin, technique};

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

/// Returns whether a name is one of these directives.
pub(super) fn is_read(name: &str) -> bool {
    MODULE.directives.iter().any(|directive| directive.name.eq_ignore_ascii_case(name))
}

/// Returns whether .htaccess files may contain it.
pub(super) fn is_read_in_htaccess(name: &str) -> bool {
    let mut directives = MODULE.directives.iter();
    directives.any(|directive| directive.name.eq_ignore_ascii_case(name) && directive.contexts.in_htaccess())
}

/// Returns whether a module is there, by either of its names: `alias_module` or `mod_alias.c`.
pub(super) fn is_built_in(name: &str) -> bool {
    let there = modules::all_modules().filter(|module| module.is_there());
    let mut names = there.map(|module| (module.name, module.file));
    names.any(|(module, file)| module == name || file == name)
        || modules::MORE_NAMES.iter().any(|(module, file)| *module == name || *file == name)
}

/// Returns whether a module is there for `<IfModule>`, by either of its names.
pub(super) fn is_there(reader: &Reader, name: &str) -> bool {
    match modules::WHERE_LOADED.iter().find(|(module, file)| *module == name || *file == name) {
        Some((module, _)) => reader.facts.loaded_modules.contains(*module),
        None => is_built_in(name),
    }
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

/// The module that is there where a name is of one for another version of the same: Apache with the module of today lacks
/// that, too.
fn todays(name: &str) -> Option<&'static Module> {
    let mut rows = technique::all().iter().filter(|row| (row.is_there)());
    let row = rows.find(|row| (row.is_other_version)(name) && !is_built_in(name))?;
    row.modules.first().copied()
}

/// Returns whether a name is that of a module for a version that Hostler's is not, while one is there.
pub(super) fn is_of_other_version(name: &str) -> bool {
    todays(name).is_some()
}

/// Why a module for another version is not loaded.
fn other_version(name: &str) -> Option<String> {
    let Module { name: module, file, .. } = todays(name)?;
    Some(format!(
        "Hostler does not have {name}, but {module}, the module for today's versions. Write LoadModule {module}, and \
         <IfModule {file}> around what was meant for {name}"
    ))
}

/// `LoadModule name file`
pub(super) fn load(reader: &mut Reader, at: Origin, args: &str) -> Result<(), String> {
    let words = words(args);
    let [name, file] = &words[..] else { return Err(format!("takes two arguments, not {}", words.len())) };
    reader.note_module(name);
    if is_built_in(name) {
        reader.facts.loaded_modules.insert(name.clone());
        return Ok(());
    }
    note_missing(reader, name, file);
    if known::is_superseded(name) {
        return Ok(());
    }
    // The directives of some are refused one by one, with what to write instead.
    let is_refused = modules::all_modules().any(|module| module.name == name);
    if known::is_stock_module(name) || is_refused {
        reader.missing_modules.push((at, name.clone()));
        return Ok(());
    }
    if let Some(why) = other_version(name) {
        return Err(why);
    }
    reader.facts.foreign.push(Foreign { name: name.clone(), origin: at });
    let lower = name.to_ascii_lowercase();
    if GUARDS.iter().any(|word| lower.contains(word)) {
        return Err(format!("Hostler does not support {name}, which may control access"));
    }
    reader.warn(at, format!("Hostler does not support {name}; its directives will be unknown"));
    Ok(())
}
