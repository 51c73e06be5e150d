//! Directives of mod_dir: what a request for a directory gets, and for a path that is nothing.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};

/// The module.
pub static MODULE: Module =
    Module { name: "dir_module", file: "mod_dir.c", directives: DIRECTIVES, effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "DirectoryIndex",
        Arity::TakeArgv,
        "disabled | local-URL ...",
        "Set the index files of a directory; the first one that exists is served",
        directory_index,
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "DirectoryIndexRedirect",
        Arity::Take1,
        "On|Off|permanent|temp|seeother|3xx",
        "Redirect to the index file of a directory instead of serving it internally",
        directory_index_redirect,
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "DirectorySlash",
        Arity::Flag,
        "On|Off",
        "Redirect a directory URL without a trailing slash to the URL with one",
        |command, args| {
            command.dir.dir.slash = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "DirectoryCheckHandler",
        Arity::Flag,
        "On|Off",
        "Skip directories that have another handler (default Off; On in sections where ASGIApp or PSGIApp \
            answers all URLs)",
        |command, args| {
            command.dir.dir.check_handler = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "FallbackResource",
        Arity::Take1,
        "disabled | local-URL",
        "Set the resource that handles URLs which match no file",
        |command, args| {
            command.dir.dir.fallback = Some(match args.first() {
                word if word.eq_ignore_ascii_case("disabled") => None,
                url => Some(url.into()),
            });
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// DirectoryIndex; empty: disabled. Several lines in one place add up.
    pub index: Option<Vec<Box<str>>>,
    /// DirectoryIndexRedirect: the status to redirect with, or `None` for Off.
    pub index_redirect: Option<Option<u16>>,
    /// DirectorySlash.
    pub slash: Option<bool>,
    /// DirectoryCheckHandler.
    pub check_handler: Option<bool>,
    /// FallbackResource, `None` inside: disabled.
    pub fallback: Option<Option<Box<str>>>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            index: over(&self.index, &other.index),
            index_redirect: over(&self.index_redirect, &other.index_redirect),
            slash: over(&self.slash, &other.slash),
            check_handler: over(&self.check_handler, &other.check_handler),
            fallback: over(&self.fallback, &other.fallback),
        }
    }

    unset_part!(Dir);
}

impl Dir {
    /// The index files to try, in order; `index.html` when nothing is set.
    pub fn index_files(&self) -> impl Iterator<Item = &str> {
        let usual = if self.index.is_none() { &["index.html"][..] } else { &[] };
        let given = self.index.iter().flatten().map(AsRef::as_ref);
        usual.iter().copied().chain(given)
    }

    /// The status with which to redirect to an index file, if it is not to be served in place.
    #[must_use]
    pub fn index_redirect_status(&self) -> Option<u16> {
        self.index_redirect.flatten()
    }

    /// Returns whether a directory's URL without its slash is redirected.
    #[must_use]
    pub fn redirects_to_slash(&self) -> bool {
        self.slash != Some(false)
    }

    /// Returns whether a directory that has a handler of its own is left to it; nothing: that is not said.
    #[must_use]
    pub fn leaves_handled(&self) -> Option<bool> {
        self.check_handler
    }

    /// The local URL that serves what is no file.
    #[must_use]
    pub fn fallback_resource(&self) -> Option<&str> {
        self.fallback.as_ref()?.as_deref()
    }
}

/// mod_dir has nothing per server.
pub type Server = ();

fn directory_index(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let dir = &mut command.dir.dir;
    match &args.words[..] {
        [] => return Err("takes at least one argument".into()),
        [word] if word.eq_ignore_ascii_case("disabled") => dir.index = Some(Vec::new()),
        words => dir.index.get_or_insert_default().extend(words.iter().map(|word| word.as_str().into())),
    }
    Ok(())
}

fn directory_index_redirect(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let named = [
        ("on", Some(302)),
        ("off", None),
        ("temp", Some(302)),
        ("seeother", Some(303)),
        ("permanent", Some(301)),
    ];
    let word = args.first();
    let known = named.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, status)| *status);
    let number = || word.parse().ok().filter(|status| (300..400).contains(status)).map(Some);
    let status = known.or_else(number).ok_or_else(|| format!("\"{word}\" is not a redirect"))?;
    command.dir.dir.index_redirect = Some(status);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ConfigError};

    /// Merges the settings of nested sections.
    fn merged(levels: &[&str]) -> Result<Dir, Vec<ConfigError>> {
        let (mut text, mut path) = (String::new(), String::new());
        for lines in levels {
            path.push_str("/x");
            text.push_str(&format!("<Directory {path}>\n{lines}\n</Directory>\n"));
        }
        let config = Config::build(&crate::read_text(&text, "/")?)?;
        Ok(config.main().directories.iter().fold(Dir::default(), |dir, section| dir.merge(&section.conf.dir)))
    }

    #[test]
    fn index_files() {
        for (levels, expected) in [
            (&[""][..], "index.html"),
            (&["DirectoryIndex a b\nDirectoryIndex /c?d"], "a b /c?d"),
            (&["DirectoryIndex a", "DirectoryIndex b"], "b"),
            (&["DirectoryIndex a", "DirectoryIndex disabled"], ""),
            (&["DirectoryIndex a disabled"], "a disabled"),
            (&["DirectoryIndex a\nDirectoryIndex disabled\nDirectoryIndex b"], "b"),
        ] {
            let dir = merged(levels).unwrap();
            assert_eq!(dir.index_files().collect::<Vec<_>>().join(" "), expected, "{levels:?}");
        }
    }

    #[test]
    fn the_others() {
        let dir = merged(&[
            "FallbackResource /x\nDirectorySlash Off\nDirectoryIndexRedirect On",
            "DirectoryCheckHandler On",
        ])
        .unwrap();
        assert_eq!((dir.fallback_resource(), dir.index_redirect_status()), (Some("/x"), Some(302)));
        assert!(!dir.redirects_to_slash() && dir.leaves_handled() == Some(true));
        let dir = merged(&["FallbackResource /x\nDirectoryIndexRedirect 307", "FallbackResource disabled"])
            .unwrap();
        assert_eq!((dir.fallback_resource(), dir.index_redirect_status()), (None, Some(307)));
        assert!(merged(&["DirectoryIndexRedirect 200"]).is_err() && merged(&["DirectoryIndex"]).is_err());
    }
}
