//! The request's environment: SetEnv, PassEnv, UnsetEnv, SetEnvIf and their kin.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::limits::budget;
use crate::request::Request;
use crate::request::expr_host::RequestHost;
use crate::request::flow::{Flow, Outcome};
use hostler_config::directives::setenvif::{self, Attribute, Need, Pause, Rule};
use hostler_expr::{Answer, Host, Regex, RegexError, effort};
use std::borrow::Cow;
use std::sync::Arc;

pub(crate) static SETENVIF: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::PostRead,
            after: &["headers"],
            before: &[],
            when: |request| request.is_read_anew() && request.server.conf.setenvif.is_set(),
            effect: Effect::Notes,
            run: Run::Later(|request| Box::pin(of_server(request))),
        },
        Hook {
            phase: Phase::HeaderParser,
            after: &[],
            before: &[],
            when: |request| request.resource.dir.setenvif.is_set(),
            effect: Effect::Notes,
            run: Run::Later(|request| Box::pin(of_directory(request))),
        },
    ],
    // Rules about the client's program alone are told apart by its class.
    ..Module::new("setenvif", |request| {
        request.resource.dir.setenvif.is_set() || !crate::memory::agents::are_alone(&request.server)
    })
};

pub(crate) static ENV: Module = Module {
    hooks: &[Hook {
        phase: Phase::Fixup,
        after: &["ssl"],
        before: &[],
        when: |request| request.resource.dir.env.variables().next().is_some(),
        effect: Effect::Notes,
        run: Run::Later(|request| Box::pin(fixup(request))),
    }],
    // Its values are the same for everybody.
    ..Module::new("env", |_| false)
};

/// Server-level SetEnvIf, right after the request was read.
async fn of_server(request: &mut Request) -> Outcome {
    let server = request.server.clone();
    set_env_if(request, &server.conf.setenvif.rules).await
}

/// SetEnvIf and BrowserMatch of sections and .htaccess: what comes before access control.
async fn of_directory(request: &mut Request) -> Outcome {
    let dir = request.resource.dir.clone();
    set_env_if(request, &dir.setenvif.rules).await
}

async fn set_env_if(request: &mut Request, rules: &[Arc<Rule>]) -> Outcome {
    let mut view = View { host: RequestHost::new(request) };
    let mut from = 0;
    while let Err(Pause { at, need }) = effort::resumable(|| setenvif::apply(rules, from, &mut view)) {
        from = at;
        match need {
            Need::Expression(question) => Box::pin(view.host.fetch(&question)).await,
            // What HostnameLookups wants is known by now.
            Need::RemoteHost => {}
            Need::Turn => budget::turn_at(view.host.request, rules[at].place()).await?,
        }
    }
    budget::check(request)?;
    Ok(Flow::Ok)
}

/// Most variables that rules may set, and the longest value in bytes: rules can double a value again and again.
const MOST: usize = 4096;
const LONGEST: usize = 64 << 10;

/// Sets a variable for a rule, if there is room.
fn set(request: &mut Request, name: &str, value: Vec<u8>) {
    // A table is searched from its beginning.
    let spent = effort::spend(100 + 4 * request.env.len());
    if value.len() > LONGEST || (request.env.len() >= MOST && !request.env.contains(name)) || spent.is_err() {
        fail(request, "setenvif", &format!("there is no room for the variable {name}"));
        return;
    }
    request.env.set(name.to_owned(), value);
}

/// Tells of a rule that was not carried out, the first one only.
fn fail(request: &Request, module: &str, reason: &str) {
    budget::fail_rule(request, module, reason);
}

struct View<'a> {
    host: RequestHost<&'a mut Request>,
}

impl setenvif::Request for View<'_> {
    fn attribute(&self, attribute: Attribute) -> Answer<Option<Cow<'_, [u8]>>> {
        let request = &*self.host.request;
        let owned = |text: String| Some(Cow::Owned(text.into_bytes()));
        Answer::Ready(match attribute {
            Attribute::RemoteHost => owned(crate::request::variables::remote_host(request)),
            Attribute::RemoteAddr => owned(request.client.peer.remote.ip().to_string()),
            Attribute::ServerAddr => owned(request.client.peer.local.ip().to_string()),
            Attribute::RequestMethod => Some(Cow::Borrowed(&*request.target.method)),
            Attribute::RequestProtocol => owned(crate::request::variables::protocol(request).to_owned()),
            Attribute::RequestUri => Some(Cow::Borrowed(&request.target.uri)),
        })
    }

    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.host.request.target.headers_in.joined(name.as_bytes()).map(|v| Cow::Owned(v.to_vec()))
    }

    fn header_matching(&self, name: &Regex) -> Result<Option<Cow<'_, [u8]>>, RegexError> {
        for (field, value) in self.host.request.target.headers_in.iter() {
            if name.is_match(field)? {
                return Ok(Some(Cow::Borrowed(&**value)));
            }
        }
        Ok(None)
    }

    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.host.request.env.find(name).map(|v| Cow::Borrowed(&**v))
    }

    fn set_env(&mut self, name: &str, value: Vec<u8>) {
        set(self.host.request, name, value);
    }

    fn unset_env(&mut self, name: &str) {
        self.host.request.env.unset(name);
    }

    fn expression_host(&self) -> &dyn Host {
        &self.host
    }

    fn failed(&self, reason: &str) {
        fail(self.host.request, "setenvif", reason);
    }

    fn is_overdue(&self) -> bool {
        let _ = effort::spend(200);
        budget::is_overdue() || self.host.request.budget.has_failed()
    }
}

/// SetEnv, PassEnv, UnsetEnv: among the fixups, after access control.
async fn fixup(request: &mut Request) -> Outcome {
    let dir = request.resource.dir.clone();
    for (name, value) in dir.env.variables() {
        set(request, name, value.as_bytes().to_vec());
        if budget::is_overdue() {
            budget::turn(request).await?;
        }
    }
    Ok(Flow::Ok)
}
