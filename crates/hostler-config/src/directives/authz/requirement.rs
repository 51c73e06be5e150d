//! The arguments of Require: Apache's stock providers.

use crate::directives::auth::{self, dbm::DbmFile};
use crate::{Command, Decides, words};
use hostler_expr::{Expr, Flags, Kind, Subnet};

/// A condition for access.
#[derive(Clone, Debug)]
pub enum Requirement {
    /// `all granted`, `all denied`
    All(bool),
    /// `env`: one of the variables is set.
    Env(Vec<Box<str>>),
    /// `method`: one of these; GET means HEAD too.
    Method(Vec<Box<str>>),
    /// `expr`
    Expr {
        /// The condition.
        condition: Expr,
        /// It speaks of REMOTE_USER, so asking for a user may change the answer.
        wants_user: bool,
    },
    /// `user`
    User(Words),
    /// `group`, `dbm-group`
    Group(Words, Groups),
    /// `file-owner`: the user is called as the file's owner is.
    FileOwner,
    /// `file-group`, `dbm-file-group`: the user is in the group that is called as the file's is.
    FileGroup(Groups),
    /// `valid-user`
    ValidUser,
    /// `ip`
    Ip(Vec<Subnet>),
    /// `local`: the client is on this machine.
    Local,
    /// `host`: the client's name, verified by looking it up again, is in one of the domains.
    Host(Words),
    /// `forward-dns`: one of the names has the client's address.
    ForwardDns(Words),
    /// `ssl`: the connection is encrypted.
    Ssl,
    /// `ssl-verify-client`: the client has shown a certificate that is valid.
    SslVerifyClient,
    /// Any other word where programs are mod_perl 1's: a `PerlAuthzHandler` may know it and let a user pass. By itself it lets
    /// nobody, so it stands nowhere where that would be said of nobody (`not`).
    OldProgram {
        /// As it is written.
        name: Box<str>,
        /// The text after the name.
        words: Box<str>,
    },
    /// A provider of a program's (`PerlAddAuthzProvider`).
    Program {
        /// As it is written.
        name: Box<str>,
        /// The function to ask.
        function: Box<str>,
        /// The text after the name.
        words: Box<str>,
    },
}

/// The source of groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Groups {
    /// The AuthGroupFile of wherever it is asked.
    File,
    /// The AuthDBMGroupFile of wherever it is asked.
    Dbm,
    /// This AuthGroupFile (`AuthzProviderAlias`).
    OwnFile(Box<str>),
    /// This AuthDBMGroupFile.
    OwnDbm(DbmFile),
    /// The script in Python of wherever it is asked (`WSGIAuthGroupScript`).
    Script,
}

impl Groups {
    /// The same, with the files of a section of its own.
    fn of(self, dir: &auth::Dir) -> Self {
        match (&self, &dir.group_file, dir.group_dbm()) {
            (Self::File, Some(file), _) => Self::OwnFile(file.clone()),
            (Self::Dbm, _, Some(file)) => Self::OwnDbm(file),
            _ => self,
        }
    }
}

/// Words, which may have to be computed.
#[derive(Clone, Debug)]
pub enum Words {
    /// As written.
    Plain(Vec<Box<str>>),
    /// With `%{...}` in them.
    Computed(Expr),
}

impl Requirement {
    /// Reads what follows the provider's name. `None`: nobody is called so.
    pub(super) fn parse(command: &Command<'_>, provider: &str, rest: &str) -> Result<Option<Self>, String> {
        let rest = rest.trim();
        let plain = || words(rest).into_iter().map(Into::into).collect();
        if let Some(alias) = command.authz_alias(provider) {
            return Ok(Some(alias.clone()));
        }
        Ok(Some(match &provider.to_ascii_lowercase()[..] {
            "all" => match &rest.to_ascii_lowercase()[..] {
                "granted" => Self::All(true),
                "denied" => Self::All(false),
                _ => return Err("\"granted\" or \"denied\" is missing after \"all\"".into()),
            },
            "env" => Self::Env(plain()),
            "method" => Self::Method(methods(rest)?),
            "expr" => expression(command, rest)?,
            "user" => Self::User(Words::parse(command, rest)?),
            "group" => Self::Group(Words::parse(command, rest)?, Groups::File),
            "wsgi-group" => Self::Group(Words::Plain(plain()), Groups::Script),
            "dbm-group" => Self::Group(Words::parse(command, rest)?, Groups::Dbm),
            "file-owner" => Self::FileOwner,
            "file-group" => Self::FileGroup(Groups::File),
            "dbm-file-group" => Self::FileGroup(Groups::Dbm),
            "valid-user" => Self::ValidUser,
            "ip" => Self::Ip(subnets(rest)?),
            "local" => Self::Local,
            "host" => Self::Host(Words::parse(command, rest)?),
            "forward-dns" => Self::ForwardDns(Words::parse(command, rest)?),
            "ssl" => Self::Ssl,
            "ssl-verify-client" => Self::SslVerifyClient,
            _ => match command.provider(Decides::Authz, provider) {
                Some(function) => {
                    Self::Program { name: provider.into(), function: function.into(), words: rest.into() }
                }
                None if provider.starts_with("ldap-") => {
                    return Err("LDAP is not supported".into());
                }
                None if provider.starts_with("dbd-") => {
                    return Err("database authorization is not supported".into());
                }
                None => return Ok(None),
            },
        }))
    }
}

impl Requirement {
    /// The same, asked with the settings of a section of its own.
    pub(super) fn with(self, dir: &auth::Dir) -> Self {
        match self {
            Self::Group(names, groups) => Self::Group(names, groups.of(dir)),
            Self::FileGroup(groups) => Self::FileGroup(groups.of(dir)),
            other => other,
        }
    }
}

impl Words {
    fn parse(command: &Command<'_>, text: &str) -> Result<Self, String> {
        if !text.contains("%{") {
            return Ok(Self::Plain(words(text).into_iter().map(Into::into).collect()));
        }
        let flags = Flags { dont_vary: true, ..Flags::default() };
        Ok(Self::Computed(command.expr(text, Kind::String, flags)?))
    }
}

fn methods(text: &str) -> Result<Vec<Box<str>>, String> {
    let given = words(text);
    match given.iter().find(|method| !crate::section::METHODS.contains(&method.as_str())) {
        Some(method) => Err(crate::unknown("method", method, &[])),
        None => Ok(given.into_iter().map(Into::into).collect()),
    }
}

fn expression(command: &Command<'_>, text: &str) -> Result<Requirement, String> {
    let unquoted = match &words(text)[..] {
        [only] if text.starts_with('"') => only.clone(),
        _ => text.to_owned(),
    };
    // Whom it lets pass depends on the fields that it reads: a cache must know (Vary).
    let condition = command.expr(&unquoted, Kind::Boolean, Flags::default())?;
    let wants_user = unquoted.to_ascii_uppercase().contains("REMOTE_USER");
    Ok(Requirement::Expr { condition, wants_user })
}

fn subnets(text: &str) -> Result<Vec<Subnet>, String> {
    let given = words(text);
    if given.is_empty() {
        return Err("an address is missing after \"ip\"".into());
    }
    given
        .iter()
        .map(|word| Subnet::parse(word).map_err(|error| format!("\"{word}\" is wrong: {error}")))
        .collect()
}
