//! mod_ssl: SSLRequireSSL, SSLRequire and SSLVerifyClient, users by their certificates, and the variables that programs
//! get. The handshake is not its part.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::connection::Tls;
use crate::request::expr_host;
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::tls_facts::{value, value_with};
use base64::Engine as _;
use bytes::Bytes;
use hostler_config::directives::auth;
use hostler_config::directives::ssl::Options;
use hostler_config::directives::ssl::client::{DEPTH, Verify};

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Access,
            after: &["allowmethods"],
            before: &["perl"],
            when: is_asked_for,
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(encryption(request))),
        },
        Hook {
            phase: Phase::Authn,
            after: &[],
            before: &["perl"],
            when: |request| request.client.peer.tls.is_some(),
            effect: Effect::Decides,
            run: Run::Now(fake_basic_auth),
        },
        Hook {
            phase: Phase::Fixup,
            after: &["perl"],
            before: &[],
            when: |request| request.client.peer.tls.is_some(),
            effect: Effect::Notes,
            run: Run::Now(|request| {
                fixup(request);
                Ok(Flow::Ok)
            }),
        },
    ],
    ..Module::new("ssl", is_asked_for)
};

/// The variables that `SSLOptions +StdEnvVars` sets for programs.
const STANDARD: [&str; 11] = [
    "SSL_VERSION_INTERFACE",
    "SSL_VERSION_LIBRARY",
    "SSL_PROTOCOL",
    "SSL_SECURE_RENEG",
    "SSL_COMPRESS_METHOD",
    "SSL_CIPHER",
    "SSL_CIPHER_EXPORT",
    "SSL_CIPHER_USEKEYSIZE",
    "SSL_CIPHER_ALGKEYSIZE",
    "SSL_CLIENT_VERIFY",
    "SSL_SESSION_RESUMED",
];

/// Returns whether SSLRequireSSL, SSLRequire or SSLVerifyClient guard it, or it has users by their certificates.
fn is_asked_for(request: &Request) -> bool {
    let ssl = &request.resource.dir.ssl;
    !ssl.require.is_empty()
        || ssl.ciphers.is_some()
        || ssl.require_ssl == Some(true)
        || ssl.verify.is_some()
        || ssl.depth.is_some()
        || ssl.user_name.is_some()
}

/// SSLRequireSSL, SSLCipherSuite, SSLVerifyClient and SSLRequire: neither Satisfy nor a login gets around them.
async fn encryption(request: &Request) -> Outcome {
    let dir = request.resource.dir.clone();
    let refuse = |why: &str| {
        let path = String::from_utf8_lossy(&request.resource.filename);
        log::request(request, Severity::Error, "ssl", &format!("access to {path} denied: {why}"));
        Err(Halt::Status(403))
    };
    if dir.ssl.require_ssl == Some(true) && request.client.peer.tls.is_none() {
        return refuse("the connection is not encrypted (SSLRequireSSL)");
    }
    if let Some(why) = cipher_refusal(request).or_else(|| certificate_refusal(request)) {
        return refuse(&why);
    }
    for condition in &dir.ssl.require {
        match expr_host::test(request, condition, &mut hostler_expr::Captures::new()).await {
            Ok(true) => {}
            Ok(false) => return refuse("SSLRequire does not hold"),
            Err(error) => return refuse(&format!("SSLRequire can't be evaluated: {error}")),
        }
    }
    Ok(Flow::Ok)
}

/// Why the connection's cipher suite does not do for this section. As in mod_ssl nothing is said of TLS 1.3.
fn cipher_refusal(request: &Request) -> Option<String> {
    let tls = request.client.peer.tls.as_ref().filter(|tls| tls.protocol == "TLSv1.2")?;
    let allowed = request.resource.dir.ssl.ciphers.as_ref()?;
    let why = || {
        format!(
            "{} is not among the SSLCipherSuite of the directory, for which no other is agreed on: set it for the virtual host",
            tls.cipher
        )
    };
    (!allowed.iter().any(|name| *name == tls.cipher)).then(why)
}

