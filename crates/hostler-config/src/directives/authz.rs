//! Directives of mod_authz_core, mod_authz_host and mod_authz_user: who may see what. A directory's rules are
//! a tree of [`Rule`]s; [`Dir::verdict`] asks it. Knows nothing of passwords: that is [`super::auth`].

mod evaluate;
mod requirement;

pub use evaluate::{Decision, Facts, Need, Owners, Stop, Verdict, decide, is_in_domain};
pub use requirement::{Groups, Requirement, Words};

use crate::{Args, Arity, Command, Contexts, Directive, Effect, MethodSet, Module, Node, Overrides};
use crate::{Merge, over, unset_part};
use std::sync::Arc;

/// mod_authz_core.
pub static MODULE: Module = Module {
    name: "authz_core_module",
    file: "mod_authz_core.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

/// mod_authz_host: providers of Require only.
pub static HOST: Module =
    Module { name: "authz_host_module", file: "mod_authz_host.c", directives: &[], effect: Effect::Guards };

/// mod_authz_user: providers of Require only.
pub static USER: Module =
    Module { name: "authz_user_module", file: "mod_authz_user.c", directives: &[], effect: Effect::Guards };

/// mod_authz_owner: providers of Require only.
pub static OWNER: Module =
    Module { name: "authz_owner_module", file: "mod_authz_owner.c", directives: &[], effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Require",
        Arity::RawArgs,
        "[not] all granted|denied | ip address ... | local | host name ... | forward-dns name ... | env name ... | \
         method name ... | expr expression | user name ... | group name ... | valid-user | file-owner | file-group | dbm-group name ... | dbm-file-group | ssl | ssl-verify-client",
        "Set a condition for access",
        require,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::section(
        "RequireAll",
        "<RequireAll>",
        "Grant access if no condition fails and at least one is met",
        |command, _, nodes| section(command, nodes, Logic::All, false),
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::section(
        "RequireAny",
        "<RequireAny>",
        "Grant access if at least one condition is met",
        |command, _, nodes| section(command, nodes, Logic::Any, false),
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::section(
        "RequireNone",
        "<RequireNone>",
        "Deny access if any condition is met",
        |command, _, nodes| section(command, nodes, Logic::Any, true),
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthMerging",
        Arity::Take1,
        "Off|And|Or",
        "Set how access conditions combine with those of the parent directory",
        auth_merging,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthzSendForbiddenOnFailure",
        Arity::Flag,
        "On|Off",
        "Return 403 instead of 401 to an authenticated user without access",
        |command, args| {
            command.dir.authz.forbidden_on_failure = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::section(
        "AuthzProviderAlias",
        "<AuthzProviderAlias condition name words>",
        "Define an alias of an access condition with its own settings",
        alias,
    ),
];

/// The way that a section's rules combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    /// `<RequireAll>`
    All,
    /// `<RequireAny>`; also what a directory's own Require lines do.
    Any,
}

/// A condition or a section of conditions.
#[derive(Clone, Debug)]
pub struct Rule {
    /// `Require not`, `<RequireNone>`: if it holds, access is denied; if not, it says nothing.
    pub negated: bool,
    /// The methods for which it is asked at all (`<Limit>`); `None`: all. A section's follow from what is in it.
    pub limited: Option<Arc<MethodSet>>,
    /// Its condition.
    pub condition: Condition,
}

/// The condition of a rule.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A section.
    Section(Logic, Vec<Arc<Rule>>),
    /// A Require line.
    Require(Requirement),
}

/// AuthMerging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// A directory's rules replace those from above.
    Off,
    /// Both must grant access.
    And,
    /// One of them must.
    Or,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// The root of the rules, a section; `None`: everybody may.
    pub root: Option<Arc<Rule>>,
    /// AuthMerging
    pub merging: Option<Merging>,
    /// AuthzSendForbiddenOnFailure; unset means Off.
    pub forbidden_on_failure: Option<bool>,
    /// Sections that are being read, the innermost last.
    open: Vec<Rule>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        let (merging, root) = match (other.merging, &self.root, &other.root) {
            (None, Some(base), None) => (self.merging, Some(Arc::clone(base))),
            (None | Some(Merging::Off), _, root) | (_, None, root) => (other.merging, root.clone()),
            (Some(merging), Some(base), root) => {
                let logic = if merging == Merging::And { Logic::All } else { Logic::Any };
                let rules = [base].into_iter().chain(root).cloned().collect();
                (other.merging, Some(Arc::new(Rule::section(logic, rules))))
            }
        };
        let forbidden_on_failure = over(&self.forbidden_on_failure, &other.forbidden_on_failure);
        Self { root, merging, forbidden_on_failure, open: Vec::new() }
    }

    unset_part!(Dir);
}

/// mod_authz_core has nothing per server.
pub type Server = ();

impl Rule {
    fn section(logic: Logic, rules: Vec<Arc<Self>>) -> Self {
        Self { negated: false, limited: None, condition: Condition::Section(logic, rules) }
    }

    fn tag(&self) -> &'static str {
        match (&self.condition, self.negated) {
            (Condition::Require(_), _) => "negative Require",
            (_, true) => "<RequireNone>",
            (Condition::Section(Logic::All, _), _) => "<RequireAll>",
            (Condition::Section(Logic::Any, _), _) => "<RequireAny>",
        }
    }
}

