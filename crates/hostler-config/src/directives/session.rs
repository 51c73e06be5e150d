//! Directives of mod_session, mod_session_cookie and mod_session_crypto: what a site keeps with its visitors, in a cookie
//! that may be encrypted. What is done with it is the front's.

mod crypto;

pub use crypto::Cipher;

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use std::sync::Arc;

/// mod_session.
pub static MODULE: Module = Module {
    name: "session_module",
    file: "mod_session.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

/// mod_session_cookie.
pub static COOKIE: Module = Module {
    name: "session_cookie_module",
    file: "mod_session_cookie.c",
    directives: COOKIES,
    effect: Effect::Harmless,
};

/// mod_session_crypto.
pub static CRYPTO: Module = Module {
    name: "session_crypto_module",
    file: "mod_session_crypto.c",
    directives: crypto::DIRECTIVES,
    effect: Effect::Guards,
};

/// A directive of these modules: anywhere, in access files with `AuthConfig`.
macro_rules! row {
    ($name:literal, $arity:ident, $form:literal, $doc:literal, $set:expr) => {
        Directive::new($name, Arity::$arity, $form, $doc, $set)
            .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG)
    };
}

static DIRECTIVES: &[Directive] = &[
    row!("Session", Flag, "On|Off", "Enable sessions", |command, args| {
        command.dir.session.enabled = Some(args.flag());
        Ok(())
    }),
    row!(
        "SessionMaxAge",
        Take1,
        "seconds",
        "Expire sessions after this many seconds without use; 0: never",
        |command, args| {
            command.dir.session.max_age = Some(seconds(args.first())?);
            Ok(())
        }
    ),
    row!(
        "SessionHeader",
        Take1,
        "name",
        "Set the response header field through which programs update the session",
        |command, args| {
            let name = args.first();
            let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            if name.is_empty() || !name.bytes().all(is_name) {
                return Err(format!("\"{name}\" is not the name of a field"));
            }
            command.dir.session.header = Some(name.into());
            Ok(())
        }
    ),
    row!("SessionEnv", Flag, "On|Off", "Pass the session to programs as HTTP_SESSION", |command, args| {
        command.dir.session.env = Some(args.flag());
        Ok(())
    }),
    row!(
        "SessionInclude",
        Take1,
        "path",
        "Set the URLs that have a session (default: all)",
        |command, args| {
            command.dir.session.includes.push(args.first().into());
            Ok(())
        }
    ),
    row!("SessionExclude", Take1, "path", "Disable sessions for URLs", |command, args| {
        command.dir.session.excludes.push(args.first().into());
        Ok(())
    }),
    row!(
        "SessionExpiryUpdateInterval",
        Take1,
        "seconds",
        "Set how often, in seconds, a session is written if only its expiry time has changed",
        |command, args| {
            command.dir.session.update_interval = Some(seconds(args.first())?);
            Ok(())
        }
    ),
];

static COOKIES: &[Directive] = &[
    row!(
        "SessionCookieName",
        RawArgs,
        "name [attributes]",
        "Set the name and attributes of the session cookie",
        |command, args| {
            command.dir.session.cookie = Some(cookie(args)?);
            Ok(())
        }
    ),
    row!(
        "SessionCookieName2",
        RawArgs,
        "name [attributes]",
        "Set the name and attributes of an RFC 2965 session cookie",
        |command, args| {
            command.dir.session.cookie2 = Some(cookie(args)?);
            Ok(())
        }
    ),
    row!(
        "SessionCookieRemove",
        Flag,
        "On|Off",
        "Remove the session cookie from the request that programs see",
        |command: &mut Command<'_>, args: &Args| {
            command.dir.session.remove = Some(args.flag());
            Ok(())
        }
    ),
];