/// Why the client's certificate does not do for this section.
fn certificate_refusal(request: &Request) -> Option<String> {
    // As in mod_ssl this is about encrypted connections: SSLRequireSSL refuses the others.
    let tls = request.client.peer.tls.as_ref()?;
    let (dir, server) = (&request.resource.dir.ssl, &request.server.conf.ssl.clients);
    let verify = dir.verify.or(server.verify).unwrap_or_default();
    let depth = dir.depth.or(server.depth).unwrap_or(DEPTH);
    match &tls.client {
        Some(client) => {
            let why = client.validity.refusal(verify, depth)?;
            Some(format!("the client's certificate is not accepted (SSLVerifyClient): {why}"))
        }
        None if verify != Verify::Require => None,
        None if tls.asked => Some("the client has shown no certificate (SSLVerifyClient)".to_owned()),
        None => Some(
            "SSLVerifyClient: the handshake did not ask for a certificate; write \"SSLVerifyClient optional\" into the \
             virtual host, because an access file is read too late for that"
                .to_owned(),
        ),
    }
}

/// FakeBasicAuth: a client's certificate becomes the login of a user of its name. Nobody else may use such names.
fn fake_basic_auth(request: &mut Request) -> Outcome {
    let given = request.header("Authorization").and_then(auth::Credentials::parse);
    if given.is_some_and(|given| given.user.starts_with(b"/") && given.password == b"password") {
        return Err(Halt::Status(403));
    }
    if !request.resource.dir.ssl.options.fake_basic_auth() || request.main.is_some() {
        return Ok(Flow::Declined);
    }
    let client = request.client.peer.tls.as_ref().and_then(|tls| tls.client.as_ref());
    let Some(name) = client.and_then(|client| client.facts.subject_line()) else { return Ok(Flow::Declined) };
    // It would end in the middle of the name.
    if !name.contains(':') {
        let login = base64::engine::general_purpose::STANDARD.encode(format!("{name}:password"));
        request.target.configure("Authorization", format!("Basic {login}"));
    }
    Ok(Flow::Declined)
}

/// Puts what the configuration asks for into the request's environment.
pub(crate) fn fixup(request: &mut Request) {
    let peer = request.client.peer.clone();
    let Some(tls) = &peer.tls else { return };
    let options = request.resource.dir.ssl.options.clone();
    request.env.set("HTTPS", Bytes::from_static(b"on"));
    if let Some(name) = &tls.server_name {
        request.env.set("SSL_TLS_SNI", Bytes::copy_from_slice(name.as_bytes()));
    }
    if options.std_env_vars() {
        standard(request, tls, &options);
    }
    if options.export_cert_data() {
        request.env.set("SSL_SERVER_CERT", tls.certificate.pem());
        if let Some(client) = &tls.client {
            request.env.set("SSL_CLIENT_CERT", client.facts.pem());
            for (number, above) in client.chain.iter().enumerate() {
                request.env.set(format!("SSL_CLIENT_CERT_CHAIN_{number}"), above.pem());
            }
        } else {
            request.env.set("SSL_CLIENT_CERT", Bytes::new());
        }
    }
    if let Some(name) = request.resource.dir.ssl.user_name.clone() {
        match value_with(&options, tls, &name) {
            Some(user) if !user.is_empty() => {
                request.user = Some(Bytes::copy_from_slice(&user));
                request.auth_type = Some(Bytes::from_static(b"ClientCert"));
            }
            _ => {
                let why = format!("SSLUserName: {name} has no value");
                log::request(request, Severity::Warn, "ssl", &why);
            }
        }
    }
}

/// `SSLOptions +StdEnvVars`
fn standard(request: &mut Request, tls: &Tls, options: &Options) {
    for name in STANDARD {
        if let Some(value) = value(tls, name) {
            request.env.set(name, Bytes::copy_from_slice(&value));
        }
    }
    let certificates =
        std::iter::once(&*tls.certificate).chain(tls.client.iter().map(|client| &client.facts));
    for facts in certificates {
        for (name, value) in facts.all() {
            let legacy = if options.legacy_names() { facts.legacy(name) } else { None };
            request.env.set(name.clone(), legacy.unwrap_or_else(|| value.clone()));
        }
    }
    for name in ["SSL_CLIENT_V_REMAIN", "SSL_CLIENT_CERT_RFC4523_CEA"] {
        if let Some(value) = value(tls, name) {
            request.env.set(name, Bytes::copy_from_slice(&value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn every_standard_variable_has_a_value() {
        let tls = Tls {
            protocol: "TLSv1.3",
            cipher: "TLS_AES_128_GCM_SHA256".into(),
            cipher_suite: 0x1301,
            server_name: None,
            resumed: false,
            certificate: Arc::default(),
            asked: false,
            client: None,
        };
        for name in STANDARD {
            assert!(value(&tls, name).is_some(), "{name}");
        }
    }
}
