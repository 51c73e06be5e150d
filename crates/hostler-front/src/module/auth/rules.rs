//! Evaluation of a request's access rules (Order, Allow, Deny, Require), with the names, addresses, groups and programs
//! that they refer to.

use super::files;
use crate::hook::plan::plan;
use crate::hook::registry::{AboutUser, OfUser};
use crate::limits::{aside, budget};
use crate::request::Request;
use crate::request::connection::Validity;
use crate::request::expr_host::RequestHost;
use crate::request::flow::Halt;
use crate::request::names;
use bytes::Bytes;
use hostler_config::directives::auth;
use hostler_config::directives::authz::{Facts, Groups, Need, Owners, Stop};
use hostler_expr::{Answer, EvalError, Host};
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;

/// Values fetched for the rules.
#[derive(Default)]
pub(super) struct RuleFacts {
    client_name: Option<Option<String>>,
    addresses: HashMap<String, Vec<IpAddr>>,
    members: HashMap<(String, Groups), bool>,
    /// All groups of the user, by a script.
    groups: Option<Vec<Bytes>>,
    /// The names of the file's owner and group.
    owners: Option<Owners<'static>>,
    /// Functions' answers about arguments of Require; they may differ for a user.
    programs: HashMap<(String, String), u16>,
}

impl RuleFacts {
    async fn fetch(&mut self, request: &mut Request, need: Need) -> Result<(), Halt> {
        match need {
            Need::ClientName => {
                let name = names::client_for_access(request).await;
                self.client_name = Some(name);
            }
            Need::Addresses(name) => {
                let found = names::addresses_for_access(request, &name).await;
                self.addresses.insert(name, found);
            }
            Need::Membership(group, Groups::Script) => {
                // Quirk(mod_wsgi): groups are looked up as fields are, in whatever case.
                let is = |known: &Bytes| known.eq_ignore_ascii_case(group.as_bytes());
                let member = self.groups_by_script(request).await?.iter().any(is);
                self.members.insert((group, Groups::Script), member);
            }
            Need::Membership(group, groups) => {
                let member = is_member(request, &group, &groups).await?;
                self.members.insert((group, groups), member);
            }
            Need::Owners => self.owners = Some(owners(request).await?),
            Need::Program(function, words) => {
                let texts: [&[u8]; 3] = [b"authz", function.as_bytes(), words.as_bytes()];
                let said = plan().ask_provider(request, &texts).await?;
                self.programs.insert((function, words), said);
            }
            Need::Expression(_) => {}
        }
        Ok(())
    }
}

impl RuleFacts {
    async fn groups_by_script(&mut self, request: &mut Request) -> Result<&[Bytes], Halt> {
        if self.groups.is_none() {
            let user = request.user.clone().unwrap_or_default();
            let OfUser::Groups(groups) = plan().ask_script(request, &user, AboutUser::Groups).await? else {
                return Err(Halt::Status(500));
            };
            self.groups = Some(groups);
        }
        Ok(self.groups.as_deref().unwrap_or_default())
    }
}

/// Returns whether the user is in a group, by a file of groups.
async fn is_member(request: &Request, group: &str, groups: &Groups) -> Result<bool, Halt> {
    let dir = &request.resource.dir.auth;
    let Some(user) = request.user.clone() else { return Ok(false) };
    let (text, dbm) = match groups {
        Groups::File => (dir.group_file.clone(), None),
        Groups::OwnFile(path) => (Some(path.clone()), None),
        Groups::Dbm => (None, dir.group_dbm()),
        Groups::OwnDbm(file) => (None, Some(file.clone())),
        // Asked for all groups at once.
        Groups::Script => return Err(Halt::Status(500)),
    };
    if let Some(path) = text {
        let (user, group) = (String::from_utf8_lossy(&user).into_owned(), group.to_owned());
        return files::search_text(request, &path, move |text| auth::is_member(text, &group, &user)).await;
    }
    let Some(file) = dbm else { return Ok(false) };
    let realm = super::realm(request).await?.unwrap_or_default();
    let keys = vec![[&user[..], b":", &realm].concat(), user.to_vec()];
    let value = files::value(request, &file, keys).await?;
    Ok(value.is_some_and(|value| auth::dbm::has_group(&value, group.as_bytes())))
}

