//! Directives of the peruser MPM: a user for each virtual host, from the days of Apache 2.2. They say in other words what
//! `AssignUserID` and the words for pools say. Its multiplexers are the front, which needs no words.
//!
//! A `Processor` is a user, a group and the sizes of a pool, by a name; `ServerEnvironment` gives a virtual host one, or a
//! user and a group.

use super::core::AssignUser;
use super::core::values::number;
use crate::{Action, Args, Arity, Command, Contexts, Directive, Effect, Module, Node, Overrides, words};

/// The module.
pub static MODULE: Module =
    Module { name: "peruser_module", file: "peruser.c", directives: DIRECTIVES, effect: Effect::Guards };

/// A processor: who it is, and how many processes it may have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processor {
    user: Option<String>,
    group: Option<String>,
    min_spare: Option<u32>,
    max_workers: Option<u32>,
    idle: Option<u32>,
}

/// A size of pools, outside of processors.
macro_rules! size {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Take1, "number", $doc, |command, args| {
            command.server.pool.$field = Some(number(args.first(), 1..=100_000)?);
            Ok(())
        })
        .with_effect(Effect::Harmless)
    };
}

/// A size of what Hostler does without.
const fn ignored(name: &'static str) -> Directive {
    let why = "the front replaces the multiplexers, and pools grow on demand";
    let directive = Directive::new(name, Arity::RawArgs, "", "A size of peruser's processes", |_, _| Ok(()));
    Directive { action: Action::Ignored(why), ..directive }
}

static DIRECTIVES: &[Directive] = &[
    Directive {
        arity: Arity::TakeArgv,
        ..Directive::section(
            "Processor",
            "<Processor name> | Processor user group",
            "Define a user and group for virtual hosts, and the sizes of their pools (peruser)",
            processor,
        )
        .allowed(Contexts::GLOBAL, Overrides::NONE)
    },
    Directive::new(
        "ServerEnvironment",
        Arity::TakeArgv,
        "user group | name of a Processor",
        "Set the user and group of a virtual host (peruser); the same as AssignUserID",
        server_environment,
    ),
    Directive::new(
        "Multiplexer",
        Arity::TakeArgv,
        "user group",
        "Set the user and group of peruser's multiplexers; the front has its own user (HostlerUser)",
        |_, args| no_chroot(&args.words),
    )
    .with_effect(Effect::Harmless),
    size!("MinSpareProcessors", "Set the minimum number of idle processes of a pool", min_spare),
    size!("MaxProcessors", "Set the maximum number of processes of a pool", max_workers),
    size!("ExpireTimeout", "Stop the processes of a pool after this many seconds without a request", idle),
    ignored("MinProcessors"),
    ignored("MaxSpareProcessors"),
    ignored("ProcessorWaitTimeout"),
    ignored("ProcessorWaitSteps"),
    ignored("MinMultiplexers"),
    ignored("MaxMultiplexers"),
    ignored("MultiplexerIdleTimeout"),
];

fn no_chroot(given: &[String]) -> Result<(), String> {
    match given.len() {
        2 => Ok(()),
        3 => {
            Err("a chroot directory is not supported: paths in the configuration would change their meaning"
                .into())
        }
        n => Err(format!("takes a user and a group, not {n} arguments")),
    }
}

/// User and group of a virtual host.
///
/// # Errors
/// They are not written as they can be, or are root.
pub fn assigned(user: &str, group: &str) -> Result<AssignUser, String> {
    use super::core::not_root;
    Ok(AssignUser { user: not_root(user)?, group: not_root(group)? })
}

/// `Processor user group`, or `<Processor name>`.
fn processor(command: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    let [name] = &args.words[..] else {
        no_chroot(&args.words)?;
        return assigned(args.first(), args.word(1).unwrap_or_default()).map(drop);
    };
    let mut own = Processor::default();
    for node in nodes {
        let given = words(&node.args);
        let word = given.first().map_or("", String::as_str);
        match &node.name.to_ascii_lowercase()[..] {
            "user" => own.user = Some(word.to_owned()),
            "group" => own.group = Some(word.to_owned()),
            "minspareprocessors" => own.min_spare = Some(number(word, 1..=100_000)?),
            "maxprocessors" => own.max_workers = Some(number(word, 1..=100_000)?),
            "expiretimeout" | "idletimeout" => own.idle = Some(number(word, 1..=10_000_000)?),
            "minprocessors"
            | "maxspareprocessors"
            | "processorwaittimeout"
            | "processorwaitsteps"
            | "maxrequestsperchild" => {}
            "chroot" => return no_chroot(&vec![String::new(); 3]),
            "nicelevel" | "cpuaffinity" => {
                let message = format!("{} is ignored: HostlerSiteCPU gives a site its share", node.name);
                command.warn(message);
            }
            _ => return Err(format!("{} is not supported in <Processor>", node.name)),
        }
    }
    let (Some(user), Some(group)) = (&own.user, &own.group) else {
        return Err(format!("the processor {name} needs a User and a Group"));
    };
    assigned(user, group)?;
    if command.builder.processors.insert(name.clone(), own).is_some() {
        return Err(format!("there is a processor {name} already"));
    }
    Ok(())
}

fn server_environment(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let [name] = &args.words[..] else {
        no_chroot(&args.words)?;
        let identity = assigned(args.first(), args.word(1).unwrap_or_default())?;
        command.server.core.assign_user = Some(identity);
        return Ok(());
    };
    let Some(known) = command.builder.processors.get(name).cloned() else {
        return Err(format!("no <Processor {name}> before this line"));
    };
    let (user, group) = (known.user.unwrap_or_default(), known.group.unwrap_or_default());
    command.server.core.assign_user = Some(assigned(&user, &group)?);
    let pool = &mut *command.server.pool;
    pool.min_spare = known.min_spare.or(pool.min_spare);
    pool.max_workers = known.max_workers.or(pool.max_workers);
    pool.idle = known.idle.or(pool.idle);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Config, ConfigError};

    fn build(text: &str) -> Result<Config, Vec<ConfigError>> {
        Config::build(&crate::read_text(text, "/etc/apache2")?)
    }

    #[test]
    fn virtual_hosts_have_users_and_pools() {
        let config = build(
            "Multiplexer nobody nogroup\nProcessor joe users\n<Processor two>\nUser ann\nGroup users\nMaxProcessors 7\n\
             </Processor>\n<VirtualHost *>\nServerEnvironment joe users\n</VirtualHost>\n<VirtualHost *>\n\
             ServerEnvironment two\n</VirtualHost>",
        );
        let config = config.unwrap();
        let user = |n: usize| config.servers[n].conf.core.assign_user.clone().unwrap().user;
        assert_eq!((user(1), user(2)), ("joe".into(), "ann".into()));
        assert_eq!(config.servers[2].conf.pool.max_workers, Some(7));
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        for text in [
            "Processor joe users /srv/root",
            "Processor root root",
            "<Processor x>\nUser joe\n</Processor>",
            "<Processor x>\nUser joe\nGroup users\nChroot /srv\n</Processor>",
            "<Processor x>\nUser joe\nGroup users\nSurprise\n</Processor>",
            "<VirtualHost *>\nServerEnvironment nobody-said-so\n</VirtualHost>",
            "<VirtualHost *>\nServerEnvironment joe users /srv\n</VirtualHost>",
        ] {
            assert!(build(text).is_err(), "{text}");
        }
    }
}
