//! Directives of mod_userdir: `/~user/` leads to a directory of a user of the system. Each user's files and programs are
//! opened and run as that user: what such users may do follows from [`crate::Server::user`].

use crate::{Args, Arity, Command, Directive, Effect, Merge, Module, over, unset_part};
use std::collections::BTreeSet;

/// The module.
pub static MODULE: Module =
    Module { name: "userdir_module", file: "mod_userdir.c", directives: DIRECTIVES, effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[Directive::new(
    "UserDir",
    Arity::TakeArgv,
    "directory ... | disabled [user ...] | enabled [user ...]",
    "Set the target of /~user/: a directory in the user's home, a path with * for the user name, or a URL",
    set,
)];

/// This module has nothing per directory.
pub type Dir = ();

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// The directories, in the order in which they are looked at.
    pub patterns: Option<Vec<Box<str>>>,
    /// `UserDir disabled` or `enabled` without names.
    pub disabled: Option<bool>,
    /// `UserDir enabled` with names: those that `disabled` does not concern.
    pub enabled_users: BTreeSet<Box<str>>,
    /// `UserDir disabled` with names.
    pub disabled_users: BTreeSet<Box<str>>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self {
            patterns: over(&self.patterns, &other.patterns),
            disabled: over(&self.disabled, &other.disabled),
            // Quirk(apache): names are not inherited by a virtual host that says anything of this module.
            enabled_users: other.enabled_users.clone(),
            disabled_users: other.disabled_users.clone(),
        }
    }

    unset_part!(Server);
}

/// The target of one of the directories for a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// To another URL; the rest of the path comes behind it.
    Url(String),
    /// To a directory.
    Directory(String),
}

impl Server {
    /// The patterns, if the user may have a directory at all.
    #[must_use]
    pub fn of(&self, user: &str) -> &[Box<str>] {
        let is_no_name = matches!(user, "" | "." | "..") || user.bytes().any(|b| b == b'/' || b < b' ');
        let is_barred = self.disabled_users.contains(user)
            || (self.disabled == Some(true) && !self.enabled_users.contains(user));
        match &self.patterns {
            Some(patterns) if !is_no_name && !is_barred => patterns,
            _ => &[],
        }
    }

    /// The user of a path, and the rest of it: `/~joe/x` is joe's, and `/x`.
    #[must_use]
    pub fn user_of(path: &[u8]) -> Option<(&str, &[u8])> {
        let rest = path.strip_prefix(b"/~")?;
        let end = rest.iter().position(|b| *b == b'/').unwrap_or(rest.len());
        Some((std::str::from_utf8(&rest[..end]).ok()?, &rest[end..]))
    }
}

/// Returns the target of a pattern for a user; `None`: the user has no home.
#[must_use]
pub fn place(pattern: &str, user: &str, home: Option<&str>) -> Option<Place> {
    let is_absolute = pattern.starts_with('/');
    let Some((before, after)) = pattern.split_once('*') else {
        return Some(Place::Directory(if is_absolute {
            format!("{pattern}/{user}")
        } else {
            format!("{}/{pattern}", home?)
        }));
    };
    if before.contains(':') && !is_absolute {
        // Quirk(apache): what stands behind the name is left out, whatever its manual says.
        return Some(Place::Url(format!("{before}{user}")));
    }
    if after.is_empty() || after.starts_with('/') || is_absolute {
        return Some(Place::Directory(format!("{before}{user}{after}")));
    }
    Some(Place::Directory(format!("{}/{after}", home?)))
}

fn set(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let own = &mut *command.server.userdir;
    let names = args.words.iter().skip(1).map(|name| Box::from(name.as_str()));
    match &args.first().to_ascii_lowercase()[..] {
        "" => return Err("takes a directory, or disabled or enabled".into()),
        "disable" | "disabled" if args.words.len() == 1 => own.disabled = Some(true),
        "enable" | "enabled" if args.words.len() == 1 => own.disabled = Some(false),
        "disable" | "disabled" => own.disabled_users.extend(names),
        "enable" | "enabled" => own.enabled_users.extend(names),
        _ => {
            let climbs = |word: &String| word.split('/').any(|part| part == "..");
            if args.words.iter().any(climbs) {
                return Err("takes directories without \"..\"".into());
            }
            own.patterns = Some(args.words.iter().map(|word| word.as_str().into()).collect());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_lead_to_places() {
        let of = |pattern| place(pattern, "joe", Some("/home/joe"));
        let directory = |path: &str| Some(Place::Directory(path.to_owned()));
        assert_eq!(of("public_html"), directory("/home/joe/public_html"));
        assert_eq!(of("/usr/web"), directory("/usr/web/joe"));
        assert_eq!(of("/home/*/www"), directory("/home/joe/www"));
        assert_eq!(of("http://a.example/*/b"), Some(Place::Url("http://a.example/joe".into())));
        assert_eq!(of("http://a.example/"), directory("/home/joe/http://a.example/"));
        assert_eq!(place("public_html", "eve", None), None);
    }

    #[test]
    fn users_are_barred_by_name_and_all_together() {
        let build = |text: &str| {
            let tree = crate::read_text(text, "/etc/apache2").unwrap();
            Server::clone(&crate::Config::build(&tree).unwrap().main().conf.userdir)
        };
        let all = build("UserDir public_html\nUserDir disabled root eve");
        assert_eq!(["joe", "root", "eve", "..", ""].map(|user| all.of(user).len()), [1, 0, 0, 0, 0]);
        let some = build("UserDir disabled\nUserDir enabled joe\nUserDir public_html /web/*");
        assert_eq!(["joe", "ann"].map(|user| some.of(user).len()), [2, 0]);
        assert_eq!(build("UserDir disabled").of("joe").len(), 0);
    }

    #[test]
    fn a_path_has_its_user() {
        assert_eq!(Server::user_of(b"/~joe/x/y"), Some(("joe", &b"/x/y"[..])));
        assert_eq!(Server::user_of(b"/~joe"), Some(("joe", &b""[..])));
        assert_eq!((Server::user_of(b"/joe"), Server::user_of(b"/~\xff")), (None, None));
    }
}
