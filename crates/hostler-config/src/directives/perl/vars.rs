//! The values for programs: `PerlSetVar`, `PerlAddVar`, `PerlSetEnv`, `PerlPassEnv`.

use crate::{Args, Arity, Command, Contexts, Directive, Overrides};

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "PerlSetVar",
        Arity::Take2,
        "name value",
        "Set a variable that programs can read (dir_config)",
        set_var,
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlAddVar",
        Arity::Iterate2,
        "name value ...",
        "Add a value to a variable (dir_config->get)",
        add_var,
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlSetEnv",
        Arity::Take2,
        "name value",
        "Set an environment variable of Perl programs",
        set_env,
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlPassEnv",
        Arity::Take1,
        "name",
        "Pass an environment variable of the server to Perl programs",
        pass_env,
    ),
    dispatch("DispatchPrefix", "class", "Set the class that the Location maps to (Apache::Dispatch)"),
    dispatch(
        "DispatchLocation",
        "URL-path",
        "Set the Location to dispatch from, if the section does not set it (Apache::Dispatch)",
    ),
    dispatch(
        "DispatchExtras",
        "Pre|Post|Error ...",
        "Set which extra methods are called: before, after and on errors (Apache::Dispatch)",
    ),
    dispatch("DispatchStat", "On|Off|ISA", "Reload classes that have changed (Apache::Dispatch)"),
    dispatch("DispatchISA", "class ...", "Add base classes to dispatched classes (Apache::Dispatch)"),
    dispatch("DispatchAUTOLOAD", "On|Off", "Allow AUTOLOAD methods to respond (Apache::Dispatch)"),
    dispatch("DispatchRequire", "On|Off", "Load classes on demand (Apache::Dispatch)"),
    dispatch("DispatchUpperCase", "On|Off", "Map /foo to the class Foo (Apache::Dispatch)"),
];

/// Directives that Apache::Dispatch adds to Apache's: short for PerlSetVar with the same name.
const fn dispatch(name: &'static str, form: &'static str, doc: &'static str) -> Directive {
    let set = |cmd: &mut Command<'_>, args: &Args| {
        if args.words.is_empty() {
            return Err("needs a value".to_owned());
        }
        put_var(cmd, cmd.directive.name, &args.words.join(" "));
        Ok(())
    };
    Directive::new(name, Arity::TakeArgv, form, doc, set).allowed(Contexts::ANYWHERE, Overrides::ALL)
}

/// Names and values as `dir_config` knows them. Names do not depend on case; one name may have several values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vars {
    entries: Vec<(Box<str>, Box<str>)>,
    /// Names that replace what is inherited: those of PerlSetVar.
    replaced: Vec<Box<str>>,
}

impl Vars {
    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Returns the merged values when `over` is more specific: a name that it sets is taken from it alone, one that it
    /// only adds to keeps its values.
    #[must_use]
    pub fn merge(&self, over: &Self) -> Self {
        let mut merged = self.clone();
        for name in &over.replaced {
            merged.remove(name);
            merged.note(name);
        }
        merged.entries.extend(over.entries.iter().cloned());
        merged
    }

    fn remove(&mut self, name: &str) {
        self.entries.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    fn note(&mut self, name: &str) {
        if !self.replaced.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            self.replaced.push(name.into());
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.note(name);
        self.add(name, value);
    }

    fn add(&mut self, name: &str, value: &str) {
        self.entries.push((name.into(), value.into()));
    }
}

/// The entries of `over` in place of those with the same name.
pub(super) fn overlaid(
    base: &[(Box<str>, Box<str>)],
    over: &[(Box<str>, Box<str>)],
) -> Vec<(Box<str>, Box<str>)> {
    let mut all = base.to_vec();
    over.iter().for_each(|(name, value)| put(&mut all, name, value));
    all
}

fn put(all: &mut Vec<(Box<str>, Box<str>)>, name: &str, value: &str) {
    match all.iter_mut().find(|(known, _)| **known == *name) {
        Some((_, known)) => *known = value.into(),
        None => all.push((name.into(), value.into())),
    }
}

fn set_var(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    put_var(cmd, args.first(), args.word(1).unwrap_or_default());
    Ok(())
}

fn put_var(cmd: &mut Command<'_>, name: &str, value: &str) {
    super::dir(cmd).vars.set(name, value);
    if !cmd.inside.any() {
        cmd.server.perl.vars.set(name, value);
    }
}

fn add_var(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (name, value) = (args.first(), args.word(1).unwrap_or_default());
    super::dir(cmd).vars.add(name, value);
    if !cmd.inside.any() {
        cmd.server.perl.vars.add(name, value);
    }
    Ok(())
}

fn set_env(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (name, value) = (args.first(), args.word(1).unwrap_or_default());
    put(&mut super::dir(cmd).env, name, value);
    if !cmd.inside.any() {
        put(&mut cmd.server.perl.env, name, value);
        super::load::set_env(cmd, name, value);
    }
    Ok(())
}

fn pass_env(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    match cmd.environment(args.first()) {
        Some(value) => {
            put(&mut super::dir(cmd).env, args.first(), &value);
            put(&mut cmd.server.perl.env, args.first(), &value);
        }
        None => cmd.warn(format!("PerlPassEnv: the variable {} is not set", args.first())),
    }
    Ok(())
}
