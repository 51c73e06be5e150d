//! mod_ssl's variables about a certificate, the server's or a client's: `SSL_SERVER_S_DN` and related ones. Names of
//! fields and algorithms are OpenSSL's, as scripts know them.
//!
//! A virtual host that has certificates for several kinds of keys tells of the first.

use base64::Engine as _;
use hostler_sys::time::{Zone, strftime};
use rustls_pki_types::CertificateDer;
use std::borrow::Cow;
use std::sync::OnceLock;
use x509_parser::asn1_rs::Any;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate, X509Name};

/// A certificate, read when somebody asks for the first time.
#[derive(Debug, Default)]
pub(crate) struct CertificateFacts {
    der: Vec<u8>,
    /// The prefix of its variables.
    prefix: &'static str,
    known: OnceLock<Vec<(String, String)>>,
}

/// Fields of names: identifier, name in `…_DN_x`, name within `…_DN`.
const FIELDS: [(&str, &str, &str); 16] = [
    ("2.5.4.6", "C", "C"),
    ("2.5.4.8", "ST", "ST"),
    ("2.5.4.7", "L", "L"),
    ("2.5.4.10", "O", "O"),
    ("2.5.4.11", "OU", "OU"),
    ("2.5.4.3", "CN", "CN"),
    ("2.5.4.12", "T", "title"),
    ("2.5.4.43", "I", "initials"),
    ("2.5.4.42", "G", "GN"),
    ("2.5.4.4", "S", "SN"),
    ("2.5.4.13", "D", "description"),
    ("0.9.2342.19200300.100.1.1", "UID", "UID"),
    ("1.2.840.113549.1.9.1", "Email", "emailAddress"),
    ("0.9.2342.19200300.100.1.25", "", "DC"),
    ("2.5.4.5", "", "serialNumber"),
    ("2.5.4.9", "", "street"),
];

const ALGORITHMS: [(&str, &str); 11] = [
    ("1.2.840.113549.1.1.1", "rsaEncryption"),
    ("1.2.840.113549.1.1.5", "sha1WithRSAEncryption"),
    ("1.2.840.113549.1.1.10", "rsassaPss"),
    ("1.2.840.113549.1.1.11", "sha256WithRSAEncryption"),
    ("1.2.840.113549.1.1.12", "sha384WithRSAEncryption"),
    ("1.2.840.113549.1.1.13", "sha512WithRSAEncryption"),
    ("1.2.840.10045.2.1", "id-ecPublicKey"),
    ("1.2.840.10045.4.3.2", "ecdsa-with-SHA256"),
    ("1.2.840.10045.4.3.3", "ecdsa-with-SHA384"),
    ("1.2.840.10045.4.3.4", "ecdsa-with-SHA512"),
    ("1.3.101.112", "ED25519"),
];

impl CertificateFacts {
    /// Of a server's certificate.
    pub(crate) fn server(der: &CertificateDer<'_>) -> Self {
        Self { der: der.to_vec(), prefix: "SSL_SERVER_", known: OnceLock::new() }
    }

    /// Of a client's certificate.
    pub(crate) fn client(der: &CertificateDer<'_>) -> Self {
        Self { der: der.to_vec(), prefix: "SSL_CLIENT_", known: OnceLock::new() }
    }

    /// All variables but the certificate itself, names whole.
    pub(crate) fn all(&self) -> &[(String, String)] {
        self.known.get_or_init(|| read(&self.der, self.prefix).unwrap_or_default())
    }

    /// A variable; the first of several entries of a name may have `_0` behind it.
    pub(crate) fn find(&self, name: &str) -> Option<Cow<'_, str>> {
        match name.strip_prefix(self.prefix)? {
            "CERT" => return Some(self.pem().into()),
            "V_REMAIN" if self.prefix == "SSL_CLIENT_" => return Some(self.days_left()?.to_string().into()),
            "CERT_RFC4523_CEA" => return Some(self.exact_assertion()?.into()),
            _ => {}
        }
        // Quirk(apache): in either case, which expressions count on.
        let find = |name: &str| self.all().iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let found = find(name).or_else(|| find(name.strip_suffix("_0").filter(|n| n.contains("_DN_"))?));
        found.map(|(_, value)| Cow::Borrowed(value.as_str()))
    }

    /// The certificate as PEM (RFC 7468).
    pub(crate) fn pem(&self) -> String {
        let text = base64::engine::general_purpose::STANDARD.encode(&self.der);
        let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
        for line in text.as_bytes().chunks(64) {
            pem.push_str(&String::from_utf8_lossy(line));
            pem.push('\n');
        }
        pem + "-----END CERTIFICATE-----\n"
    }
}

