//! Logins by digest (RFC 7616, MD5): what a client signs with the nonce that a server has just given it.

use md5::{Digest as _, Md5};
use serde::Deserialize;

/// A login; what is not given is as an honest client would have it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The password.
    pub password: String,
    /// Another realm than the server's.
    pub realm: Option<String>,
    /// Another nonce than the server's.
    pub nonce: Option<String>,
    /// Another URI than the request's.
    pub uri: Option<String>,
    /// Another method than the request's.
    pub method: Option<String>,
    /// Another count than 1.
    pub count: Option<String>,
    /// Another `qop` than `auth`.
    pub qop: Option<String>,
    /// An algorithm to claim.
    pub algorithm: Option<String>,
    /// A parameter that is left out.
    pub without: Option<String>,
    /// Parameters to add, as they are.
    pub more: String,
    /// The number of times the request is sent; the last response counts.
    pub times: Option<usize>,
}

fn hex(text: &str) -> String {
    Md5::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The value of a parameter of a challenge.
fn parameter<'c>(challenge: &'c str, name: &str) -> &'c str {
    let start = challenge.split_once(&format!("{name}=\"")).map_or("", |(_, rest)| rest);
    start.split_once('"').map_or("", |(value, _)| value)
}

impl Login {
    /// The `Authorization` line for a request, after this challenge.
    #[must_use]
    pub fn field(&self, challenge: &str, method: &str, target: &str) -> String {
        let given = |own: &Option<String>, usual: &str| own.clone().unwrap_or_else(|| usual.to_owned());
        let realm = given(&self.realm, parameter(challenge, "realm"));
        let nonce = given(&self.nonce, parameter(challenge, "nonce"));
        let (uri, method) = (given(&self.uri, target), given(&self.method, method));
        let (count, qop) = (given(&self.count, "00000001"), given(&self.qop, "auth"));
        let user = &self.user;
        let secret = hex(&format!("{user}:{realm}:{}", self.password));
        let about = hex(&format!("{method}:{uri}"));
        let response = hex(&format!("{secret}:{nonce}:{count}:abc:{qop}:{about}"));
        let all = [
            ("username", format!("\"{user}\"")),
            ("realm", format!("\"{realm}\"")),
            ("nonce", format!("\"{nonce}\"")),
            ("uri", format!("\"{uri}\"")),
            ("qop", qop),
            ("nc", count),
            ("cnonce", "\"abc\"".to_owned()),
            ("response", format!("\"{response}\"")),
        ];
        let parts = all.iter().filter(|(name, _)| self.without.as_deref() != Some(name));
        let mut parts: Vec<String> = parts.map(|(name, value)| format!("{name}={value}")).collect();
        parts.extend(self.algorithm.iter().map(|name| format!("algorithm={name}")));
        let opaque = parameter(challenge, "opaque");
        if !opaque.is_empty() {
            parts.push(format!("opaque=\"{opaque}\""));
        }
        format!("Authorization: Digest {}{}", parts.join(", "), self.more)
    }
}
