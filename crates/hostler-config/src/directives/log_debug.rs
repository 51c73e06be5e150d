//! Directives of mod_log_debug: messages about requests, where they come by, for whoever looks for a mistake.

use crate::{
    Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Origin, Overrides, unset_part,
};
use hostler_expr::{Expr, Flags, Kind};
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module {
    name: "log_debug_module",
    file: "mod_log_debug.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[Directive::new(
    "LogMessage",
    Arity::Take123,
    "message (may contain %{...}) [hook=name|all] [expr=expression]",
    "Write a message to the error log for each request",
    message,
)
.allowed(Contexts::ANYWHERE, Overrides::NONE)];

/// The points that a request passes; Apache's hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the hook that it is named after")]
pub enum Hook {
    LogTransaction,
    QuickHandler,
    Handler,
    TranslateName,
    MapToStorage,
    Fixups,
    TypeChecker,
    CheckAccess,
    CheckAccessEx,
    CheckAuthn,
    CheckAuthz,
    InsertFilter,
    PreTranslateName,
}

impl Hook {
    const ALL: [(Self, &'static str); 13] = [
        (Self::LogTransaction, "log_transaction"),
        (Self::QuickHandler, "quick_handler"),
        (Self::Handler, "handler"),
        (Self::TranslateName, "translate_name"),
        (Self::MapToStorage, "map_to_storage"),
        (Self::Fixups, "fixups"),
        (Self::TypeChecker, "type_checker"),
        (Self::CheckAccess, "check_access"),
        (Self::CheckAccessEx, "check_access_ex"),
        (Self::CheckAuthn, "check_authn"),
        (Self::CheckAuthz, "check_authz"),
        (Self::InsertFilter, "insert_filter"),
        (Self::PreTranslateName, "pre_translate_name"),
    ];

    /// As the directive names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(hook, _)| *hook == self).map_or("", |(_, name)| name)
    }
}

/// One `LogMessage`.
#[derive(Debug)]
pub struct Message {
    /// The text.
    pub text: Expr,
    /// Where; `None`: everywhere.
    pub hook: Option<Hook>,
    /// When.
    pub condition: Option<Expr>,
    /// The directive's line.
    pub origin: Origin,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// In order.
    pub messages: Vec<Arc<Message>>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self { messages: [&self.messages[..], &other.messages].concat() }
    }

    unset_part!(Dir);
}

/// mod_log_debug has nothing per server.
pub type Server = ();

impl Dir {
    /// The messages of a hook.
    pub fn of(&self, hook: Hook) -> impl Iterator<Item = &Arc<Message>> {
        self.messages.iter().filter(move |message| message.hook.is_none_or(|own| own == hook))
    }
}

fn message(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let flags = Flags { dont_vary: true, ..Flags::default() };
    let text = command.expr(args.first(), Kind::String, flags)?;
    let mut message =
        Message { text, hook: Some(Hook::LogTransaction), condition: None, origin: command.origin };
    for word in args.words.iter().skip(1) {
        match word.split_once('=') {
            Some((key, name)) if key.eq_ignore_ascii_case("hook") => {
                let known = Hook::ALL.into_iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
                message.hook = match known {
                    Some((hook, _)) => Some(hook),
                    None if name == "*" || name.eq_ignore_ascii_case("all") => None,
                    None => return Err(crate::unknown("hook", name, &[])),
                };
            }
            Some((key, condition)) if key.eq_ignore_ascii_case("expr") => {
                message.condition = Some(command.expr(condition, Kind::Boolean, flags)?);
            }
            _ => return Err(crate::unknown("option", word, &["hook=", "expr="])),
        }
    }
    command.dir.log_debug.messages.push(Arc::new(message));
    Ok(())
}