/// The names of the file's owner and group. Asking for them may take the machine long.
async fn owners(request: &Request) -> Result<Owners<'static>, Halt> {
    let Some(info) = request.resource.found.info().copied() else { return Ok(Owners::default()) };
    let permit = aside::permit(request).await?;
    aside::run_free(request, permit, move || {
        let user = hostler_sys::users::user_by_id(info.uid).ok().flatten();
        let group = hostler_sys::users::group_by_id(info.gid).ok().flatten();
        Owners { user: user.map(|user| user.name.into()), group: group.map(|group| group.name.into()) }
    })
    .await
}

/// Asks rules until they need nothing more.
pub(super) async fn ask<T>(
    request: &mut Request,
    known: &mut RuleFacts,
    rules: impl Fn(&dyn Facts) -> Result<T, Stop>,
) -> Result<T, Halt> {
    loop {
        let mut need = None;
        let seen: &Request = request;
        let outcome = crate::request::expr_host::with_host(seen, |host| {
            let facts = View {
                request: seen,
                known,
                host,
                method: String::from_utf8_lossy(&seen.target.method).into_owned(),
            };
            match rules(&facts) {
                Ok(value) => Ok(Some(value)),
                Err(Stop::Pending(Need::Expression(question))) => Err(EvalError::Pending(question)),
                Err(Stop::Pending(other)) => {
                    need = Some(other);
                    Ok(None)
                }
                Err(Stop::Failed(why)) => Err(EvalError::Invalid(why)),
            }
        });
        match outcome.await {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => {}
            Err(error) => {
                budget::log_failure(request, "authz_core", &format!("access cannot be decided: {error}"));
                return Err(Halt::Status(500));
            }
        }
        if let Some(need) = need {
            known.fetch(request, need).await?;
        }
    }
}

/// A request as rules see it.
struct View<'a> {
    request: &'a Request,
    known: &'a RuleFacts,
    host: &'a RequestHost<&'a Request>,
    method: String,
}

impl Facts for View<'_> {
    fn method(&self) -> &str {
        &self.method
    }

    fn user(&self) -> Option<&str> {
        std::str::from_utf8(self.request.user.as_deref()?).ok()
    }

    fn has_env(&self, name: &str) -> bool {
        self.request.env.contains(name)
    }

    fn client_ip(&self) -> IpAddr {
        self.request.client.peer.remote.ip()
    }

    fn local_ip(&self) -> IpAddr {
        self.request.client.peer.local.ip()
    }

    fn is_encrypted(&self) -> bool {
        self.request.client.peer.tls.is_some()
    }

    fn has_valid_certificate(&self) -> bool {
        let client = self.request.client.peer.tls.as_ref().and_then(|tls| tls.client.as_ref());
        client.is_some_and(|client| matches!(client.validity, Validity::Valid(_)))
    }

    fn client_name(&self) -> Answer<Option<Cow<'_, str>>> {
        match &self.known.client_name {
            None => Answer::Pending,
            Some(name) => Answer::Ready(name.as_deref().map(Cow::Borrowed)),
        }
    }

    fn addresses(&self, name: &str) -> Answer<Vec<IpAddr>> {
        self.known.addresses.get(name).map_or(Answer::Pending, |found| Answer::Ready(found.clone()))
    }

    fn is_member(&self, group: &str, groups: &Groups) -> Answer<bool> {
        let known = self.known.members.get(&(group.to_owned(), groups.clone()));
        known.map_or(Answer::Pending, |member| Answer::Ready(*member))
    }

    fn owners(&self) -> Answer<Owners<'_>> {
        self.known.owners.clone().map_or(Answer::Pending, Answer::Ready)
    }

    fn program(&self, function: &str, words: &str) -> Answer<u16> {
        let said = self.known.programs.get(&(function.to_owned(), words.to_owned()));
        said.map_or(Answer::Pending, |said| Answer::Ready(*said))
    }

    fn expression_host(&self) -> &dyn Host {
        self.host
    }
}