/// A cookie's name, and what is said of it beyond its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// Without `=`, `&` and what ends it.
    pub name: Box<str>,
    /// As written, such as `path=/;Secure`; empty: the default's.
    pub attributes: Box<str>,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// Session
    pub enabled: Option<bool>,
    /// SessionMaxAge, in seconds; 0: no end.
    pub max_age: Option<i64>,
    /// SessionHeader
    pub header: Option<Box<str>>,
    /// SessionEnv
    pub env: Option<bool>,
    /// SessionInclude
    pub includes: Vec<Box<str>>,
    /// SessionExclude
    pub excludes: Vec<Box<str>>,
    /// SessionExpiryUpdateInterval, in seconds.
    pub update_interval: Option<i64>,
    /// SessionCookieName
    pub cookie: Option<Cookie>,
    /// SessionCookieName2
    pub cookie2: Option<Cookie>,
    /// SessionCookieRemove
    pub remove: Option<bool>,
    /// SessionCryptoPassphrase; the first encrypts, all decrypt.
    pub passphrases: Vec<Arc<str>>,
    /// SessionCryptoCipher
    pub cipher: Option<Cipher>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        let both = |a: &[Box<str>], b: &[Box<str>]| [a, b].concat();
        let passphrases =
            if other.passphrases.is_empty() { &self.passphrases } else { &other.passphrases }.clone();
        Self {
            enabled: over(&self.enabled, &other.enabled),
            max_age: over(&self.max_age, &other.max_age),
            header: over(&self.header, &other.header),
            env: over(&self.env, &other.env),
            includes: both(&self.includes, &other.includes),
            excludes: both(&self.excludes, &other.excludes),
            update_interval: over(&self.update_interval, &other.update_interval),
            cookie: over(&self.cookie, &other.cookie),
            cookie2: over(&self.cookie2, &other.cookie2),
            remove: over(&self.remove, &other.remove),
            passphrases,
            cipher: over(&self.cipher, &other.cipher),
        }
    }

    unset_part!(Dir);
}

/// These modules have nothing per server.
pub type Server = ();

impl Dir {
    /// Returns whether there are sessions for this path.
    #[must_use]
    pub fn includes(&self, path: &[u8]) -> bool {
        let has = |all: &[Box<str>]| all.iter().any(|start| path.starts_with(start.as_bytes()));
        self.enabled == Some(true)
            && (self.includes.is_empty() || has(&self.includes))
            && !has(&self.excludes)
    }
}

fn seconds(text: &str) -> Result<i64, String> {
    // A century is for ever, and multiplies without overflow.
    const MOST: i64 = 100 * 366 * 24 * 3600;
    let seconds = text.parse::<i64>().ok().filter(|seconds| (0..=MOST).contains(seconds));
    seconds.ok_or_else(|| format!("\"{text}\" is not a number of seconds"))
}

fn cookie(args: &Args) -> Result<Cookie, String> {
    let line = args.raw.trim();
    let end = line.find([' ', '\t']).unwrap_or(line.len());
    let (name, attributes) = (&line[..end], line[end..].trim_start());
    let is_name = |b: u8| b.is_ascii_graphic() && !b"=&;,\"\\".contains(&b);
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err("takes a name that is not empty, without '=', '&', ';', ',' and quotes".into());
    }
    if attributes.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("takes attributes without control characters".into());
    }
    Ok(Cookie { name: name.into(), attributes: attributes.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(lines: &str) -> Result<Dir, String> {
        let text = format!("<Location /x>\n{lines}\n</Location>");
        let tree = crate::read_text(&text, "/etc/apache2").map_err(|error| format!("{error:?}"))?;
        let config = crate::Config::build(&tree).map_err(|error| format!("{error:?}"))?;
        Ok(Dir::clone(&config.main().locations[0].conf.session))
    }

    #[test]
    fn cookies_have_a_name_and_attributes() {
        let dir = dir("SessionCookieName  session   path=/; HttpOnly").unwrap();
        let expected = Cookie { name: "session".into(), attributes: "path=/; HttpOnly".into() };
        assert_eq!(dir.cookie, Some(expected));
    }

    #[test]
    fn paths_are_included_and_excluded() {
        let dir = dir("Session On\nSessionInclude /a\nSessionInclude /b\nSessionExclude /a/x").unwrap();
        let has: Vec<bool> =
            ["/a", "/ab", "/b/c", "/c", "/a/xy"].iter().map(|path| dir.includes(path.as_bytes())).collect();
        assert_eq!(has, [true, true, true, false, false]);
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        for line in [
            "SessionCookieName",
            "SessionCookieName a=b",
            "SessionMaxAge -1",
            "SessionMaxAge soon",
            "SessionHeader \"a b\"",
            "SessionCryptoPassphrase exec:/bin/secret",
            "SessionCryptoPassphraseFile /nowhere/at/all",
            "SessionCryptoCipher 3des192",
            "SessionCryptoCipher rot13",
        ] {
            assert!(dir(line).is_err(), "{line}");
        }
        let both = dir("SessionCryptoPassphrase new old\nSessionCryptoCipher aes128").unwrap();
        assert_eq!((both.passphrases.len(), both.cipher), (2, Some(Cipher::Aes128)));
    }
}