impl CertificateFacts {
    /// Returns the texts of its extensions with this name or number.
    pub(crate) fn extensions(&self, name: &[u8]) -> Vec<Vec<u8>> {
        super::certificate_extensions::values(&self.der, name)
    }

    fn parsed(&self) -> Option<X509Certificate<'_>> {
        Some(X509Certificate::from_der(&self.der).ok()?.1)
    }

    /// `V_REMAIN`: whole days, 0 when it has expired.
    fn days_left(&self) -> Option<i64> {
        let end = self.parsed()?.validity().not_after.timestamp();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
        Some((end - i64::try_from(now).ok()?).max(0) / 86_400)
    }

    /// Serial number and issuer as RFC 4523's exact assertion has them.
    fn exact_assertion(&self) -> Option<String> {
        let parsed = self.parsed()?;
        let issuer = distinguished(parsed.issuer());
        Some(format!("{{ serialNumber {}, issuer rdnSequence:\"{issuer}\" }}", parsed.tbs_certificate.serial))
    }

    /// The subject in OpenSSL's old form of one line (`/C=DE/CN=someone`), which FakeBasicAuth makes users' names of.
    pub(crate) fn subject_line(&self) -> Option<String> {
        Some(line(self.parsed()?.subject()))
    }

    /// The same of a variable that is a whole name (`SSLOptions +LegacyDNStringFormat`); `None`: it is another one.
    pub(crate) fn legacy(&self, name: &str) -> Option<String> {
        match name.strip_prefix(self.prefix)? {
            "S_DN" => self.subject_line(),
            "I_DN" => Some(line(self.parsed()?.issuer())),
            _ => None,
        }
    }
}

/// As X509_NAME_oneline writes a name: what is no printable ASCII as its bytes.
fn line(name: &X509Name<'_>) -> String {
    let mut line = String::new();
    for (id, value) in fields(name) {
        let field = FIELDS.iter().find(|(known, ..)| *known == id).map_or(&*id, |(.., field)| field);
        line.push_str(&format!("/{field}="));
        for &byte in value.as_bytes() {
            match byte {
                b' '..=b'~' => line.push(char::from(byte)),
                _ => line.push_str(&format!("\\x{byte:02X}")),
            }
        }
    }
    line
}

fn read(der: &[u8], prefix: &str) -> Option<Vec<(String, String)>> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let mut out = Vec::new();
    let mut put = |name: &str, value: String| out.push((format!("{prefix}{name}"), value));
    put("M_VERSION", (certificate.version().0 + 1).to_string());
    put("M_SERIAL", certificate.raw_serial_as_string().replace(':', "").to_ascii_uppercase());
    put("V_START", date(certificate.validity().not_before.timestamp()));
    put("V_END", date(certificate.validity().not_after.timestamp()));
    put("A_KEY", algorithm(&certificate.public_key().algorithm.algorithm.to_id_string()));
    put("A_SIG", algorithm(&certificate.signature_algorithm.algorithm.to_id_string()));
    for (which, name) in [("S_DN", certificate.subject()), ("I_DN", certificate.issuer())] {
        put(which, distinguished(name));
        let mut met: Vec<&str> = Vec::new();
        for (id, value) in fields(name) {
            let Some((_, field, _)) =
                FIELDS.iter().find(|(known, field, _)| *known == id && !field.is_empty())
            else {
                continue;
            };
            match met.iter().filter(|known| *known == field).count() {
                0 => put(&format!("{which}_{field}"), value),
                n => put(&format!("{which}_{field}_{n}"), value),
            }
            met.push(field);
        }
    }
    let names = certificate.subject_alternative_name().ok().flatten();
    let names = names.map_or(&[][..], |extension| &extension.value.general_names);
    let (mut hosts, mut mails, mut others) = (0, 0, 0);
    for name in names {
        let (kind, count, value) = match name {
            GeneralName::DNSName(value) => ("DNS", &mut hosts, (*value).to_owned()),
            GeneralName::RFC822Name(value) => ("Email", &mut mails, (*value).to_owned()),
            GeneralName::OtherName(id, value) => match other_name(prefix, &id.to_id_string(), value) {
                Some((kind, value)) => (kind, &mut others, value),
                None => continue,
            },
            _ => continue,
        };
        put(&format!("SAN_{kind}_{count}"), value);
        *count += 1;
    }
    Some(out)
}

