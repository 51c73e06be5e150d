//! The request's environment: SetEnv, PassEnv, UnsetEnv, SetEnvIf and their kin.

use crate::expr_host::RequestHost;
use crate::log::{self, Severity};
use crate::request::Request;
use bytes::Bytes;
use hostler_config::directives::setenvif::{self, Attribute, Need, Pause, Rule};
use hostler_expr::{Answer, Host, Regex};
use std::borrow::Cow;
use std::sync::Arc;

/// Server-level SetEnvIf, right after the request was read.
pub(crate) async fn set_env_if_server(request: &mut Request) {
    let server = request.server.clone();
    if server.conf.setenvif.is_set() {
        set_env_if(request, &server.conf.setenvif.rules).await;
    }
}

/// SetEnvIf of sections and .htaccess.
pub(crate) async fn set_env_if_dir(request: &mut Request) {
    let dir = request.dir.clone();
    if dir.setenvif.is_set() {
        set_env_if(request, &dir.setenvif.rules).await;
    }
}

async fn set_env_if(request: &mut Request, rules: &[Arc<Rule>]) {
    let mut view = View { host: RequestHost::new(request) };
    let mut from = 0;
    while let Err(Pause { at, need }) = setenvif::apply(rules, from, &mut view) {
        from = at;
        match need {
            Need::Expression(question) => Box::pin(view.host.fetch(&question)).await,
            // What HostnameLookups wants is known by now.
            Need::RemoteHost => {}
        }
    }
}

struct View<'a> {
    host: RequestHost<&'a mut Request>,
}

impl setenvif::Request for View<'_> {
    fn attribute(&self, attribute: Attribute) -> Answer<Option<Cow<'_, [u8]>>> {
        let request = &*self.host.request;
        let owned = |text: String| Some(Cow::Owned(text.into_bytes()));
        Answer::Ready(match attribute {
            Attribute::RemoteHost => owned(crate::variables::remote_host(request)),
            Attribute::RemoteAddr => owned(request.peer.remote.ip().to_string()),
            Attribute::ServerAddr => owned(request.peer.local.ip().to_string()),
            Attribute::RequestMethod => Some(Cow::Borrowed(&*request.method)),
            Attribute::RequestProtocol => owned(crate::variables::protocol(request).to_owned()),
            Attribute::RequestUri => Some(Cow::Borrowed(&request.uri)),
        })
    }

    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.host.request.headers_in.joined(name.as_bytes()).map(|v| Cow::Owned(v.to_vec()))
    }

    fn header_matching(&self, name: &Regex) -> Option<Cow<'_, [u8]>> {
        let mut fields = self.host.request.headers_in.iter();
        fields.find(|(field, _)| name.is_match(field).unwrap_or(false)).map(|(_, v)| Cow::Borrowed(&**v))
    }

    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.host.request.env.find(name).map(|v| Cow::Borrowed(&**v))
    }

    fn set_env(&mut self, name: &str, value: Vec<u8>) {
        self.host.request.env.set(name.to_owned(), value);
    }

    fn unset_env(&mut self, name: &str) {
        self.host.request.env.unset(name);
    }

    fn expression_host(&self) -> &dyn Host {
        &self.host
    }

    fn failed(&self, reason: &str) {
        log::request(self.host.request, Severity::Error, "setenvif", reason);
    }
}

/// SetEnv, PassEnv, UnsetEnv: among the fixups, after access control.
pub(crate) fn fixup(request: &mut Request) {
    let dir = request.dir.clone();
    for (name, value) in dir.env.variables() {
        request.env.set(name.to_owned(), Bytes::copy_from_slice(value.as_bytes()));
    }
}
