//! Directives of mod_authn_core, mod_auth_basic, mod_authn_file and mod_authz_groupfile: who somebody is. What
//! they may see is [`super::authz`]. Only Basic authentication against htpasswd files; another kind that is
//! asked for is an error, never a door left open.

mod file;
mod password;

pub use file::{Credentials, is_member, password_hash};
pub use password::{is_known, takes_too_long, verify};

use crate::{Action, Args, Arity, Command, Contexts, Decides, Directive, Effect, Module, Overrides};
use crate::{Merge, over, unset_part};
use base64::Engine as _;
use hostler_expr::{Captures, EvalError, Expr, Host};

/// mod_auth_basic.
pub static MODULE: Module =
    Module { name: "auth_basic_module", file: "mod_auth_basic.c", directives: BASIC, effect: Effect::Guards };

/// mod_authn_core.
pub static AUTHN_CORE: Module =
    Module { name: "authn_core_module", file: "mod_authn_core.c", directives: CORE, effect: Effect::Guards };

/// mod_authn_file.
pub static AUTHN_FILE: Module =
    Module { name: "authn_file_module", file: "mod_authn_file.c", directives: FILE, effect: Effect::Guards };

/// mod_authz_groupfile.
pub static AUTHZ_GROUPFILE: Module = Module {
    name: "authz_groupfile_module",
    file: "mod_authz_groupfile.c",
    directives: GROUPFILE,
    effect: Effect::Guards,
};

static CORE: &[Directive] = &[
    Directive::new(
        "AuthType",
        Arity::Take1,
        "Basic|None|name",
        "How users say who they are; a name is for PerlAuthenHandler",
        auth_type,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthName",
        Arity::Take1,
        "text (may contain %{...})",
        "What browsers show when they ask for a password",
        |command, args| {
            command.dir.auth.realm = Some(command.string_expr(args.first())?);
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive {
        action: Action::Refused(
            "Hostler has no aliases of authentication providers: name the files in place",
        ),
        ..Directive::section("AuthnProviderAlias", "", "A name for a source of passwords", |_, _, _| Ok(()))
    },
];

static BASIC: &[Directive] = &[
    Directive::new(
        "AuthBasicProvider",
        Arity::Iterate,
        "file|name ...",
        "Where passwords are looked up",
        provider,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthBasicAuthoritative",
        Arity::Flag,
        "On|Off",
        "Whether a user that no provider knows is turned away at once",
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
        "Gives the request a name and password, for whatever stands behind",
        fake,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthBasicUseDigestAlgorithm",
        Arity::Take1,
        "Off",
        "Checks passwords against digest files",
        |_, args| {
            let off = args.first().eq_ignore_ascii_case("off");
            off.then_some(()).ok_or_else(|| "only Off is supported".into())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
];

static FILE: &[Directive] = &[Directive::new(
    "AuthUserFile",
    Arity::Take1,
    "file",
    "File of users and passwords, as htpasswd writes it",
    |command, args| {
        command.dir.auth.user_file = Some(command.server_path(args.first()).into());
        Ok(())
    },
)
.allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG)];

static GROUPFILE: &[Directive] = &[Directive::new(
    "AuthGroupFile",
    Arity::Take1,
    "file",
    "File of groups and their members",
    |command, args| {
        command.dir.auth.group_file = Some(command.server_path(args.first()).into());
        Ok(())
    },
)
.allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG)];

/// AuthType.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthType {
    /// Nobody is asked.
    None,
    /// RFC 7617
    Basic,
    /// A name that functions of the site know (PerlAuthenHandler); nobody else can log anyone in.
    Program,
}

/// AuthBasicFake.
#[derive(Clone, Debug)]
pub struct Fake {
    user: Expr,
    /// `None`: the word `password`.
    password: Option<Expr>,
}

/// What a directory sets.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// AuthType
    pub kind: Option<AuthType>,
    /// AuthType, as it was written.
    pub type_name: Option<Box<str>>,
    /// AuthName
    pub realm: Option<Expr>,
    /// AuthBasicProvider, in the order in which they are asked; none: the file.
    pub providers: Vec<Provider>,
    /// AuthUserFile, absolute.
    pub user_file: Option<Box<str>>,
    /// AuthGroupFile, absolute.
    pub group_file: Option<Box<str>>,
    /// AuthBasicAuthoritative; unset means On.
    pub authoritative: Option<bool>,
    /// AuthBasicFake; `None` inside: off.
    pub fake: Option<Option<Fake>>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            kind: over(&self.kind, &other.kind),
            type_name: over(&self.type_name, &other.type_name),
            realm: over(&self.realm, &other.realm),
            providers: if other.providers.is_empty() { &self.providers } else { &other.providers }.clone(),
            user_file: over(&self.user_file, &other.user_file),
            group_file: over(&self.group_file, &other.group_file),
            authoritative: over(&self.authoritative, &other.authoritative),
            fake: over(&self.fake, &other.fake),
        }
    }

    unset_part!(Dir);
}