/// Names of other kinds that mod_ssl knows: a client's login at Microsoft's, a server's service (RFC 4985).
fn other_name(prefix: &str, id: &str, value: &[u8]) -> Option<(&'static str, String)> {
    let kind = match (prefix, id) {
        ("SSL_CLIENT_", "1.3.6.1.4.1.311.20.2.3") => "OTHER_msUPN",
        ("SSL_SERVER_", "1.3.6.1.5.5.7.8.7") => "OTHER_dnsSRV",
        _ => return None,
    };
    let (_, tagged) = Any::from_der(value).ok()?;
    let (_, text) = Any::from_der(tagged.data).ok()?;
    Some((kind, std::str::from_utf8(text.data).ok()?.to_owned()))
}

fn fields(name: &X509Name<'_>) -> Vec<(String, String)> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    name.iter_attributes()
        .map(|a| {
            (a.attr_type().to_id_string(), a.as_str().map_or_else(|_| text(a.as_slice()), str::to_owned))
        })
        .collect()
}

/// RFC 2253: the last first, characters with a meaning escaped.
fn distinguished(name: &X509Name<'_>) -> String {
    let parts = fields(name).into_iter().rev().map(|(id, value)| {
        let field = FIELDS.iter().find(|(known, ..)| *known == id).map_or(&*id, |(.., field)| field);
        format!("{field}={}", escaped(&value))
    });
    parts.collect::<Vec<_>>().join(",")
}

fn escaped(value: &str) -> String {
    let last = value.chars().count().saturating_sub(1);
    let mut out = String::new();
    for (at, c) in value.chars().enumerate() {
        match c {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' => out.extend(['\\', c]),
            '#' if at == 0 => out.extend(['\\', c]),
            ' ' if at == 0 || at == last => out.extend(['\\', c]),
            c if c.is_ascii_control() => out.push_str(&format!("\\{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

fn algorithm(id: &str) -> String {
    ALGORITHMS.iter().find(|(known, _)| *known == id).map_or(id, |(_, name)| name).to_owned()
}

fn date(seconds: i64) -> String {
    let mut out = Vec::new();
    strftime(b"%b %e %H:%M:%S %Y GMT", seconds, Zone::Gmt, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls_pki_types::pem::PemObject;

    /// Made with openssl; the expected values are what mod_ssl tells of it.
    const PEM: &str = include_str!("test-certificate.pem");
    /// The form of its names under `SSLOptions +LegacyDNStringFormat`.
    const LEGACY: [&str; 2] =
        ["/C=DE/ST=Nieder sachsen/L=G, oe/O=Firm\"a/OU=u1/OU=u2/CN=one.test/emailAddress=a@b.test/UID=x"; 2];

    #[test]
    fn variables_are_those_of_mod_ssl() {
        let der = CertificateDer::from_pem_slice(PEM.as_bytes()).unwrap();
        let facts = CertificateFacts::server(&der);
        let told = include_str!("test-certificate.txt").lines().map(|line| line.split_once('=').unwrap());
        for (name, value) in told.clone() {
            assert_eq!(facts.find(name).as_deref(), Some(value), "{name}");
        }
        assert_eq!(facts.all().len(), told.count());
        assert_eq!(facts.find("SSL_SERVER_S_DN_OU_0").as_deref(), Some("u1"));
        assert_eq!(facts.find("SSL_SERVER_S_DN_XY"), None);
        assert_eq!(facts.pem(), PEM);
        let legacy =
            ["SSL_SERVER_S_DN", "SSL_SERVER_I_DN"].map(|name| facts.legacy(name).unwrap_or_default());
        assert_eq!(legacy, LEGACY);
        assert_eq!(facts.legacy("SSL_SERVER_S_DN_CN"), None);
    }
}
