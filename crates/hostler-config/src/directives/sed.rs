//! Directives of mod_sed: a script in sed's language for the filter SED. The bodies are the front's.
//!
//! ```text
//! script    the language, as it is written
//! pattern   its regular expressions, of their own kind: neither POSIX's nor PCRE's to the last point
//! editor    a text on its way through a script
//! ```

mod editor;
mod pattern;
mod script;

pub use editor::{Editor, Failed, LONGEST};
pub use script::Script;

use crate::{Args, Arity, Contexts, Directive, Effect, Merge, Module, Overrides, unset_part};
use std::sync::Arc;

/// The module.
pub static MODULE: Module =
    Module { name: "sed_module", file: "mod_sed.c", directives: DIRECTIVES, effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "OutputSed",
        Arity::Take1,
        "script",
        "Set a sed command for the filter Sed on responses",
        |command, args| add(&mut command.dir.sed.output, args),
    )
    .allowed(Contexts::DIRECTORY, Overrides::NONE),
    Directive::new(
        "InputSed",
        Arity::Take1,
        "script",
        "Set a sed command for the filter Sed on request bodies",
        |command, args| add(&mut command.dir.sed.input, args),
    )
    .allowed(Contexts::DIRECTORY, Overrides::NONE),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// OutputSed, its lines one after the other.
    pub output: Option<Arc<Script>>,
    /// InputSed
    pub input: Option<Arc<Script>>,
}

/// Quirk(apache): whoever has a script of one kind inherits none of the other.
impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        if other.output.is_some() || other.input.is_some() { other.clone() } else { self.clone() }
    }

    unset_part!(Dir);
}

/// The module has nothing per server.
pub type Server = ();

fn add(script: &mut Option<Arc<Script>>, args: &Args) -> Result<(), String> {
    let script = Arc::make_mut(script.get_or_insert_default());
    script.add(args.first().as_bytes()).map_err(|why| format!("the sed script cannot be compiled: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(lines: &str) -> Result<Dir, String> {
        let text = format!("<Location /x>\n{lines}\n</Location>");
        let config = crate::Config::build(&crate::read_text(&text, "/etc").unwrap());
        config.map(|config| Dir::clone(&config.main().locations[0].conf.sed)).map_err(|e| e[0].to_string())
    }

    #[test]
    fn lines_of_a_section_are_one_script() {
        let found = dir("OutputSed /a/{\nOutputSed s/b/c/\nOutputSed }\nInputSed s/x/y/").unwrap();
        assert!(found.output.unwrap().is_complete().is_ok());
        assert!(found.input.is_some());
        assert!(dir("OutputSed nonsense").unwrap_err().contains("cannot be compiled"));
    }

    #[test]
    fn a_script_stands_for_both() {
        let outer = dir("OutputSed s/a/b/\nInputSed s/a/b/").unwrap();
        let merged = outer.merge(&dir("InputSed s/x/y/").unwrap());
        assert!(merged.output.is_none() && merged.input.is_some());
        assert!(outer.merge(&Dir::default()).output.is_some());
    }
}
