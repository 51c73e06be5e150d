//! The directives of PSGI programs: `SetHandler psgi` says that a program answers, `PSGIApp` which one, and
//! `PSGIPreload` when it is loaded.

use hostler_config::{
    Arity, Contexts, Directive, Effect, Kind, Merge, Module, Origin, Overrides, Slot, unset_part,
};

/// The module. Apache has no such one; the name `PSGIApp` is Plack::Handler::Apache2's idea of `psgi_app`,
/// `PSGIPreload` Starman's of `--preload-app`.
pub static MODULE: Module =
    Module { name: "psgi_module", file: "mod_psgi.c", directives: DIRECTIVES, effect: Effect::HandsOver };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "PSGIApp",
        Arity::Take1,
        "file",
        "Set the PSGI application for requests with the handler psgi; relative to ServerRoot",
        |command, args| {
            if args.first().is_empty() {
                return Err("needs the name of a file".to_owned());
            }
            let place = command.place.filter(|place| place.kind == Kind::Location);
            let location = place.map(|place| match place.regex {
                Some(_) => format!("~{}", place.path).into(),
                None => place.path.clone(),
            });
            let app: Box<str> = command.server_path(args.first()).into();
            if !command.is_htaccess() {
                command.server.part_mut(&SERVER).apps.push(App { file: app.clone(), origin: command.origin });
            }
            *command.dir.part_mut(&DIR) = Dir { app: Some(app), location };
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "PSGIPreload",
        Arity::Flag,
        "On|Off",
        "Load the applications of PSGIApp once, before workers are forked, so that workers share their \
            memory; they must not keep what processes cannot share, such as open handles or database \
            connections (default Off: each worker loads an application with its first request)",
        |command, args| {
            command.server.part_mut(&SERVER).preload = Some(args.flag());
            Ok(())
        },
    ),
];

/// The slot of [`Dir`].
pub static DIR: Slot<Dir> = Slot::new();

/// The slot of [`Server`].
pub static SERVER: Slot<Server> = Slot::new();

/// A directory's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dir {
    /// `PSGIApp`, absolute.
    pub app: Option<Box<str>>,
    /// The path of the `<Location>` that names it: where the application is mounted (`SCRIPT_NAME`); of a
    /// `<LocationMatch>` its expression, behind a tilde.
    pub location: Option<Box<str>>,
}

impl Merge for Dir {
    fn merge(&self, over_: &Self) -> Self {
        if over_.app.is_some() { over_.clone() } else { self.clone() }
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// `PSGIPreload`.
    pub preload: Option<bool>,
    /// All that `PSGIApp` names outside of .htaccess, with the main server's first.
    pub apps: Vec<App>,
}

/// A program's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// Its path, absolute.
    pub file: Box<str>,
    /// The directive that names it.
    pub origin: Origin,
}

impl Server {
    /// The programs to load before workers are forked.
    #[must_use]
    pub fn preloaded(&self) -> &[App] {
        if self.preload == Some(true) { &self.apps } else { &[] }
    }
}

impl Merge for Server {
    fn merge(&self, over: &Self) -> Self {
        Self { preload: over.preload.or(self.preload), apps: [&self.apps[..], &over.apps[..]].concat() }
    }

    unset_part!(Server);
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_config::{Config, read_text};

    #[test]
    fn an_application_is_mounted_where_it_is_named() {
        let text = "<Location /a>\nPSGIApp x.psgi\n</Location>\n<Location /a/b>\nPerlSetVar name value\n</Location>\n\
                    <LocationMatch ^/c>\nPSGIApp /y.psgi\n</LocationMatch>";
        crate::tests::install();
        let config = Config::build(&read_text(text, "/srv").unwrap()).unwrap();
        let [outer, inner, matched] = [0, 1, 2].map(|n| config.main().locations[n].conf.part(&DIR).clone());
        let named = Dir { app: Some("/srv/x.psgi".into()), location: Some("/a".into()) };
        assert_eq!((&outer, &outer.merge(&inner)), (&named, &named));
        assert_eq!(outer.merge(&matched), Dir { app: Some("/y.psgi".into()), location: Some("~^/c".into()) });
    }
}