/// These modules have nothing per server.
pub type Server = ();

/// Who checks passwords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// The AuthUserFile.
    File,
    /// A program's function (`PerlAddAuthnProvider`).
    Program(Box<str>),
}

/// What a user file says about credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The password is right.
    Known,
    /// There is no such user.
    UserNotFound,
    /// The password is wrong.
    PasswordMismatch,
}

/// Checks credentials against the text of an AuthUserFile. With bcrypt this takes tens of milliseconds.
#[must_use]
pub fn check(file: &str, credentials: &Credentials) -> Outcome {
    let user = std::str::from_utf8(&credentials.user).ok();
    match user.and_then(|user| password_hash(file, user)) {
        None => Outcome::UserNotFound,
        Some(hash) if verify(&credentials.password, hash) => Outcome::Known,
        Some(_) => Outcome::PasswordMismatch,
    }
}

impl Dir {
    /// Whether users are asked who they are.
    #[must_use]
    pub fn has_auth_type(&self) -> bool {
        matches!(self.kind, Some(AuthType::Basic | AuthType::Program))
    }

    /// The value of `WWW-Authenticate`, or `None` if nobody is asked, or if AuthName is missing (which is a 500).
    ///
    /// # Errors
    /// [`EvalError::Pending`] when AuthName needs more; any other is a 500.
    pub fn challenge(&self, host: &dyn Host) -> Result<Option<Vec<u8>>, EvalError> {
        let Some(realm) = self.realm.as_ref().filter(|_| self.kind == Some(AuthType::Basic)) else {
            return Ok(None);
        };
        let realm = realm.string(host, &Captures::new())?;
        Ok(Some([b"Basic realm=\"", &*quoted(&realm), b"\""].concat()))
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
fn quoted(text: &[u8]) -> Vec<u8> {
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

fn auth_type(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let name = args.first();
    command.dir.auth.kind = Some(match &name.to_ascii_lowercase()[..] {
        "basic" => AuthType::Basic,
        "none" => AuthType::None,
        "digest" | "form" => return Err(format!("Hostler does not know the authentication type \"{name}\"")),
        _ => AuthType::Program,
    });
    command.dir.auth.type_name = Some(name.into());
    Ok(())
}

fn provider(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let name = args.first();
    let provider = match command.provider(Decides::Authn, name) {
        _ if name == "file" => Provider::File,
        Some(function) => Provider::Program(function.into()),
        None => return Err(format!("Hostler has no authentication provider \"{name}\"")),
    };
    command.dir.auth.providers.push(provider);
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn realms_are_quoted() {
        for (text, expected) in
            [("a b", "a b"), ("a\"b", "a\\\"b"), ("a\\\"b", "a\\\"b"), ("end\\", "end\\\\")]
        {
            assert_eq!(String::from_utf8(quoted(text.as_bytes())).unwrap(), expected);
        }
    }

    #[test]
    fn credentials_against_a_file() {
        let file = "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\nbob:nonsense\n";
        let check = |user: &str, password: &str| {
            check(file, &Credentials { user: user.into(), password: password.into() })
        };
        assert_eq!(check("ann", "secret"), Outcome::Known);
        assert_eq!(check("ann", "Secret"), Outcome::PasswordMismatch);
        assert_eq!(check("bob", "nonsense"), Outcome::PasswordMismatch);
        assert_eq!(check("eve", "secret"), Outcome::UserNotFound);
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        let build = |line: &str| {
            let text = format!("<Location /x>\n{line}\n</Location>");
            crate::Config::build(&crate::read_text(&text, "/etc/apache2")?)
        };
        for line in [
            "AuthType Digest",
            "AuthType Form",
            "AuthBasicProvider file ldap",
            "AuthBasicUseDigestAlgorithm MD5",
            "AuthName",
            "<AuthnProviderAlias file x>\n</AuthnProviderAlias>",
        ] {
            assert!(build(line).is_err(), "{line}");
        }
        let config = build("AuthType Basic\nAuthName x\nAuthUserFile users\nAuthBasicProvider file").unwrap();
        let dir = &config.main().locations[0].conf.auth;
        assert_eq!((dir.kind, dir.has_auth_type()), (Some(AuthType::Basic), true));
        let named = build("AuthType My::Cookie").unwrap();
        assert_eq!(named.main().locations[0].conf.auth.kind, Some(AuthType::Program));
        assert_eq!(dir.user_file.as_deref(), Some("/etc/apache2/users"));
    }
}
