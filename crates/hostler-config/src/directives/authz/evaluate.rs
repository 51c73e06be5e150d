//! Asking the rules: the four-valued logic of mod_authz_core.

use super::{Condition, Dir, Groups, Logic, Requirement, Rule, Words};
use hostler_expr::{Answer, Captures, EvalError, Host, Question};
use std::borrow::Cow;
use std::net::IpAddr;

/// The verdict of a rule on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request may pass.
    Granted,
    /// It may not.
    Denied,
    /// It may not, but nobody has logged in yet, and a user might.
    DeniedNoUser,
    /// Nothing. At the outside this means denied.
    Neutral,
}

/// The names of a file's owner and of its group, where there are a file and such names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners<'a> {
    /// Of the user.
    pub user: Option<Cow<'a, str>>,
    /// Of the group.
    pub group: Option<Cow<'a, str>>,
}

/// The facts about a request that rules may use.
pub trait Facts {
    /// `GET` and so on.
    fn method(&self) -> &str;
    /// Returns the authenticated user.
    fn user(&self) -> Option<&str>;
    /// Returns whether a variable is set in the request's environment.
    fn has_env(&self, name: &str) -> bool;
    /// The client's address (mod_remoteip applied).
    fn client_ip(&self) -> IpAddr;
    /// The server's end of the connection.
    fn local_ip(&self) -> IpAddr;
    /// Returns whether the connection is encrypted.
    fn is_encrypted(&self) -> bool;
    /// Returns whether the client has shown a certificate that is valid.
    fn has_valid_certificate(&self) -> bool;
    /// The client's name, if a look-up of the name leads back to its address.
    fn client_name(&self) -> Answer<Option<Cow<'_, str>>>;
    /// The addresses of a name.
    fn addresses(&self, name: &str) -> Answer<Vec<IpAddr>>;
    /// Returns whether the user is in a group; `false` without a file of groups.
    fn is_member(&self, group: &str, groups: &Groups) -> Answer<bool>;
    /// The owners of the file.
    fn owners(&self) -> Answer<Owners<'_>>;
    /// Returns a program function's answer to the arguments of a Require line: Apache's `authz_status`.
    fn program(&self, function: &str, words: &str) -> Answer<u16>;
    /// For expressions.
    fn expression_host(&self) -> &dyn Host;
}

/// A fact that must be fetched before the rules can be evaluated (again from the start).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The client's name, verified both ways.
    ClientName,
    /// The addresses of a name.
    Addresses(String),
    /// True if the user is in this group.
    Membership(String, Groups),
    /// The owners of the file.
    Owners,
    /// A program function's answer to the arguments.
    Program(String, String),
    /// The question of an expression.
    Expression(Box<Question>),
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Something must be fetched first.
    Pending(Need),
    /// An expression failed: 500, with this sentence in the error log.
    Failed(String),
}

