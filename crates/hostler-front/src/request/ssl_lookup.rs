//! `ssl_var_lookup`: mod_ssl's names of variables (`%{NAME}s` of mod_headers, `%{SSL:NAME}`, `%{NAME}x` in logs). Many are
//! about the request and have a value without TLS.

use crate::request::{Request, tls_facts, variables};
use hostler_expr::{Variable, header_of};
use std::borrow::Cow;

/// The value; `None`: it has none, or mod_ssl is not there.
pub(crate) fn value<'a>(request: &'a Request, name: &str) -> Option<Cow<'a, [u8]>> {
    let prefixed = |prefix: &str| {
        let (start, rest) = name.split_at_checked(prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then_some(rest)
    };
    if prefixed("SSL_").is_some() {
        let tls = request.client.peer.tls.as_ref()?;
        return tls_facts::value_with(&request.resource.dir.ssl.options, tls, name);
    }
    let value = if is_loaded(request) { of_request(request, name, prefixed) } else { None };
    value.filter(|value| !value.is_empty())
}

/// A variable that is not about TLS. `prefixed`: what follows a prefix of the name.
fn of_request<'a, 'n>(
    request: &'a Request,
    name: &'n str,
    prefixed: impl Fn(&str) -> Option<&'n str>,
) -> Option<Cow<'a, [u8]>> {
    if let Some(name) = prefixed("ENV:") {
        return request
            .notes
            .find(name)
            .or_else(|| request.env.find(name))
            .map(|value| Cow::Borrowed(&**value));
    }
    if let Some(field) = prefixed("HTTP:").or_else(|| header_of(name)) {
        return request.target.headers_in.find(field).map(|value| Cow::Borrowed(&**value));
    }
    let variable = Variable::from_name(name).filter(|variable| is_known(*variable))?;
    variables::value(request, variable)
}

/// Returns whether the configuration loads mod_ssl; one that loads nothing has every module.
fn is_loaded(request: &Request) -> bool {
    let loaded = &request.thread.shared.config.facts.loaded_modules;
    loaded.is_empty() || loaded.contains("ssl_module")
}

/// Variables of expressions that mod_ssl knows too.
fn is_known(variable: Variable) -> bool {
    matches!(
        variable,
        Variable::RequestMethod
            | Variable::RequestScheme
            | Variable::RequestUri
            | Variable::RequestFilename
            | Variable::RemoteAddr
            | Variable::RemoteHost
            | Variable::RemoteUser
            | Variable::ServerAdmin
            | Variable::ServerName
            | Variable::ServerPort
            | Variable::ServerProtocol
            | Variable::ScriptFilename
            | Variable::PathInfo
            | Variable::QueryString
            | Variable::IsSubreq
            | Variable::DocumentRoot
            | Variable::AuthType
            | Variable::TheRequest
            | Variable::Https
            | Variable::ServerSoftware
            | Variable::ApiVersion
            | Variable::TimeYear
            | Variable::TimeMon
            | Variable::TimeDay
            | Variable::TimeHour
            | Variable::TimeMin
            | Variable::TimeSec
            | Variable::TimeWday
            | Variable::Time
    )
}
