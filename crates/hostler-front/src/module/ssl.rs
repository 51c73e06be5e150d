//! What mod_ssl tells of a connection: `SSL_PROTOCOL` and its relatives, for expressions, programs and logs.
//!
//! Clients are asked for no certificates, so nothing is said of them.

use crate::request::Request;
use crate::request::connection::Tls;
use bytes::Bytes;
use std::borrow::Cow;

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

/// The value of a variable; `None`: it has none here.
pub(crate) fn value<'a>(tls: &'a Tls, name: &str) -> Option<Cow<'a, [u8]>> {
    let text: &str = match name {
        "HTTPS" => "on",
        "SSL_PROTOCOL" => tls.protocol,
        "SSL_CIPHER" => &tls.cipher,
        "SSL_CIPHER_USEKEYSIZE" | "SSL_CIPHER_ALGKEYSIZE" => key_size(&tls.cipher),
        "SSL_CIPHER_EXPORT" => "false",
        "SSL_CLIENT_VERIFY" => "NONE",
        "SSL_COMPRESS_METHOD" => "NULL",
        "SSL_SECURE_RENEG" => "true",
        "SSL_SESSION_RESUMED" => {
            if tls.resumed {
                "Resumed"
            } else {
                "Initial"
            }
        }
        "SSL_TLS_SNI" => tls.server_name.as_deref()?,
        "SSL_VERSION_INTERFACE" => concat!("Hostler/", env!("CARGO_PKG_VERSION")),
        "SSL_VERSION_LIBRARY" => "rustls",
        _ if name.starts_with("SSL_SERVER_") => {
            let value = tls.certificate.find(name)?;
            return Some(Cow::Owned(value.into_owned().into_bytes()));
        }
        _ => return None,
    };
    Some(Cow::Borrowed(text.as_bytes()))
}

/// Bits of the key, which the suite's name tells.
fn key_size(cipher: &str) -> &'static str {
    if cipher.contains("128") { "128" } else { "256" }
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
        assert_eq!(value(&tls, "SSL_CIPHER_USEKEYSIZE").as_deref(), Some(&b"128"[..]));
        assert_eq!(value(&tls, "SSL_TLS_SNI"), None);
        assert_eq!(value(&tls, "SSL_CLIENT_S_DN"), None);
    }
}
