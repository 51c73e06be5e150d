//! mod_ssl: SSLRequireSSL and SSLRequire, and the variables that programs get. The handshake is not its part.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::expr_host;
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::tls_facts::value;
use bytes::Bytes;

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
            phase: Phase::Fixup,
            after: &["perl"],
            before: &[],
            when: |request| request.peer.tls.is_some(),
            effect: Effect::Notes,
            run: Run::Now(|request| {
                fixup(request);
                Ok(Flow::Ok)
            }),
        },
    ],
    ..Module::new("ssl", is_asked_for)
};

/// What `SSLOptions +StdEnvVars` gives to programs.
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

/// Whether SSLRequireSSL or SSLRequire guard it.
fn is_asked_for(request: &Request) -> bool {
    !request.dir.ssl.require.is_empty() || request.dir.ssl.require_ssl == Some(true)
}

/// SSLRequireSSL and SSLRequire: neither Satisfy nor a login gets around them.
async fn encryption(request: &Request) -> Outcome {
    let dir = request.dir.clone();
    let refuse = |why: &str| {
        let path = String::from_utf8_lossy(&request.filename);
        log::request(request, Severity::Error, "ssl", &format!("access to {path} denied: {why}"));
        Err(Halt::Status(403))
    };
    if dir.ssl.require_ssl == Some(true) && request.peer.tls.is_none() {
        return refuse("the connection is not encrypted (SSLRequireSSL)");
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

/// Puts what the configuration asks for into the request's environment.
pub(crate) fn fixup(request: &mut Request) {
    let peer = request.peer.clone();
    let Some(tls) = &peer.tls else { return };
    request.env.set("HTTPS", Bytes::from_static(b"on"));
    if let Some(name) = &tls.server_name {
        request.env.set("SSL_TLS_SNI", Bytes::copy_from_slice(name.as_bytes()));
    }
    if request.dir.ssl.options.std_env_vars() {
        for name in STANDARD {
            if let Some(value) = value(tls, name) {
                request.env.set(name, Bytes::copy_from_slice(&value));
            }
        }
        for (name, value) in tls.certificate.all() {
            request.env.set(name.clone(), value.clone());
        }
    }
    if request.dir.ssl.options.export_cert_data() {
        request.env.set("SSL_SERVER_CERT", tls.certificate.pem());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::connection::Tls;
    use std::sync::Arc;

    #[test]
    fn every_standard_variable_has_a_value() {
        let tls = Tls {
            protocol: "TLSv1.3",
            cipher: "TLS_AES_128_GCM_SHA256".into(),
            server_name: None,
            resumed: false,
            certificate: Arc::default(),
        };
        for name in STANDARD {
            assert!(value(&tls, name).is_some(), "{name}");
        }
    }
}
