//! Directives of mod_access_compat: Order, Allow, Deny and Satisfy, the older language of access. Where both
//! this and Require are given, both must let the request pass, unless `Satisfy any`.

use super::authz::{Facts, Need, Stop, is_in_domain};
use crate::{
    Args, Arity, Command, Contexts, Directive, Effect, Merge, MethodSet, Module, Overrides, unset_part,
};
use hostler_expr::{Answer, Subnet, SubnetError};
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module {
    name: "access_compat_module",
    file: "mod_access_compat.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Order",
        Arity::Take1,
        "allow,deny|deny,allow|mutual-failure",
        "Set the order in which Allow and Deny are evaluated",
        order,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::LIMIT),
    Directive::new(
        "Allow",
        Arity::Iterate2,
        "from all|host|env=[!]variable ...",
        "Set which clients are allowed access",
        |command, args| {
            let entry = entry(command, args)?;
            command.dir.access_compat.allow.push(entry);
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::LIMIT),
    Directive::new(
        "Deny",
        Arity::Iterate2,
        "from all|host|env=[!]variable ...",
        "Set which clients are denied access",
        |command, args| {
            let entry = entry(command, args)?;
            command.dir.access_compat.deny.push(entry);
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::LIMIT),
    Directive::new(
        "Satisfy",
        Arity::Take1,
        "all|any",
        "Require both host-based access control and authentication, or either one",
        satisfy,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
];

/// Whom an Allow or Deny names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// `all`
    All,
    /// `env=NAME`, `env=!NAME`: whether the variable is set.
    Env {
        /// The variable.
        name: Box<str>,
        /// `false` for `!`.
        set: bool,
    },
    /// An address or network.
    Ip(Subnet),
    /// A host or domain name, verified by a look-up in both directions.
    Host(Box<str>),
}

/// An Allow or Deny.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Whom it names.
    pub who: Who,
    /// The methods it is for; `None`: all.
    pub limited: Option<Arc<MethodSet>>,
}

/// Order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Unlisted clients may pass; Allow overrules Deny.
    #[default]
    DenyAllow,
    /// Unlisted clients may not pass; Deny overrules Allow.
    AllowDeny,
    /// Only those who are allowed and not denied may pass.
    MutualFailure,
}

/// Something that may be set for some methods only; the last that fits counts.
type ByMethod<T> = Vec<(T, Option<Arc<MethodSet>>)>;

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    order: ByMethod<Order>,
    satisfy_any: ByMethod<bool>,
    /// Allow
    pub allow: Vec<Entry>,
    /// Deny
    pub deny: Vec<Entry>,
}

impl Merge for Dir {
    /// Nothing is merged: one of the module's directives in a section discards all from further out.
    fn merge(&self, over: &Self) -> Self {
        over.clone()
    }

    unset_part!(Dir);
}

/// mod_access_compat has nothing per server.
pub type Server = ();

impl Dir {
    /// `Order` for a method.
    #[must_use]
    pub fn order(&self, method: &str) -> Order {
        last_for(&self.order, method).unwrap_or_default()
    }

    /// Returns whether `Satisfy any` is in effect for a method.
    #[must_use]
    pub fn satisfies_any(&self, method: &str) -> bool {
        last_for(&self.satisfy_any, method) == Some(true)
    }

    /// Returns whether any `Satisfy` is.
    #[must_use]
    pub fn says_satisfy(&self, method: &str) -> bool {
        last_for(&self.satisfy_any, method).is_some()
    }

    /// Returns whether Allow and Deny let a request pass.
    ///
    /// # Errors
    /// When the client's name must be looked up first.
    pub fn allows(&self, facts: &dyn Facts) -> Result<bool, Stop> {
        Ok(match self.order(facts.method()) {
            Order::DenyAllow => !matches(&self.deny, facts)? || matches(&self.allow, facts)?,
            Order::AllowDeny | Order::MutualFailure => {
                matches(&self.allow, facts)? && !matches(&self.deny, facts)?
            }
        })
    }

