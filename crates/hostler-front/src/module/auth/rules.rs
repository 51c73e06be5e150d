//! What the rules of a request (Order, Allow, Deny, Require) come to, with the names, addresses, groups and programs that
//! they ask about.

use crate::hook::plan::plan;
use crate::io::open_file::OpenFile;
use crate::limits::aside;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::connection::Validity;
use crate::request::expr_host::RequestHost;
use crate::request::flow::Halt;
use crate::request::names;
use crate::site::files::AccessFiles;
use hostler_config::directives::auth;
use hostler_config::directives::authz::{Facts, Need, Stop};
use hostler_expr::{Answer, EvalError, Host};
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;

/// What had to be fetched for the rules.
#[derive(Default)]
pub(super) struct Known {
    client_name: Option<Option<String>>,
    addresses: HashMap<String, Vec<IpAddr>>,
    members: HashMap<String, bool>,
    /// What functions have said about words of Require; they may say something else of a user.
    programs: HashMap<(String, String), u16>,
}

/// Largest password or group file, in bytes.
const LARGEST: u64 = 16 << 20;

impl Known {
    /// Looks for something in a password or group file, read as the site's user.
    pub(super) async fn search<T: Send + 'static>(
        &self,
        request: &Request,
        path: &str,
        look: impl FnOnce(&str) -> T + Send + 'static,
    ) -> Result<T, Halt> {
        let site = request.thread.site(&request.server);
        let facts = site.walk(path.as_bytes(), &AccessFiles::none()).await;
        let file = facts.ok().and_then(|facts| facts.file.clone()).filter(|file| file.info.size <= LARGEST);
        let unreadable = || {
            let message = format!(
                "could not open password or group file {path}: the site's user must be able to read it, and it may \
                 have no more than {LARGEST} bytes"
            );
            log::request(request, Severity::Error, "authn_file", &message);
            Halt::Status(500)
        };
        let file = file.ok_or_else(unreadable)?;
        if let Some(text) = file.content() {
            return Ok(look(&String::from_utf8_lossy(&text)));
        }
        let permit = aside::permit(request).await?;
        let size = file.info.size;
        let descriptor = file.descriptor().try_clone().map_err(|_| unreadable())?;
        let found = aside::run(request, permit, move || {
            let text = OpenFile::whole(&descriptor, size)?;
            Some(look(&String::from_utf8_lossy(&text)))
        });
        found.await?.ok_or_else(unreadable)
    }

    async fn fetch(&mut self, request: &mut Request, need: Need) -> Result<(), Halt> {
        match need {
            Need::ClientName => {
                let name = names::client_for_access(&request.peer).await;
                self.client_name = Some(name);
            }
            Need::Addresses(name) => {
                let found = names::addresses(&name).await;
                self.addresses.insert(name, found);
            }
            Need::Membership(group) => {
                let member = match (&request.dir.auth.group_file, &request.user) {
                    (Some(file), Some(user)) => {
                        let (user, group) = (String::from_utf8_lossy(user).into_owned(), group.clone());
                        let look = move |text: &str| auth::is_member(text, &group, &user);
                        self.search(request, file, look).await?
                    }
                    _ => false,
                };
                self.members.insert(group, member);
            }
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

/// Asks rules until they need nothing more.
pub(super) async fn ask<T>(
    request: &mut Request,
    known: &mut Known,
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
                method: String::from_utf8_lossy(&seen.method).into_owned(),
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
                log::request(
                    request,
                    Severity::Error,
                    "authz_core",
                    &format!("access can't be decided: {error}"),
                );
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
    known: &'a Known,
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
        self.request.peer.remote.ip()
    }

    fn local_ip(&self) -> IpAddr {
        self.request.peer.local.ip()
    }

    fn is_encrypted(&self) -> bool {
        self.request.peer.tls.is_some()
    }

    fn has_valid_certificate(&self) -> bool {
        let client = self.request.peer.tls.as_ref().and_then(|tls| tls.client.as_ref());
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

    fn is_member(&self, group: &str) -> Answer<bool> {
        self.known.members.get(group).map_or(Answer::Pending, |member| Answer::Ready(*member))
    }

    fn program(&self, function: &str, words: &str) -> Answer<u16> {
        let said = self.known.programs.get(&(function.to_owned(), words.to_owned()));
        said.map_or(Answer::Pending, |said| Answer::Ready(*said))
    }

    fn expression_host(&self) -> &dyn Host {
        self.host
    }
}
