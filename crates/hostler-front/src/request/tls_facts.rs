//! mod_ssl's variables about a connection: `SSL_PROTOCOL` and related ones, for expressions, programs and logs.

use crate::request::connection::{ClientCertificate, Tls, Validity};
use hostler_config::Server;
use hostler_config::directives::ssl::client::Verify;
use hostler_config::directives::ssl::{Options, SniPolicy};
use std::borrow::Cow;

/// The value of a variable; `None`: it has none here.
pub(crate) fn value<'a>(tls: &'a Tls, name: &str) -> Option<Cow<'a, [u8]>> {
    let text: &str = match name {
        "HTTPS" => "on",
        "SSL_PROTOCOL" => tls.protocol,
        "SSL_CIPHER" => &tls.cipher,
        "SSL_CIPHER_USEKEYSIZE" | "SSL_CIPHER_ALGKEYSIZE" => key_size(&tls.cipher),
        "SSL_CIPHER_EXPORT" => "false",
        "SSL_CLIENT_VERIFY" => return Some(verified(tls)),
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
        _ if name.starts_with("SSL_CLIENT_") => return client(tls.client.as_deref()?, name),
        _ => return None,
    };
    Some(Cow::Borrowed(text.as_bytes()))
}

/// The same where these options hold: `SSLOptions +LegacyDNStringFormat` writes whole names as OpenSSL once did.
pub(crate) fn value_with<'a>(options: &Options, tls: &'a Tls, name: &str) -> Option<Cow<'a, [u8]>> {
    if options.legacy_names() {
        let of_client = || tls.client.as_ref()?.facts.legacy(name);
        if let Some(line) = tls.certificate.legacy(name).or_else(of_client) {
            return Some(Cow::Owned(line.into_bytes()));
        }
    }
    value(tls, name)
}

/// `SSL_CLIENT_VERIFY`
fn verified(tls: &Tls) -> Cow<'_, [u8]> {
    let Some(client) = &tls.client else { return Cow::Borrowed(b"NONE") };
    match &client.validity {
        Validity::Valid(_) => Cow::Borrowed(b"SUCCESS"),
        Validity::UnknownIssuer if client.any_issuer => Cow::Borrowed(b"GENEROUS"),
        invalid => {
            let why = invalid.refusal(Verify::Require, u8::MAX).unwrap_or_default();
            Cow::Owned(format!("FAILED:{why}").into_bytes())
        }
    }
}

/// Returns a variable about a client's certificate, or those that came with it.
fn client<'a>(client: &'a ClientCertificate, name: &str) -> Option<Cow<'a, [u8]>> {
    if let Some(number) = name.strip_prefix("SSL_CLIENT_CERT_CHAIN_") {
        let above = client.chain.get(number.parse::<usize>().ok()?)?;
        return Some(Cow::Owned(above.pem().into_bytes()));
    }
    Some(Cow::Owned(client.facts.find(name)?.into_owned().into_bytes()))
}

/// Bits of the key, which the suite's name tells.
fn key_size(cipher: &str) -> &'static str {
    if cipher.contains("128") { "128" } else { "256" }
}

/// Returns whether a connection shaken hands for one may serve the other (SSLVHostSNIPolicy): as a rule where the
/// client got the same certificate and the same versions, and was asked for the same certificates.
pub(crate) fn same_settings(one: &Server, other: &Server) -> bool {
    let (one, other) = (&one.conf.ssl, &other.conf.ssl);
    let same_clients =
        one.clients == other.clients || !(one.clients.are_asked() || other.clients.are_asked());
    match one.sni_policy.unwrap_or_default() {
        SniPolicy::Strict => return false,
        SniPolicy::AuthOnly => return same_clients,
        SniPolicy::Insecure => return true,
        SniPolicy::Secure => {}
    }
    one.is_on() == other.is_on()
        && one.certificates == other.certificates
        && one.keys == other.keys
        && one.chain == other.chain
        && one.versions() == other.versions()
        && one.ciphers == other.ciphers
        && one.groups == other.groups
        && same_clients
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn key_sizes_come_from_the_suite() {
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
        assert_eq!(value(&tls, "SSL_CIPHER_USEKEYSIZE").as_deref(), Some(&b"128"[..]));
        assert_eq!(value(&tls, "SSL_TLS_SNI"), None);
        assert_eq!(value(&tls, "SSL_CLIENT_S_DN"), None);
    }
}
