//! Directives of mod_auth_digest, and the client's side of digest authentication (RFC 7616, with MD5 alone, as Apache) as
//! functions of texts. Nonces are the front's.
//!
//! Everything that a client can say wrongly is told apart here, so that nothing else of it is ever looked at.

use super::Provider;
use super::password::same;
use crate::{Args, Arity, Command, Contexts, Directive, Effect, Module, Overrides};
use md5::{Digest as _, Md5};
use std::fmt::Write as _;

/// mod_auth_digest.
pub static MODULE: Module = Module {
    name: "auth_digest_module",
    file: "mod_auth_digest.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "AuthDigestProvider",
        Arity::Iterate,
        "file|dbm|name ...",
        "Set the providers of password digests",
        |command, args| {
            let provider = Provider::named(command, args.first())?;
            if !provider.has_digests() {
                return Err(format!("the provider \"{}\" has no digests", args.first()));
            }
            settings(command).providers.push(provider);
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new("AuthDigestQop", Arity::Iterate, "auth", "Set the quality of protection", |_, args| {
        let only = args.first().eq_ignore_ascii_case("auth");
        only.then_some(()).ok_or_else(|| "is deprecated: only auth is supported, as in Apache".into())
    })
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthDigestNonceLifetime",
        Arity::Take1,
        "seconds",
        "Set the lifetime of a nonce in seconds; 0: valid for one request, negative: no expiry",
        |command, args| {
            let wrong = || "takes a number of seconds".to_owned();
            settings(command).lifetime = Some(args.first().parse().map_err(|_| wrong())?);
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthDigestNcCheck",
        Arity::Flag,
        "On|Off",
        "Accept each nonce count only once",
        |command, args| {
            settings(command).count = args.flag();
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new("AuthDigestAlgorithm", Arity::Take1, "MD5", "Set the digest algorithm", |_, args| {
        match &args.first().to_ascii_lowercase()[..] {
            "md5" => Ok(()),
            "md5-sess" => Err("MD5-sess is not supported, as in Apache".into()),
            _ => Err(crate::unknown("algorithm", args.first(), &["MD5"])),
        }
    })
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthDigestDomain",
        Arity::Iterate,
        "URI ...",
        "Set the URIs that share one protection space",
        domain,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthDigestShmemSize",
        Arity::Take1,
        "bytes",
        "No effect: the server limits this memory itself",
        |_, _| Ok(()),
    )
    .with_effect(Effect::Harmless),
];

/// A directory's settings of digest authentication. As in Apache, a section that sets one of them replaces all.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// AuthDigestProvider, in the order in which they are asked; none: the file.
    pub providers: Vec<Provider>,
    /// AuthDigestNonceLifetime in seconds; unset means 300.
    pub lifetime: Option<i64>,
    /// AuthDigestNcCheck
    pub count: bool,
    /// AuthDigestDomain
    pub domain: Vec<Box<str>>,
}

fn settings<'c>(command: &'c mut Command<'_>) -> &'c mut Settings {
    command.dir.auth.digest.get_or_insert_default()
}

fn domain(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let uri = args.first();
    if uri.contains(['"', '\\']) {
        return Err(format!("\"{uri}\" has characters that no URI has"));
    }
    settings(command).domain.push(uri.into());
    Ok(())
}

/// Longest `Authorization` field that is read, in bytes.
const LONGEST: usize = 8 << 10;

/// A client's digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// `username`
    pub user: String,
    /// `realm`
    pub realm: String,
    /// `nonce`
    pub nonce: String,
    /// `uri`
    pub uri: String,
    /// `response`, as it was sent.
    pub response: String,
    /// `algorithm`
    pub algorithm: Option<String>,
    /// `qop`
    pub qop: String,
    /// `nc`, as it was sent.
    pub count: String,
    /// `cnonce`
    pub client_nonce: String,
}

/// The kind of an `Authorization` field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// Of another scheme.
    Other,
    /// Of this scheme, with something missing, twice, or beyond all measure.
    Malformed,
    /// Whole; not yet checked.
    Whole(Box<Digest>),
}

impl Field {
    /// Reads a field.
    #[must_use]
    pub fn parse(field: &[u8]) -> Self {
        let space = field.iter().position(|byte| *byte == b' ').unwrap_or(field.len());
        if !field[..space].eq_ignore_ascii_case(b"digest") {
            return Self::Other;
        }
        let text = std::str::from_utf8(&field[space..]).ok().filter(|text| text.len() <= LONGEST);
        text.and_then(digest).map_or(Self::Malformed, |digest| Self::Whole(Box::new(digest)))
    }
}

fn digest(text: &str) -> Option<Digest> {
    let parameters = parameters(text)?;
    let find = |name: &str| {
        let mut named = parameters.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone());
        // Of two values, what is signed may be one and what is looked at the other.
        let first = named.next();
        if named.next().is_some() { None } else { Some(first) }
    };
    Some(Digest {
        user: find("username")??,
        realm: find("realm")??,
        nonce: find("nonce")??,
        uri: find("uri")??,
        response: find("response")??,
        algorithm: find("algorithm")?,
        qop: find("qop")??,
        count: find("nc")??,
        client_nonce: find("cnonce")??,
    })
}

