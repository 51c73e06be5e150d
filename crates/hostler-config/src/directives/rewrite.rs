//! Directives of mod_rewrite. What they mean is `hostler-rewrite`'s; here their lines become its rules, for the server
//! or for the directory that they stand in.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, unset_part};
use hostler_expr::FileAccess;
use hostler_rewrite::{Condition, Context, Options, Rule, Source, check_base};
use std::sync::Arc;

/// The module.
pub static MODULE: Module =
    Module { name: "rewrite_module", file: "mod_rewrite.c", directives: DIRECTIVES, effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[
    Directive::new("RewriteEngine", Arity::Flag, "On|Off", "Enable rewriting", engine)
        .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
        .with_effect(Effect::HarmlessIf(|words| {
            words.first().is_some_and(|word| word.eq_ignore_ascii_case("off"))
        })),
    Directive::new(
        "RewriteOptions",
        Arity::Iterate,
        "option ...",
        "Set inheritance and other options of rewriting",
        options,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
    .with_effect(Effect::Harmless),
    Directive::new("RewriteBase", Arity::Take1, "URL-path", "Set the base URL of per-directory rules", base)
        .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
        .with_effect(Effect::Harmless),
    Directive::new(
        "RewriteCond",
        Arity::RawArgs,
        "text [!]pattern [[flag,...]]",
        "Set a condition of the next RewriteRule",
        condition,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "RewriteRule",
        Arity::RawArgs,
        "[!]pattern substitution [[flag,...]]",
        "Rewrite URLs that match a regular expression",
        rule,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "RewriteMap",
        Arity::Take23,
        "name kind:source",
        "Define a lookup map for rewrite rules",
        map,
    )
    .with_effect(Effect::Harmless),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// Rules and all that belongs to them.
    pub context: Context,
    /// Conditions that wait for their rule.
    conditions: Vec<Condition>,
}

impl Merge for Dir {
    fn merge(&self, over: &Self) -> Self {
        Self { context: self.context.merge(&over.context), conditions: Vec::new() }
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Rules and all that belongs to them.
    pub context: Context,
    /// Conditions that wait for their rule.
    conditions: Vec<Condition>,
}

impl Merge for Server {
    fn merge(&self, over: &Self) -> Self {
        Self { context: self.context.merge(&over.context), conditions: Vec::new() }
    }

    unset_part!(Server);
}

/// Returns a server's rules and maps. A virtual host without any directive of the module has none, unless the main
/// server hands its own down: Apache's merge gives it what it inherits and nothing else.
#[must_use]
pub fn of_server<'a>(config: &crate::Config, server: &'a crate::Server) -> Option<&'a Context> {
    let context = &server.conf.rewrite.context;
    let main = config.main();
    let own = server.id == main.id || !server.conf.rewrite.is_same(&main.conf.rewrite);
    let down =
        [Options::INHERIT, Options::INHERIT_BEFORE, Options::INHERIT_DOWN, Options::INHERIT_DOWN_BEFORE];
    let inherits = down.into_iter().any(|option| context.has(option));
    (own || inherits).then_some(context)
}

/// Returns the rules that the lines of this place fill, and the pending conditions.
fn place<'a>(command: &'a mut Command<'_>) -> (&'a mut Context, &'a mut Vec<Condition>) {
    let directory = directory(command);
    match directory {
        Some(directory) => {
            let part = &mut *command.dir.rewrite;
            part.context.directory = Some(directory);
            (&mut part.context, &mut part.conditions)
        }
        None => {
            let part = &mut *command.server.rewrite;
            (&mut part.context, &mut part.conditions)
        }
    }
}

/// The directory whose rules these are, with a slash at its end, as Apache has it: whatever the section says.
fn directory(command: &Command<'_>) -> Option<Arc<str>> {
    let path = match command.place {
        _ if command.inside.condition => IF,
        Some(place) => &place.path,
        None => return None,
    };
    Some(if path.ends_with('/') { path.into() } else { format!("{path}/").into() })
}

/// The stand-in for a directory in conditional sections.
const IF: &str = "*If";

fn engine(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    place(command).0.engine = Some(args.flag());
    Ok(())
}

fn options(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let word = args.first();
    if word.get(..13).is_some_and(|start| start.eq_ignore_ascii_case("MaxRedirects=")) {
        command
            .warn("MaxRedirects has no effect: LimitInternalRecursion says how many redirects there may be");
        return Ok(());
    }
    let option = Options::parse(word)?;
    let (context, _) = place(command);
    context.options = Some(context.options.unwrap_or_default().with(option));
    Ok(())
}

fn base(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    if directory(command).is_none() {
        return Err("only valid in per-directory config files".into());
    }
    check_base(args.first())?;
    place(command).0.base = Some(args.first().into());
    Ok(())
}

fn condition(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let files = if command.is_htaccess() { FileAccess::TestsOnly } else { FileAccess::Full };
    let (condition, warning) = Condition::parse(&args.raw, command.regex_options(), files)?;
    if let Some(warning) = warning {
        command.warn(warning);
    }
    let condition = condition.at(command.line());
    place(command).1.push(condition);
    Ok(())
}

fn rule(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let options = command.regex_options();
    let at = command.line();
    let is_htaccess = command.is_htaccess();
    let (context, conditions) = place(command);
    let conditions = std::mem::take(conditions);
    let rule = Rule::parse(&args.raw, options, conditions, at)?;
    if rule.is_proxy() && is_htaccess {
        return Err("the flag 'P' is not supported in .htaccess files: use ProxyPass, or RewriteRule in <Directory>, in the \
                    server's configuration instead"
            .into());
    }
    context.rules.push(rule);
    Ok(())
}

fn map(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let mut source = Source::parse(args.word(1).unwrap_or_default())?;
    if let (Source::Program(_), Some(_)) = (&source, args.word(2)) {
        return Err(
            "a map's program runs as the user of its site (AssignUserID), so none can be named here".into()
        );
    }
    if let Some(path) = source.file() {
        let path = command.server_path(path);
        source = source.with_file(&path);
    }
    let maps = &mut command.server.rewrite.context.maps;
    Arc::make_mut(maps).insert(args.first().into(), source);
    Ok(())
}