    /// Returns the answer of [`Dir::allows`] if it is the same for every request.
    #[must_use]
    pub fn static_answer(&self) -> Option<bool> {
        let simple = |list: &[Entry]| match list {
            [] => Some(false),
            list => list.iter().all(|entry| entry.who == Who::All && entry.limited.is_none()).then_some(true),
        };
        let order = match &self.order[..] {
            [] => Order::default(),
            list => list.iter().all(|(_, limited)| limited.is_none()).then(|| list[list.len() - 1].0)?,
        };
        let (allow, deny) = (simple(&self.allow)?, simple(&self.deny)?);
        Some(if order == Order::DenyAllow { !deny || allow } else { allow && !deny })
    }
}

fn last_for<T: Copy>(list: &ByMethod<T>, method: &str) -> Option<T> {
    let applies =
        |limited: &Option<Arc<MethodSet>>| limited.as_ref().is_none_or(|methods| methods.contains(method));
    list.iter().rev().find(|(_, limited)| applies(limited)).map(|(value, _)| *value)
}

fn matches(list: &[Entry], facts: &dyn Facts) -> Result<bool, Stop> {
    for entry in list {
        let applies = entry.limited.as_ref().is_none_or(|methods| methods.contains(facts.method()));
        if applies && entry.who.is(facts)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Who {
    fn is(&self, facts: &dyn Facts) -> Result<bool, Stop> {
        match self {
            Self::All => Ok(true),
            Self::Env { name, set } => Ok(facts.has_env(name) == *set),
            Self::Ip(subnet) => Ok(subnet.contains(facts.client_ip())),
            Self::Host(domain) => match facts.client_name() {
                Answer::Pending => Err(Stop::Pending(Need::ClientName)),
                Answer::Ready(name) => Ok(name.is_some_and(|name| is_in_domain(&name, domain))),
            },
        }
    }
}

fn order(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let order = match &args.first().to_ascii_lowercase()[..] {
        "allow,deny" => Order::AllowDeny,
        "deny,allow" => Order::DenyAllow,
        "mutual-failure" => Order::MutualFailure,
        _ => {
            return Err(crate::unknown(
                "order",
                args.first(),
                &["allow,deny", "deny,allow", "mutual-failure"],
            ));
        }
    };
    let limited = command.limited.clone();
    command.dir.access_compat.order.push((order, limited));
    Ok(())
}

fn satisfy(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let any = match &args.first().to_ascii_lowercase()[..] {
        "any" => true,
        "all" => false,
        _ => return Err(crate::unknown("value", args.first(), &["all", "any"])),
    };
    let limited = command.limited.clone();
    command.dir.access_compat.satisfy_any.push((any, limited));
    Ok(())
}

/// Reads `from` and whom.
fn entry(command: &Command<'_>, args: &Args) -> Result<Entry, String> {
    if !args.first().eq_ignore_ascii_case("from") {
        return Err("the first word must be \"from\"".into());
    }
    Ok(Entry { who: who(args.word(1).unwrap_or_default())?, limited: command.limited.clone() })
}

fn who(word: &str) -> Result<Who, String> {
    if word.eq_ignore_ascii_case("all") {
        return Ok(Who::All);
    }
    if let Some(name) = word.get(..4).filter(|start| start.eq_ignore_ascii_case("env=")).map(|_| &word[4..]) {
        return Ok(match name.strip_prefix('!') {
            Some(name) => Who::Env { name: name.into(), set: false },
            None => Who::Env { name: name.into(), set: true },
        });
    }
    match Subnet::parse(word) {
        Ok(subnet) => Ok(Who::Ip(subnet)),
        Err(error @ SubnetError::Mask) => Err(format!("\"{word}\" is wrong: {error}")),
        Err(error @ SubnetError::Address) if looks_like_address(word) => {
            Err(format!("\"{word}\" is wrong: {error}"))
        }
        Err(SubnetError::Address) => Ok(Who::Host(word.into())),
    }
}

/// A text that can be no host name, so that a mistyped address is not taken for one.
fn looks_like_address(word: &str) -> bool {
    word.contains(['/', ':']) || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
