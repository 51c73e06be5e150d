//! Directives of mod_perl: what a virtual host loads, which functions have a say in which phase, and what programs
//! may ask (`dir_config`).
//!
//! Nothing is run here: handlers are names, preloads are a list, and `<Perl>` sections are kept as text for the
//! warm parent of the site.

pub(crate) mod declared;
mod generation;
mod handlers;
mod load;
mod options;
pub(crate) mod providers;
mod section;
mod vars;

pub use declared::{Layer, layers_text};
pub use generation::{Marks, generation};
pub(crate) use generation::{of_class, of_directive};
pub use handlers::Handlers;
pub use load::Preload;
pub use options::{DirOptions, HostOptions};
pub(crate) use section::builds_configuration;
pub use vars::Vars;

use crate::{Command, Effect, Inside, Kind, Merge, Module, Place, unset_part};

/// The module. mod_perl also answers to its name of the first generation.
pub static MODULE: Module = Module {
    name: "perl_module",
    file: "mod_perl.c",
    directives: handlers::DIRECTIVES,
    effect: Effect::Guards,
};

/// The directives that load code.
pub static LOADING: Module =
    Module { name: "perl_module", file: "mod_perl.c", directives: load::DIRECTIVES, effect: Effect::Guards };

/// The directives that set values for programs.
pub static TELLING: Module =
    Module { name: "perl_module", file: "mod_perl.c", directives: vars::DIRECTIVES, effect: Effect::Guards };

/// The directives for calling handlers.
pub static CALLING: Module = Module {
    name: "perl_module",
    file: "mod_perl.c",
    directives: options::DIRECTIVES,
    effect: Effect::Guards,
};

/// As a text of Perl, in quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A directory's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dir {
    /// The handlers of the phases from HeaderParser on.
    pub handlers: Handlers,
    /// `PerlSetVar`, `PerlAddVar`.
    pub vars: Vars,
    /// `PerlSetEnv`: the later of two with one name counts.
    pub env: Vec<(Box<str>, Box<str>)>,
    /// `PerlOptions`, `PerlSendHeader`, `PerlSetupEnv`.
    pub options: DirOptions,
    /// `PerlSetOutputFilter`
    pub output_filters: Option<Vec<Box<str>>>,
    /// `PerlSetInputFilter`
    pub input_filters: Option<Vec<Box<str>>>,
    /// The path of the innermost section that sets any of this, as Apache knows it (`$r->location`).
    pub location: Option<Box<str>>,
    /// The signs of the generation.
    pub marks: Marks,
    /// The settings of Perl modules' directives, from the outermost section inwards.
    pub layers: Vec<Layer>,
}

impl Dir {
    /// Notes where a directive stands.
    fn stands_in(&mut self, inside: Inside, place: Option<&Place>) {
        self.location = match place {
            _ if inside.condition => Some("*If".into()),
            Some(place) if place.kind == Kind::Directory && place.regex.is_none() => {
                Some(format!("{}/", place.path.trim_end_matches('/')).into())
            }
            Some(place) => Some(place.path.clone()),
            None => None,
        };
    }
}

/// The part to write to; where the line stands is noted.
fn dir<'a>(cmd: &'a mut Command<'_>) -> &'a mut Dir {
    let part: &mut Dir = &mut cmd.dir.perl;
    part.stands_in(cmd.inside, cmd.place);
    part
}

impl Merge for Dir {
    fn merge(&self, over: &Self) -> Self {
        let options = self.options.merge(over.options);
        Self {
            handlers: self.handlers.merge(&over.handlers, options.merges_handlers()),
            vars: self.vars.merge(&over.vars),
            env: vars::overlaid(&self.env, &over.env),
            options,
            output_filters: crate::over(&self.output_filters, &over.output_filters),
            input_filters: crate::over(&self.input_filters, &over.input_filters),
            location: over.location.as_ref().or(self.location.as_ref()).cloned(),
            marks: self.marks | over.marks,
            layers: [&self.layers[..], &over.layers[..]].concat(),
        }
    }

    unset_part!(Dir);
}

/// A virtual host's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// `PerlApiVersion`: 1 or 2; unset: see [`generation`].
    pub api_version: Option<u8>,
    /// The number of PerlRequire's files at the start of `preload`, which mod_perl runs before it loads modules.
    pub(crate) required: usize,
    /// Something of this server's was run while the configuration was read; what follows is, too, in the files' order.
    pub(crate) has_started: bool,
    /// The code to load, otherwise in the order of the files: the main server's first.
    pub preload: Vec<Preload>,
    /// `PerlSwitches`, with `-T` of `PerlTaintCheck` and `-w` of `PerlWarn`.
    pub switches: Vec<Box<str>>,
    /// PostReadRequest, Trans, MapToStorage.
    pub handlers: Handlers,
    /// `PerlChildInitHandler`
    pub child_init: Vec<Box<str>>,
    /// `PerlChildExitHandler`
    pub child_exit: Vec<Box<str>>,
    /// `PerlSetVar`, `PerlAddVar` outside of sections.
    pub vars: Vars,
    /// `PerlSetEnv`, `PerlPassEnv` outside of sections: the environment of the interpreter.
    pub env: Vec<(Box<str>, Box<str>)>,
    /// `PerlOptions` that concern the virtual host.
    pub options: HostOptions,
    /// The signs of the generation.
    pub marks: Marks,
}

impl Server {
    /// Returns whether the interpreter of `self` could not be that of `main`, its main server: it loads more, has other
    /// switches, or asks for its own. Handlers that are to be loaded beforehand are no reason, nor are directives of
    /// modules.
    #[must_use]
    pub fn differs_in_interpreter(&self, main: &Self) -> bool {
        let loads =
            |server: &Self| server.preload.iter().filter(|preload| !preload.handler && !preload.call).count();
        loads(self) != loads(main)
            || self.switches.len() != main.switches.len()
            || self.child_init.len() != main.child_init.len()
            || self.child_exit.len() != main.child_exit.len()
            || self.options.own_interpreter() && !main.options.own_interpreter()
    }
}

impl Merge for Server {
    fn merge(&self, over: &Self) -> Self {
        let options = self.options.merge(over.options);
        Self {
            api_version: over.api_version.or(self.api_version),
            required: 0,
            has_started: self.has_started || over.has_started,
            preload: [&self.preload[..], &over.preload[..]].concat(),
            switches: [&self.switches[..], &over.switches[..]].concat(),
            handlers: self.handlers.merge(&over.handlers, options.merges_handlers()),
            child_init: [&self.child_init[..], &over.child_init[..]].concat(),
            child_exit: [&self.child_exit[..], &over.child_exit[..]].concat(),
            vars: self.vars.merge(&over.vars),
            env: vars::overlaid(&self.env, &over.env),
            options,
            marks: self.marks | over.marks,
        }
    }

    unset_part!(Server);
}
