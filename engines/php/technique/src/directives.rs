//! mod_php's directives: `php_value`, `php_flag`, their sisters of the administrator, and `PHPINIDir`; and one of ours for
//! `.user.ini` files.
//!
//! They are there where the PHP engine is ([`versions::install`](crate::versions::install)); without it they are a missing
//! module's, and what would be handed to it is refused.
//!
//! None of them guards: they configure scripts, and Apache skips a block for another version of mod_php in the same way.

use crate::parts::{DIR, SERVER, Setting};
use crate::versions::{self, broken, installed};
use hostler_config::{Args, Arity, Command, Contexts, Directive, Effect, Module, Overrides};

/// The module, under mod_php's names.
pub static MODULE: Module =
    Module { name: "php_module", file: "mod_php.c", directives: DIRECTIVES, effect: Effect::Harmless };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "php_value",
        Arity::Take2,
        "name value",
        "Set a PHP setting; \"none\" sets it to an empty value",
        |command, args| set(command, args, false, value),
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "php_flag",
        Arity::Take2,
        "name on|off",
        "Set a PHP setting to 1 or 0",
        |command, args| set(command, args, false, flag),
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "php_admin_value",
        Arity::Take2,
        "name value",
        "Set a PHP setting; neither .htaccess files nor programs can change it",
        |command, args| set(command, args, true, value),
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "php_admin_flag",
        Arity::Take2,
        "name on|off",
        "Set a PHP setting to 1 or 0; neither \
        .htaccess files nor programs can change it",
        |command, args| set(command, args, true, flag),
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "PHPINIDir",
        Arity::Take1,
        "directory|file",
        "Set the location of php.ini; only the first one counts (default: that of the system's mod_php, \
            otherwise the library's own)",
        |command, args| {
            let path = command.server_path(args.first());
            command.server.part_mut(&SERVER).ini.get_or_insert(path.into());
            Ok(())
        },
    ),
    Directive::new(
        "PHPVersion",
        Arity::Take1,
        "version",
        "Set the PHP version, such as 8.2, if several are installed (default: that of hostler-php)",
        |command, args| {
            let version = versions::chosen(installed(), broken(), args.first())?;
            command.server.part_mut(&SERVER).version = Some(version.into());
            Ok(())
        },
    ),
    Directive::new(
        "HostlerPHPUserIni",
        Arity::Flag,
        "On|Off",
        "Read .user.ini files, as php-fpm does and mod_php does not (default On)",
        |command, args| {
            command.dir.part_mut(&DIR).user_ini = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "HostlerPHPRealpath",
        Arity::Flag,
        "On|Off",
        "Pass scripts the real path of the script and of their document root, with symbolic links resolved, \
            for sites that deploy a release by switching a link (default Off)",
        |command, args| {
            command.dir.part_mut(&DIR).real_paths = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "PHPWarm",
        Arity::Iterate,
        "URL-path [URL-path] ...",
        "Run scripts below the document root once before workers are forked, so that they are already \
            compiled for the first visitors; their output is discarded",
        warm,
    ),
];

fn warm(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let path = args.first();
    let is_inside = path.starts_with('/') && !path.split('/').any(|part| part == "..");
    if !is_inside || path.contains(['?', '#']) {
        return Err(format!(
            "{path} is not the path of a script below the document root, such as /index.php"
        ));
    }
    command.server.part_mut(&SERVER).warm.push(path.into());
    Ok(())
}

fn set(command: &mut Command<'_>, args: &Args, admin: bool, read: fn(&str) -> &str) -> Result<(), String> {
    let name = args.first();
    // A folder that works under Apache goes on working: there the worker says so.
    if let Some(why) = too_late(name).filter(|_| !command.is_htaccess()) {
        // As under Apache it has no effect; here the operator hears of it.
        let directive = command.directive.name;
        command.warn(format!("{directive} {name} has no effect: it {why}"));
        return Ok(());
    }
    let value = read(args.word(1).unwrap_or_default()).into();
    let access_file = command.is_htaccess();
    command.dir.part_mut(&DIR).set(Setting { name: name.into(), value, admin, access_file });
    Ok(())
}

fn value(text: &str) -> &str {
    if text.eq_ignore_ascii_case("none") { "" } else { text }
}

fn flag(text: &str) -> &str {
    if text.eq_ignore_ascii_case("on") || text == "1" { "1" } else { "0" }
}

/// Settings that count only when PHP starts, which has no effect here.
fn too_late(name: &str) -> Option<&'static str> {
    const NAMES: [&str; 3] = ["extension", "zend_extension", "extension_dir"];
    const OF_OPCACHE: [&str; 4] = ["preload", "preload_user", "memory_consumption", "max_accelerated_files"];
    let of_opcache = name.strip_prefix("opcache.").is_some_and(|rest| OF_OPCACHE.contains(&rest));
    (of_opcache || NAMES.contains(&name))
        .then_some("is only read when PHP starts, so it belongs in php.ini (PHPINIDir)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_mod_php_reads_them() {
        assert_eq!((value("None"), value("x")), ("", "x"));
        assert_eq!((flag("ON"), flag("1"), flag("yes"), flag("off")), ("1", "1", "0", "0"));
        assert!(too_late("opcache.preload").is_some() && too_late("opcache.enable").is_none());
    }
}