/// `name=value` and `name="value"`, with commas between them. Names in lower case.
fn parameters(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let value;
        (value, rest) = match after.strip_prefix('"') {
            Some(quoted) => quoted_string(quoted)?,
            None => {
                let end = after.find([',', ' ', '\t']).unwrap_or(after.len());
                (after[..end].to_owned(), &after[end..])
            }
        };
        found.push((name.trim().to_ascii_lowercase(), value));
        rest = rest.trim_start_matches([',', ' ', '\t']);
    }
    Some(found)
}

/// The text up to the closing quote, backslashes undone, and what follows.
fn quoted_string(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

fn hex(parts: &[&[u8]]) -> String {
    let mut hash = Md5::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            hash.update(b":");
        }
        hash.update(part);
    }
    hash.finalize().iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the entry of a digest file for a user's password.
#[must_use]
pub fn stored(user: &[u8], realm: &[u8], password: &[u8]) -> String {
    hex(&[user, realm, password])
}

impl Digest {
    /// Returns whether the signature was made with the password whose digest is stored.
    #[must_use]
    pub fn is_signed(&self, stored: &str, method: &[u8]) -> bool {
        let expected = self.signed(stored, &hex(&[method, self.uri.as_bytes()]));
        same(expected.as_bytes(), self.response.as_bytes())
    }

    /// Returns the server's own digest (`rspauth`).
    #[must_use]
    pub fn countersigned(&self, stored: &str) -> String {
        self.signed(stored, &hex(&[b"", self.uri.as_bytes()]))
    }

    fn signed(&self, stored: &str, about: &str) -> String {
        let parts = [stored, &self.nonce, &self.count, &self.client_nonce, &self.qop, about];
        hex(&parts.map(str::as_bytes))
    }
}

/// The digest of a user's password in the text of a file that htdigest writes: `user:realm:digest`.
#[must_use]
pub fn in_file<'f>(file: &'f str, user: &str, realm: &str) -> Option<&'f str> {
    file.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let rest = line.strip_prefix(user)?.strip_prefix(':')?;
        let digest = rest.strip_prefix(realm)?.strip_prefix(':')?;
        Some(digest.split(':').next().unwrap_or(digest).trim_end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2617 §3.5.
    const EXAMPLE: &str = r#"Digest username="Mufasa", realm="testrealm@host.com",
        nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", uri="/dir/index.html", qop=auth, nc=00000001, cnonce="0a4f113b",
        response="6629fae49393a05397450978507c4ef1", opaque="5ccc069c403ebaf9f0171e9517f40e41""#;

    #[test]
    fn the_example_of_the_specification_is_signed() {
        let Field::Whole(digest) = Field::parse(EXAMPLE.replace('\n', "").as_bytes()) else {
            panic!("it is whole")
        };
        let stored = stored(b"Mufasa", b"testrealm@host.com", b"Circle Of Life");
        assert_eq!(stored, "939e7578ed9e3c518a452acee763bce9");
        assert!(digest.is_signed(&stored, b"GET"));
        assert!(!digest.is_signed(&stored, b"POST"));
        assert!(!digest.is_signed("939e7578ed9e3c518a452acee763bce8", b"GET"));
        let file = format!("#x\nMufasa:other:y\nMufasa:testrealm@host.com:{stored}\n");
        assert_eq!(in_file(&file, "Mufasa", "testrealm@host.com"), Some(&*stored));
        assert_eq!(in_file(&file, "Mufas", "a:testrealm@host.com"), None);
        assert_eq!(in_file(&file, "#x", ""), None);
    }

    #[test]
    fn what_is_missing_twice_or_endless_is_told_from_another_scheme() {
        assert_eq!(Field::parse(b"Basic dXNlcjpw"), Field::Other);
        let whole =
            r#"Digest username="u", realm="r", nonce="n", uri="/", response="x", qop=auth, nc=1, cnonce=c"#;
        assert!(matches!(Field::parse(whole.as_bytes()), Field::Whole(_)));
        for wrong in [
            "Digest",
            r#"Digest username="u", realm="r", nonce="n", uri="/""#,
            r#"Digest username="u", realm="r", nonce="n", uri="/", response="x", qop=auth, nc=1, cnonce=c, uri="/other""#,
            r#"Digest username="u", realm="r", nonce="n", uri="/", response="x""#,
            r#"Digest username="u", realm="r", nonce="n", uri="/", qop=auth, nc=1, cnonce=c, response="x"#,
            r#"Digest username="u\"#,
            "Digest nonsense",
        ] {
            assert_eq!(Field::parse(wrong.as_bytes()), Field::Malformed, "{wrong}");
        }
        let huge = format!("{whole}, x=\"{}\"", "y".repeat(LONGEST));
        assert_eq!(Field::parse(huge.as_bytes()), Field::Malformed);
    }
}