impl From<EvalError> for Stop {
    fn from(error: EvalError) -> Self {
        match error {
            EvalError::Pending(question) => Self::Pending(Need::Expression(question)),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// The action after the rules were evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Go on; no login needed.
    Allow,
    /// Ask who the user is, then ask the rules again.
    Authenticate,
    /// 403
    Forbidden,
    /// 401
    Unauthorized,
}

/// Decides on a verdict: `logged_in` after the user was identified, `has_auth_type` if AuthType is set.
#[must_use]
pub fn decide(verdict: Verdict, logged_in: bool, has_auth_type: bool, dir: &Dir) -> Decision {
    match (verdict, logged_in) {
        (Verdict::Granted, _) => Decision::Allow,
        (Verdict::DeniedNoUser, false) => Decision::Authenticate,
        (Verdict::DeniedNoUser, true) => Decision::Unauthorized,
        (_, true) if has_auth_type && dir.forbidden_on_failure != Some(true) => Decision::Unauthorized,
        _ => Decision::Forbidden,
    }
}

impl Dir {
    /// Asks the rules. Without rules everybody may pass.
    ///
    /// # Errors
    /// [`Stop`]: something must be fetched first, or an expression failed.
    pub fn verdict(&self, facts: &dyn Facts) -> Result<Verdict, Stop> {
        self.root.as_ref().map_or(Ok(Verdict::Granted), |root| root.verdict(facts, Logic::All))
    }

    /// The verdict if it is the same for every request, so that it need not be asked for again.
    #[must_use]
    pub fn static_verdict(&self) -> Option<Verdict> {
        self.root.as_ref().map_or(Some(Verdict::Granted), |root| root.constant())
    }
}

impl Rule {
    /// Returns whether it is asked for this method. A section is asked if anything in it is: also the outermost one, so
    /// that a request whose method no rule names is granted.
    fn applies(&self, method: &str) -> bool {
        match &self.condition {
            Condition::Require(_) => self.limited.as_ref().is_none_or(|methods| methods.contains(method)),
            Condition::Section(_, rules) => rules.iter().any(|rule| rule.applies(method)),
        }
    }

    /// Returns its verdict within a section of that logic. A rule for other methods must not tip the balance: it grants
    /// where all must hold, and is neutral where one is enough.
    fn verdict(&self, facts: &dyn Facts, within: Logic) -> Result<Verdict, Stop> {
        if !self.applies(facts.method()) {
            return Ok(if within == Logic::All { Verdict::Granted } else { Verdict::Neutral });
        }
        let plain = match &self.condition {
            Condition::Require(requirement) => requirement.verdict(facts)?,
            Condition::Section(logic, rules) => {
                let mut result = Verdict::Neutral;
                for rule in rules {
                    result = logic.combine(result, rule.verdict(facts, *logic)?);
                    if logic.is_settled(result) {
                        break;
                    }
                }
                result
            }
        };
        Ok(self.turned(plain))
    }

    fn turned(&self, verdict: Verdict) -> Verdict {
        match verdict {
            _ if !self.negated => verdict,
            Verdict::Granted => Verdict::Denied,
            _ => Verdict::Neutral,
        }
    }

    /// The verdict if it does not depend on the request, hence not on its method either.
    fn constant(&self) -> Option<Verdict> {
        let plain = match &self.condition {
            Condition::Require(_) if self.limited.is_some() => return None,
            Condition::Require(Requirement::All(granted)) => Requirement::given(*granted),
            Condition::Require(_) => return None,
            Condition::Section(logic, rules) => {
                let known: Option<Vec<Verdict>> = rules.iter().map(|rule| rule.constant()).collect();
                known?.into_iter().fold(Verdict::Neutral, |result, next| {
                    if logic.is_settled(result) { result } else { logic.combine(result, next) }
                })
            }
        };
        Some(self.turned(plain))
    }
}

impl Logic {
    /// The result so far, and what the next rule says.
    fn combine(self, result: Verdict, next: Verdict) -> Verdict {
        let settles = if self == Self::All { Verdict::Denied } else { Verdict::Granted };
        match (result, next) {
            (_, Verdict::Neutral) => result,
            (Verdict::Neutral, _) => next,
            (_, next) if next == settles => next,
            (_, Verdict::DeniedNoUser) => next,
            _ => result,
        }
    }

    fn is_settled(self, result: Verdict) -> bool {
        match self {
            Self::All => result == Verdict::Denied,
            Self::Any => result == Verdict::Granted,
        }
    }
}

impl Requirement {
    /// Maps the number that a program's provider returned to a verdict.
    fn said(name: &str, said: u16) -> Result<Verdict, Stop> {
        match said {
            0 => Ok(Verdict::Denied),
            1 => Ok(Verdict::Granted),
            2 => Ok(Verdict::Neutral),
            4 => Ok(Verdict::DeniedNoUser),
            _ => Err(Stop::Failed(format!("the provider {name} could not tell (AUTHZ_GENERAL_ERROR)"))),
        }
    }

    fn given(granted: bool) -> Verdict {
        if granted { Verdict::Granted } else { Verdict::Denied }
    }

    fn verdict(&self, facts: &dyn Facts) -> Result<Verdict, Stop> {
        Ok(match self {
            Self::All(granted) => Self::given(*granted),
            Self::Env(names) => Self::given(names.iter().any(|name| facts.has_env(name))),
            Self::Method(methods) => {
                let method = if facts.method() == "HEAD" { "GET" } else { facts.method() };
                Self::given(methods.iter().any(|m| **m == *method || (&**m == "HEAD" && method == "GET")))
            }
            Self::Ip(subnets) => Self::given(subnets.iter().any(|subnet| subnet.contains(facts.client_ip()))),
            Self::Local => Self::given(is_local(facts.client_ip(), facts.local_ip())),
            Self::Ssl => Self::given(facts.is_encrypted()),
            Self::SslVerifyClient => Self::given(facts.has_valid_certificate()),
            Self::Expr { condition, wants_user } => {
                let holds = condition.test(facts.expression_host(), &mut Captures::new())?;
                if !holds && *wants_user && facts.user().is_none() {
                    Verdict::DeniedNoUser
                } else {
                    Self::given(holds)
                }
            }
            Self::Host(domains) => Self::given(host(domains, facts)?),
            Self::ForwardDns(names) => Self::given(forward_dns(names, facts)?),
            Self::Program { name, function, words } => match facts.program(function, words) {
                Answer::Ready(said) => Self::said(name, said)?,
                Answer::Pending => {
                    let (function, words) = (function.to_string(), words.to_string());
                    return Err(Stop::Pending(Need::Program(function, words)));
                }
            },
            Self::OldProgram { .. } => match facts.user() {
                None => Verdict::DeniedNoUser,
                Some(_) => Verdict::Denied,
            },
            Self::User(_) | Self::Group(..) | Self::ValidUser | Self::FileOwner | Self::FileGroup(_) => {
                match facts.user() {
                    None => Verdict::DeniedNoUser,
                    Some(user) => Self::given(self.admits(user, facts)?),
                }
            }
        })
    }

    /// Returns whether a condition about users holds for this one.
    fn admits(&self, user: &str, facts: &dyn Facts) -> Result<bool, Stop> {
        match self {
            Self::User(names) => Ok(names.list(facts)?.iter().any(|name| **name == *user)),
            Self::Group(names, groups) => {
                for group in &*names.list(facts)? {
                    if member(facts, group, groups)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::FileOwner => match facts.owners() {
                Answer::Ready(owners) => Ok(owners.user.is_some_and(|owner| owner == user)),
                Answer::Pending => Err(Stop::Pending(Need::Owners)),
            },
            Self::FileGroup(groups) => match facts.owners() {
                Answer::Ready(owners) => match owners.group {
                    Some(group) => member(facts, &group, groups),
                    None => Ok(false),
                },
                Answer::Pending => Err(Stop::Pending(Need::Owners)),
            },
            _ => Ok(true),
        }
    }
}

fn member(facts: &dyn Facts, group: &str, groups: &Groups) -> Result<bool, Stop> {
    match facts.is_member(group, groups) {
        Answer::Ready(is) => Ok(is),
        Answer::Pending => Err(Stop::Pending(Need::Membership(group.to_owned(), groups.clone()))),
    }
}

impl Words {
    fn list(&self, facts: &dyn Facts) -> Result<Cow<'_, [Box<str>]>, Stop> {
        match self {
            Self::Plain(words) => Ok(Cow::Borrowed(words)),
            Self::Computed(text) => {
                let text = text.string(facts.expression_host(), &Captures::new())?;
                let words = crate::words(&String::from_utf8_lossy(&text));
                Ok(Cow::Owned(words.into_iter().map(Into::into).collect()))
            }
        }
    }
}

fn is_local(client: IpAddr, local: IpAddr) -> bool {
    let client = client.to_canonical();
    client.is_loopback() || client == local.to_canonical()
}

fn host(domains: &Words, facts: &dyn Facts) -> Result<bool, Stop> {
    let domains = domains.list(facts)?;
    match facts.client_name() {
        Answer::Pending => Err(Stop::Pending(Need::ClientName)),
        Answer::Ready(None) => Ok(false),
        Answer::Ready(Some(name)) => Ok(domains.iter().any(|domain| is_in_domain(&name, domain))),
    }
}

/// Returns whether a host name is the domain or ends with it, in whole labels.
#[must_use]
pub fn is_in_domain(name: &str, domain: &str) -> bool {
    let (name, domain) = (name.as_bytes(), domain.as_bytes());
    let Some(start) = name.len().checked_sub(domain.len()) else { return false };
    let whole = start == 0 || domain.first() == Some(&b'.') || name[start - 1] == b'.';
    name[start..].eq_ignore_ascii_case(domain) && whole && !domain.is_empty()
}

fn forward_dns(names: &Words, facts: &dyn Facts) -> Result<bool, Stop> {
    let client = facts.client_ip().to_canonical();
    for name in &*names.list(facts)? {
        match facts.addresses(name) {
            Answer::Pending => return Err(Stop::Pending(Need::Addresses(name.to_string()))),
            Answer::Ready(addresses) if addresses.iter().any(|ip| ip.to_canonical() == client) => {
                return Ok(true);
            }
            Answer::Ready(_) => {}
        }
    }
    Ok(false)
}
