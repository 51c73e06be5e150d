//! Directives of mod_authn_core, mod_auth_basic, mod_authn_file and mod_authz_groupfile: who somebody is. What
//! they may see is [`super::authz`]. Only Basic authentication against htpasswd files; another kind that is
//! asked for is an error, never a door left open.

pub mod anon;
mod basic;
pub mod dbm;
pub mod digest;
mod file;
pub mod form;
mod password;
mod provider;

pub use basic::Fake;
pub use file::{Credentials, is_member, password_hash};
pub use password::{is_known, same, takes_too_long, verify};
pub use provider::{Alias, Provider, SOCACHE};

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Module, Overrides};
use crate::{Merge, over, unset_part};
use hostler_dbm::Kind;
use hostler_expr::Expr;

/// mod_auth_basic.
pub static MODULE: Module = Module {
    name: "auth_basic_module",
    file: "mod_auth_basic.c",
    directives: basic::DIRECTIVES,
    effect: Effect::Guards,
};

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
        "Basic|Digest|Form|None|name",
        "Set the authentication type; other names are passed to a PerlAuthenHandler",
        auth_type,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "AuthName",
        Arity::Take1,
        "text (may contain %{...})",
        "Set the authentication realm that browsers show in the password prompt",
        |command, args| {
            command.dir.auth.realm = Some(command.string_expr(args.first())?);
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::section(
        "AuthnProviderAlias",
        "<AuthnProviderAlias provider name>",
        "Define an alias of a password provider with its own settings",
        provider::alias,
    ),
];

static FILE: &[Directive] = &[Directive::new(
    "AuthUserFile",
    Arity::Take1,
    "file",
    "Set the file of users and passwords, in htpasswd's format",
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
    "Set the file of groups and their members",
    |command, args| {
        command.dir.auth.group_file = Some(command.server_path(args.first()).into());
        Ok(())
    },
)
.allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG)];

/// AuthType.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthType {
    /// No provider is asked.
    None,
    /// RFC 7617
    Basic,
    /// RFC 7616
    Digest,
    /// A form in a page (mod_auth_form), and a session.
    Form,
    /// A name that functions of the site know (PerlAuthenHandler); nobody else can log anyone in.
    Program,
}

/// A directory's settings.
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
    /// AuthBasicUseDigestAlgorithm; unset means Off.
    pub against_digests: Option<bool>,
    /// mod_auth_digest's.
    pub digest: Option<digest::Settings>,
    /// mod_auth_form's.
    pub form: Option<Box<form::Form>>,
    /// mod_authn_anon's.
    pub anonymous: anon::Anonymous,
    /// AuthDBMUserFile, absolute.
    pub dbm_users: Option<Box<str>>,
    /// AuthDBMType
    pub dbm_users_kind: Option<Kind>,
    /// AuthDBMGroupFile, absolute.
    pub dbm_groups: Option<Box<str>>,
    /// AuthzDBMType
    pub dbm_groups_kind: Option<Kind>,
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
            against_digests: over(&self.against_digests, &other.against_digests),
            digest: over(&self.digest, &other.digest),
            form: match (&self.form, &other.form) {
                (Some(base), Some(over)) => Some(Box::new(base.merge(over))),
                (base, over) => over.as_ref().or(base.as_ref()).cloned(),
            },
            anonymous: self.anonymous.merge(&other.anonymous),
            dbm_users: over(&self.dbm_users, &other.dbm_users),
            dbm_users_kind: over(&self.dbm_users_kind, &other.dbm_users_kind),
            dbm_groups: over(&self.dbm_groups, &other.dbm_groups),
            dbm_groups_kind: over(&self.dbm_groups_kind, &other.dbm_groups_kind),
        }
    }

    unset_part!(Dir);
}

/// These modules have nothing per server.
pub type Server = ();

/// A user file's verdict on credentials.
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
    /// Returns whether users are asked who they are.
    #[must_use]
    pub fn has_auth_type(&self) -> bool {
        matches!(self.kind, Some(AuthType::Basic | AuthType::Digest | AuthType::Form | AuthType::Program))
    }

    /// The AuthDBMUserFile.
    #[must_use]
    pub fn user_dbm(&self) -> Option<dbm::DbmFile> {
        self.dbm_users.as_ref().map(|name| dbm::DbmFile::new(name, self.dbm_users_kind))
    }

    /// The AuthDBMGroupFile.
    #[must_use]
    pub fn group_dbm(&self) -> Option<dbm::DbmFile> {
        self.dbm_groups.as_ref().map(|name| dbm::DbmFile::new(name, self.dbm_groups_kind))
    }
}

fn auth_type(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let name = args.first();
    command.dir.auth.kind = Some(match &name.to_ascii_lowercase()[..] {
        "basic" => AuthType::Basic,
        "none" => AuthType::None,
        "digest" => AuthType::Digest,
        "form" => AuthType::Form,
        _ => AuthType::Program,
    });
    command.dir.auth.type_name = Some(name.into());
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
            assert_eq!(String::from_utf8(basic::quoted(text.as_bytes())).unwrap(), expected);
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
            "AuthFormProvider ldap",
            "AuthBasicProvider file ldap",
            "AuthBasicProvider dbd",
            "AuthBasicUseDigestAlgorithm SHA",
            "AuthDigestProvider anon",
            "AuthDigestQop auth-int",
            "AuthDBMType ndbm",
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
