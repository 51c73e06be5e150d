//! A certificate's extensions as text, for `PeerExtList`: as OpenSSL prints those with a text, a usage, or basic
//! constraints. Others have no value here.

use x509_parser::asn1_rs::{Any, Oid, Tag};
use x509_parser::extensions::{ExtendedKeyUsage, ParsedExtension, X509Extension};
use x509_parser::prelude::{FromDer, X509Certificate};

/// OpenSSL's short and long names of extensions.
const NAMES: [(&str, &str, &str); 4] = [
    ("2.5.29.15", "keyUsage", "X509v3 Key Usage"),
    ("2.5.29.19", "basicConstraints", "X509v3 Basic Constraints"),
    ("2.5.29.37", "extendedKeyUsage", "X509v3 Extended Key Usage"),
    ("2.16.840.1.113730.1.13", "nsComment", "Netscape Comment"),
];

/// The values of the extensions with this name or number.
pub(crate) fn values(der: &[u8], name: &[u8]) -> Vec<Vec<u8>> {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else { return Vec::new() };
    let Ok(name) = std::str::from_utf8(name) else { return Vec::new() };
    let known = NAMES.iter().find(|(_, short, long)| *short == name || *long == name);
    let id = known.map_or(name, |(id, ..)| *id);
    let named = certificate.extensions().iter().filter(|extension| extension.oid.to_id_string() == id);
    named.filter_map(value).map(String::into_bytes).collect()
}

fn value(extension: &X509Extension<'_>) -> Option<String> {
    match extension.parsed_extension() {
        ParsedExtension::BasicConstraints(basic) => {
            let depth = basic.path_len_constraint.map(|depth| format!(", pathlen:{depth}"));
            Some(format!("CA:{}{}", if basic.ca { "TRUE" } else { "FALSE" }, depth.unwrap_or_default()))
        }
        ParsedExtension::KeyUsage(usage) => {
            Some(usage.to_string().replace("Key Cert Sign", "Certificate Sign"))
        }
        ParsedExtension::ExtendedKeyUsage(usage) => Some(extended(usage)),
        _ => text(extension.value),
    }
}

fn extended(usage: &ExtendedKeyUsage<'_>) -> String {
    let all = [
        (usage.server_auth, "TLS Web Server Authentication"),
        (usage.client_auth, "TLS Web Client Authentication"),
        (usage.code_signing, "Code Signing"),
        (usage.email_protection, "E-mail Protection"),
        (usage.time_stamping, "Time Stamping"),
        (usage.ocsp_signing, "OCSP Signing"),
        (usage.any, "Any Extended Key Usage"),
    ];
    let known = all.into_iter().filter(|(set, _)| *set).map(|(_, name)| name.to_owned());
    known.chain(usage.other.iter().map(Oid::to_id_string)).collect::<Vec<_>>().join(", ")
}

/// The kinds of text that are for people to read (RFC 5280's DisplayText).
fn text(value: &[u8]) -> Option<String> {
    let (_, any) = Any::from_der(value).ok()?;
    match any.tag() {
        Tag::Utf8String | Tag::Ia5String | Tag::VisibleString => {
            std::str::from_utf8(any.data).ok().map(str::to_owned)
        }
        Tag::BmpString => {
            let units = any.data.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).collect::<Result<_, _>>().ok()
        }
        _ => None,
    }
}
