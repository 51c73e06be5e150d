//! Directives of mod_env: variables that programs find in their environment whatever the request.

use crate::directives::jk;
use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, unset_part};

/// The module.
pub static MODULE: Module =
    Module { name: "env_module", file: "mod_env.c", directives: DIRECTIVES, effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "SetEnv",
        Arity::Take12,
        "variable [value]",
        "Set an environment variable for programs",
        |command, args| {
            command.dir.env.set(args.first(), args.word(1).unwrap_or_default());
            if args.first() == jk::INDICATOR && !command.is_htaccess() {
                command.dir.reach.name(&format!("jk:{}", args.word(1).unwrap_or_default()));
            }
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "PassEnv",
        Arity::Iterate,
        "variable ...",
        "Pass a variable from the server's environment to programs; .htaccess files may pass only variables \
            that the configuration lists for their virtual host",
        pass_env,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "UnsetEnv",
        Arity::Iterate,
        "variable ...",
        "Remove an environment variable from programs",
        |command, args| {
            command.dir.env.unset(args.first());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
];

/// A directory's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dir {
    variables: Vec<(Box<str>, Box<str>)>,
    /// Variables from further out that do not count here.
    removed: Vec<Box<str>>,
}

impl Merge for Dir {
    /// Merges by removing the variables that this section unsets, then adding those that it sets.
    fn merge(&self, over: &Self) -> Self {
        let mut merged = self.clone();
        for name in &over.removed {
            merged.unset(name);
        }
        for (name, value) in &over.variables {
            merged.set(name, value);
        }
        merged
    }

    unset_part!(Dir);
}

/// mod_env has nothing per server.
pub type Server = ();

impl Dir {
    /// The variables, in the order in which they were first set. They overrule what SetEnvIf has set; names do
    /// not depend on case.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (&**name, &**value))
    }

    fn set(&mut self, name: &str, value: &str) {
        match self.variables.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, known)) => *known = value.into(),
            None => self.variables.push((name.into(), value.into())),
        }
    }

    fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.removed.push(name.into());
    }
}

fn pass_env(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let name = args.first();
    match command.environment(name) {
        Some(value) => command.dir.env.set(name, &value),
        None => command.warn(format!("PassEnv: the variable {name} is not set")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(set: &[(&str, &str)], unset: &[&str]) -> Dir {
        let mut dir = Dir::default();
        for (name, value) in set {
            dir.set(name, value);
        }
        for name in unset {
            dir.unset(name);
        }
        dir
    }

    #[test]
    fn sections_add_and_take_away() {
        let outer = dir(&[("A", "1"), ("B", "2")], &[]);
        let inner = dir(&[("b", "3"), ("C", "4")], &["a"]);
        let merged = outer.merge(&inner);
        assert_eq!(merged.variables().collect::<Vec<_>>(), [("B", "3"), ("C", "4")]);
    }

    #[test]
    fn unset_before_set_in_one_section() {
        let mut inner = dir(&[], &["A"]);
        inner.set("A", "new");
        assert_eq!(dir(&[("A", "old")], &[]).merge(&inner).variables().collect::<Vec<_>>(), [("A", "new")]);
    }

    #[test]
    fn the_environment_is_that_of_the_reader() {
        let tree = crate::read_text("PassEnv PATH NOT_THERE_AT_ALL", "/etc/apache2").unwrap();
        let tree = crate::Tree::decode(&tree.encode().unwrap()).unwrap();
        let config = crate::Config::build(&tree).unwrap();
        let names: Vec<_> = config.main().defaults.env.variables().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["PATH"]);
        assert!(config.warnings.iter().any(|warning| warning.message.contains("NOT_THERE_AT_ALL")));
    }
}