fn require(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (mut provider, mut rest) = crate::first_word(&args.raw).ok_or("a condition is missing")?;
    let negated = provider.eq_ignore_ascii_case("not");
    if negated {
        (provider, rest) = crate::first_word(rest).ok_or("a condition is missing after \"not\"")?;
    }
    let requirement = match Requirement::parse(command, &provider, rest)? {
        Some(requirement) => requirement,
        None => of_old_programs(command, &provider, rest, negated)?,
    };
    let condition = Condition::Require(requirement);
    let limited = command.limited.clone();
    add(command, Rule { negated, limited, condition })
}

/// A condition that only a `PerlAuthzHandler` of mod_perl 1 may know. What the rules know nothing of would deny nobody, were it
/// negated.
fn of_old_programs(
    command: &Command<'_>,
    provider: &str,
    rest: &str,
    negated: bool,
) -> Result<Requirement, String> {
    if !command.may_leave_to_old_programs() {
        return Err(unknown(provider));
    }
    if negated || command.dir.authz.open.iter().any(|section| section.negated) {
        return Err(format!(
            "\"{provider}\" can only be known to a PerlAuthzHandler, and so cannot be negated"
        ));
    }
    Ok(Requirement::OldProgram { name: provider.into(), words: rest.trim().into() })
}

fn unknown(provider: &str) -> String {
    let hint = "if a PerlAuthzHandler of mod_perl 1 handles it, set PerlApiVersion 1";
    format!("{} ({hint})", crate::unknown("condition", provider, &[]))
}

/// Adds a rule to the innermost section, at the outside to the directory's own.
fn add(command: &mut Command<'_>, rule: Rule) -> Result<(), String> {
    let dir = &mut command.dir.authz;
    let outermost = || Rule::section(Logic::Any, Vec::new());
    let section = match dir.open.last_mut() {
        Some(section) => section,
        None => Arc::make_mut(dir.root.get_or_insert_with(|| Arc::new(outermost()))),
    };
    let within = section.tag();
    let Condition::Section(logic, rules) = &mut section.condition else { return Ok(()) };
    if rule.negated && *logic == Logic::Any {
        return Err(format!("{} has no effect within {within}, only within <RequireAll>", rule.tag()));
    }
    rules.push(Arc::new(rule));
    Ok(())
}

fn section(command: &mut Command<'_>, nodes: &[Node], logic: Logic, negated: bool) -> Result<(), String> {
    let condition = Condition::Section(logic, Vec::new());
    command.dir.authz.open.push(Rule { negated, limited: None, condition });
    command.run(nodes);
    let Some(rule) = command.dir.authz.open.pop() else { return Ok(()) };
    if let Condition::Section(logic, rules) = &rule.condition {
        if rules.is_empty() {
            return Err("contains no condition".into());
        }
        // Apache finds this out when it starts, hence not in .htaccess, where nothing is granted then.
        if *logic == Logic::All && rules.iter().all(|rule| rule.negated) && !command.is_htaccess() {
            return Err("contains only negative conditions, so it could never grant access".into());
        }
    }
    add(command, rule)
}

/// `<AuthzProviderAlias condition name words>`
fn alias(command: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    let [base, name, words @ ..] = &args.words[..] else {
        return Err("takes a condition, its new name, and its arguments".into());
    };
    if base.eq_ignore_ascii_case(name) || command.authz_alias(name).is_some() {
        return Err(format!("the name \"{name}\" is a condition's already"));
    }
    let words = match words {
        [] => String::new(),
        [only] => only.clone(),
        _ => return Err("its arguments must be in quotes".into()),
    };
    let requirement = Requirement::parse(command, base, &words)?.ok_or_else(|| unknown(base))?;
    if matches!(Requirement::parse(command, name, &words), Ok(Some(_))) {
        return Err(format!("the name \"{name}\" is a condition's already"));
    }
    let dir = command.aside(nodes);
    command.add_authz_alias(name, requirement.with(&dir.auth));
    Ok(())
}

fn auth_merging(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    command.dir.authz.merging = Some(match &args.first().to_ascii_lowercase()[..] {
        "off" => Merging::Off,
        "and" => Merging::And,
        "or" => Merging::Or,
        _ => return Err(crate::unknown("value", args.first(), &["Off", "And", "Or"])),
    });
    Ok(())
}

#[cfg(test)]
mod tests;
