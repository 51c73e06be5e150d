//! FastCGI programs that decide who may see what (authorizers): `FcgidAccessChecker`, `FcgidAuthenticator`, `FcgidAuthorizer`,
//! and mod_fastcgi's words for the same.

use super::Wrapper;
use crate::{Args, Command, over};
use std::sync::Arc;

/// One of them.
#[derive(Clone, Debug, Default)]
pub struct RoleProgram {
    /// The program; its own path and arguments.
    pub program: Option<Arc<Wrapper>>,
    /// True if what it refuses is refused; else others are asked (default: On).
    pub authoritative: Option<bool>,
}

/// A directory's programs by role.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// The program that decides without knowing the user.
    pub access: RoleProgram,
    /// The program that knows users and their passwords.
    pub authenticator: RoleProgram,
    /// The program that decides on a user's rights.
    pub authorizer: RoleProgram,
}

impl RoleProgram {
    /// Returns whether there is one.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.program.is_some()
    }

    fn merge(&self, other: &Self) -> Self {
        Self {
            program: over(&self.program, &other.program),
            authoritative: over(&self.authoritative, &other.authoritative),
        }
    }
}

impl Roles {
    /// Returns whether any program is asked.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.access.is_set() || self.authenticator.is_set() || self.authorizer.is_set()
    }

    pub(super) fn merge(&self, other: &Self) -> Self {
        Self {
            access: self.access.merge(&other.access),
            authenticator: self.authenticator.merge(&other.authenticator),
            authorizer: self.authorizer.merge(&other.authorizer),
        }
    }
}

/// Reads the program of a role.
pub(super) fn read_program(command: &mut Command<'_>, args: &Args) -> Result<Arc<Wrapper>, String> {
    let mut words: Vec<Box<str>> = crate::words(args.first()).into_iter().map(Into::into).collect();
    let program = words.first_mut().filter(|word| !word.is_empty()).ok_or("the command is missing")?;
    *program = command.server_path(program).into();
    Ok(Arc::new(Wrapper { command: words, is_virtual: true }))
}

/// The directive that names a role's program.
macro_rules! program {
    ($name:literal, $role:ident) => {
        Directive::new(
            $name,
            Arity::Take1,
            "command",
            "Set a FastCGI program that controls access",
            |command, args| {
                command.dir.fcgid.roles.$role.program =
                    Some($crate::directives::fcgid::roles::read_program(command, args)?);
                Ok(())
            },
        )
        .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG)
        .with_effect(Effect::Guards)
    };
}

/// The directive that says whether its refusal is the last word.
macro_rules! authoritative {
    ($name:literal, $role:ident) => {
        Directive::new(
            $name,
            Arity::Flag,
            "On|Off",
            "Deny access if the program denies it, instead of consulting other modules (default On)",
            |command, args| {
                command.dir.fcgid.roles.$role.authoritative = Some(args.flag());
                Ok(())
            },
        )
        .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG)
        .with_effect(Effect::Guards)
    };
}

pub(super) use {authoritative, program};
