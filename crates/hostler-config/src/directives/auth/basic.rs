//! Directives of mod_auth_basic, and what it says to clients and gives to what stands behind.

use super::{AuthType, Dir, Provider};
use crate::{Args, Arity, Command, Contexts, Directive, Overrides};
use base64::Engine as _;
use hostler_expr::{Captures, EvalError, Expr, Host};

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "AuthBasicProvider",
        Arity::Iterate,
        "file|dbm|anon|socache|name ...",
        "Set the providers that check passwords",
        |command, args| {
            let provider = Provider::named(command, args.first())?;
            command.dir.auth.providers.push(provider);
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthBasicAuthoritative",
        Arity::Flag,
        "On|Off",
        "Deny access at once if no provider knows the user",
        |command, args| {
            command.dir.auth.authoritative = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthBasicFake",
        Arity::Take12,
        "off | user [password] (both may contain %{...})",
        "Add Basic credentials to the request for a backend",
        fake,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthBasicUseDigestAlgorithm",
        Arity::Take1,
        "Off|MD5",
        "Check passwords against digest authentication files",
        |command, args| {
            command.dir.auth.against_digests = Some(match &args.first().to_ascii_lowercase()[..] {
                "off" => false,
                "md5" => true,
                _ => return Err(crate::unknown("algorithm", args.first(), &["Off", "MD5"])),
            });
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
];

/// AuthBasicFake.
#[derive(Clone, Debug)]
pub struct Fake {
    user: Expr,
    /// `None`: the word `password`.
    password: Option<Expr>,
}

impl Dir {
    /// AuthName, with backslashes before quotes that have none; `None`: it is missing.
    ///
    /// # Errors
    /// [`EvalError::Pending`] when AuthName needs more; any other is a 500.
    pub fn quoted_realm(&self, host: &dyn Host) -> Result<Option<Vec<u8>>, EvalError> {
        let realm = self.realm.as_ref().map(|realm| realm.string(host, &Captures::new())).transpose()?;
        Ok(realm.map(|realm| quoted(&realm)))
    }

    /// AuthName as it is; `None`: it is missing.
    ///
    /// # Errors
    /// As [`Self::quoted_realm`].
    pub fn plain_realm(&self, host: &dyn Host) -> Result<Option<Vec<u8>>, EvalError> {
        self.realm.as_ref().map(|realm| realm.string(host, &Captures::new())).transpose()
    }

    /// The value of `WWW-Authenticate` for basic authentication, or `None` if nobody is asked so, or if AuthName is missing
    /// (which is a 500).
    ///
    /// # Errors
    /// [`EvalError::Pending`] when AuthName needs more; any other is a 500.
    pub fn challenge(&self, host: &dyn Host) -> Result<Option<Vec<u8>>, EvalError> {
        if self.kind != Some(AuthType::Basic) {
            return Ok(None);
        }
        Ok(self.quoted_realm(host)?.map(|realm| [b"Basic realm=\"", &*realm, b"\""].concat()))
    }

    /// The value of `Authorization` that AuthBasicFake gives a request.
    ///
    /// # Errors
    /// [`EvalError::Pending`] when an expression needs more.
    pub fn fake_authorization(&self, host: &dyn Host) -> Result<Option<String>, EvalError> {
        let Some(Some(fake)) = &self.fake else { return Ok(None) };
        let user = fake.user.string(host, &Captures::new())?;
        let password = match &fake.password {
            Some(password) => password.string(host, &Captures::new())?,
            None => b"password".to_vec(),
        };
        // As in Apache: an empty name or password means that there is nothing to give.
        if user.is_empty() || password.is_empty() {
            return Ok(None);
        }
        let plain = [&user[..], b":", &password].concat();
        Ok(Some(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(plain))))
    }
}

/// Backslashes before quotes that have none.
pub(super) fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut escaped = false;
    for byte in text {
        if *byte == b'"' && !escaped {
            out.push(b'\\');
        }
        escaped = *byte == b'\\' && !escaped;
        out.push(*byte);
    }
    if escaped {
        out.push(b'\\');
    }
    out
}

fn fake(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let fake = match (args.first(), args.word(1)) {
        (word, None) if word.eq_ignore_ascii_case("off") => None,
        (user, password) => Some(Fake {
            user: command.string_expr(user)?,
            password: password.map(|text| command.string_expr(text)).transpose()?,
        }),
    };
    command.dir.auth.fake = Some(fake);
    Ok(())
}
