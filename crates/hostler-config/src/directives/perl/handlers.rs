//! Handlers: which functions have a say in which phase of a request.

use super::generation::{self, Marks};
use super::load;
use crate::directives::filter::{self, Way};
use crate::table::Action;
use crate::{Args, Arity, Command, Contexts, Directive, Overrides};
use hostler_perl_frames::{Phase, PreloadKind};

/// A phase that a directory can have handlers for.
const fn by_directory(
    name: &'static str,
    doc: &'static str,
    add: fn(&mut Command<'_>, &Args) -> Result<(), String>,
) -> Directive {
    Directive::new(name, Arity::Iterate, FORM, doc, add).allowed(Contexts::ANYWHERE, Overrides::ALL)
}

/// A phase in which the directory is not known yet, or that is none of a request's.
const fn by_server(
    name: &'static str,
    doc: &'static str,
    add: fn(&mut Command<'_>, &Args) -> Result<(), String>,
) -> Directive {
    Directive::new(name, Arity::Iterate, FORM, doc, add)
}

/// A handler that has no place here.
const fn missing(name: &'static str, action: Action) -> Directive {
    let (contexts, overrides) = (Contexts::ANYWHERE, Overrides::ALL);
    let (arity, form, doc) = (Arity::RawArgs, "", "Not implemented");
    Directive { name, arity, form, doc, contexts, overrides, action, effect: None }
}

const FORM: &str = "[+]package|function|package->method|\"sub {...}\" ...";
const CONNECTION: &str = "connections are handled by the front, which does not run site code";

pub(super) static DIRECTIVES: &[Directive] = &[
    by_server(
        "PerlPostReadRequestHandler",
        "Set the handlers of the first phase, right after the request is read",
        |cmd, args| of_server(cmd, Phase::PostReadRequest, args),
    ),
    by_server("PerlTransHandler", "Set the handlers that translate a URL to a file name", |cmd, args| {
        of_server(cmd, Phase::Trans, args)
    }),
    by_server(
        "PerlMapToStorageHandler",
        "Set the handlers of the map-to-storage phase, which examine the file of a request",
        |cmd, args| of_server(cmd, Phase::MapToStorage, args),
    ),
    by_directory(
        "PerlInitHandler",
        "Set PerlHeaderParserHandler inside sections, PerlPostReadRequestHandler elsewhere",
        init,
    ),
    by_directory(
        "PerlHeaderParserHandler",
        "Set the handlers of the header parser phase, once the directory is known",
        |cmd, args| of_directory(cmd, Phase::HeaderParser, args),
    ),
    by_directory("PerlAccessHandler", "Set the handlers of the access phase", |cmd, args| {
        of_directory(cmd, Phase::Access, args)
    }),
    by_directory("PerlAuthenHandler", "Set the handlers of the authentication phase", |cmd, args| {
        of_directory(cmd, Phase::Authen, args)
    }),
    by_directory("PerlAuthzHandler", "Set the handlers of the authorization phase", |cmd, args| {
        of_directory(cmd, Phase::Authz, args)
    }),
    by_directory("PerlTypeHandler", "Set the handlers that determine the media type", |cmd, args| {
        of_directory(cmd, Phase::Type, args)
    }),
    by_directory(
        "PerlFixupHandler",
        "Set the handlers of the fixup phase, right before the response",
        |cmd, args| of_directory(cmd, Phase::Fixup, args),
    ),
    by_directory("PerlResponseHandler", RESPONSE, |cmd, args| of_directory(cmd, Phase::Response, args)),
    by_directory("PerlHandler", RESPONSE, |cmd, args| of_directory(cmd, Phase::Response, args)),
    by_directory("PerlLogHandler", "Set the handlers of the log phase", |cmd, args| {
        of_directory(cmd, Phase::Log, args)
    }),
    by_directory(
        "PerlCleanupHandler",
        "Set the handlers of the cleanup phase, after the request",
        |cmd, args| of_directory(cmd, Phase::Cleanup, args),
    ),
    by_server("PerlChildInitHandler", "Set the functions to call in each new worker", child_init),
    by_server("PerlChildExitHandler", "Set the functions to call in each worker before it exits", child_exit),
    by_server("PerlOpenLogsHandler", LATE, late),
    by_server("PerlPostConfigHandler", LATE, late),
    missing("PerlProcessConnectionHandler", Action::Refused(CONNECTION)),
    missing("PerlPreConnectionHandler", Action::Refused(CONNECTION)),
    by_directory("PerlInputFilterHandler", "Set filters for request bodies", |cmd, args| {
        of_directory(cmd, Phase::InputFilter, args)
    }),
    by_directory("PerlOutputFilterHandler", "Set filters for responses", |cmd, args| {
        of_directory(cmd, Phase::OutputFilter, args)
    }),
    Directive::new(
        "PerlSetInputFilter",
        Arity::Take1,
        "filter[;filter...]",
        "Set the server's own filters for request bodies",
        |cmd, args| {
            let names = filters(cmd, Way::Input, args)?;
            super::dir(cmd).input_filters = Some(names);
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlSetOutputFilter",
        Arity::Take1,
        "filter[;filter...]",
        "Set the server's own filters for responses",
        |cmd, args| {
            let names = filters(cmd, Way::Output, args)?;
            super::dir(cmd).output_filters = Some(names);
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlAddAuthzProvider",
        Arity::Take2,
        PROVIDER,
        "Define a condition for Require",
        registers,
    ),
    Directive::new(
        "PerlAddAuthnProvider",
        Arity::Take2,
        PROVIDER,
        "Define a provider that checks passwords",
        registers,
    ),
];

const PROVIDER: &str = "name package|function|package->method";

const RESPONSE: &str = "Set the response handlers, used with the handler perl-script or modperl";
const LATE: &str = "Set the functions to call in the warm parent of the site once everything is loaded";

/// Handlers by phase, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handlers(Vec<(Phase, Vec<Box<str>>)>);

impl Handlers {
    /// The handlers of a phase, in the order in which they are called.
    #[must_use]
    pub fn of(&self, phase: Phase) -> &[Box<str>] {
        self.0.iter().find(|(known, _)| *known == phase).map_or(&[], |(_, names)| names)
    }

    /// The phases that have any, in the order of phases.
    pub fn iter(&self) -> impl Iterator<Item = (Phase, &[Box<str>])> {
        self.0.iter().map(|(phase, names)| (*phase, &names[..]))
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one to the stack of a phase.
    fn push(&mut self, phase: Phase, name: &str) {
        let at = self.0.partition_point(|(known, _)| (*known as u8) < phase as u8);
        match self.0.get_mut(at) {
            Some((known, names)) if *known == phase => names.push(name.into()),
            _ => self.0.insert(at, (phase, vec![name.into()])),
        }
    }

    /// Returns the merged handlers when `over` is more specific: its stacks replace those of the same phase, or follow
    /// them if `stacked` (`PerlOptions +MergeHandlers`).
    #[must_use]
    pub fn merge(&self, over: &Self, stacked: bool) -> Self {
        let mut merged = self.clone();
        if !stacked {
            merged.0.retain(|(phase, _)| over.of(*phase).is_empty());
        }
        for (phase, names) in over.iter() {
            names.iter().for_each(|name| merged.push(phase, name));
        }
        merged
    }
}

/// Notes what the name of a handler betrays and asks for, and takes off its sign: `+` loads it beforehand.
fn named<'a>(cmd: &mut Command<'_>, phase: Option<Phase>, word: &'a str) -> Result<&'a str, String> {
    cmd.server.perl.options.takes(phase, cmd.directive.name)?;
    let name = word.trim_start_matches(['+', '-']);
    if name.trim().is_empty() {
        return Err("needs the name of a function or package".to_owned());
    }
    let marks = generation::of_class(name) | generation::of_directive(cmd.directive, name);
    if cmd.inside.any() {
        cmd.dir.perl.marks = cmd.dir.perl.marks | marks;
    } else {
        cmd.server.perl.marks = cmd.server.perl.marks | marks;
    }
    if word.starts_with('+') {
        load::add_handler(cmd, name);
    }
    Ok(name)
}

fn of_directory(cmd: &mut Command<'_>, phase: Phase, args: &Args) -> Result<(), String> {
    let name = named(cmd, Some(phase), args.first())?;
    super::dir(cmd).handlers.push(phase, name);
    Ok(())
}

fn of_server(cmd: &mut Command<'_>, phase: Phase, args: &Args) -> Result<(), String> {
    let name = named(cmd, Some(phase), args.first())?;
    cmd.server.perl.handlers.push(phase, name);
    Ok(())
}

fn filters(cmd: &mut Command<'_>, way: Way, args: &Args) -> Result<Vec<Box<str>>, String> {
    filter::check_names(cmd, way, args.first())?;
    Ok(filter::named(args.first()).map(Into::into).collect())
}

/// The name itself is known to lines of Require and AuthBasicProvider since the files were read ([`super::providers`]).
fn registers(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let marks = generation::of_class(args.word(1).unwrap_or_default()) | Marks::SECOND_WORD;
    cmd.server.perl.marks = cmd.server.perl.marks | marks;
    Ok(())
}

fn init(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    if cmd.inside.any() || cmd.is_htaccess() {
        of_directory(cmd, Phase::HeaderParser, args)
    } else {
        of_server(cmd, Phase::PostReadRequest, args)
    }
}

fn child_init(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let name = named(cmd, None, args.first())?;
    cmd.server.perl.child_init.push(name.into());
    Ok(())
}

fn child_exit(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let name = named(cmd, None, args.first())?;
    cmd.server.perl.child_exit.push(name.into());
    Ok(())
}

fn late(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let name = named(cmd, None, args.first())?;
    load::add(cmd, PreloadKind::LateCall, name);
    Ok(())
}
