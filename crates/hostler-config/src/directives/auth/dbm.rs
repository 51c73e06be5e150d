//! mod_authn_dbm and mod_authz_dbm: users, passwords and groups in DBM files, as htdbm and dbmmanage write them.

use crate::{Arity, Contexts, Directive, Effect, Module, Overrides};
use hostler_dbm::{Error, Kind, read};

/// mod_authn_dbm.
pub static AUTHN: Module =
    Module { name: "authn_dbm_module", file: "mod_authn_dbm.c", directives: USERS, effect: Effect::Guards };

/// mod_authz_dbm.
pub static AUTHZ: Module =
    Module { name: "authz_dbm_module", file: "mod_authz_dbm.c", directives: GROUPS, effect: Effect::Guards };

macro_rules! file {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Take1, "file", $doc, |command, args| {
            command.dir.auth.$field = Some(command.server_path(args.first()).into());
            Ok(())
        })
        .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG)
    };
}

macro_rules! kind {
    ($name:literal, $field:ident) => {
        Directive::new(
            $name,
            Arity::Take1,
            "default|DB|GDBM|SDBM",
            "Set the type of the DBM file",
            |command, args| {
                command.dir.auth.$field = Some(Kind::parse(args.first())?);
                Ok(())
            },
        )
        .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG)
    };
}

static USERS: &[Directive] = &[
    file!("AuthDBMUserFile", "Set the DBM file of users and passwords", dbm_users),
    kind!("AuthDBMType", dbm_users_kind),
];

static GROUPS: &[Directive] = &[
    file!("AuthDBMGroupFile", "Set the DBM file of users and their groups", dbm_groups),
    kind!("AuthzDBMType", dbm_groups_kind),
];

/// A DBM file of users or groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DbmFile {
    /// Absolute path of the file that has keys and values.
    pub path: Box<str>,
    /// Its kind.
    pub kind: Kind,
}

impl DbmFile {
    pub(super) fn new(name: &str, kind: Option<Kind>) -> Self {
        let kind = kind.unwrap_or_default();
        Self { path: kind.file(name).into(), kind }
    }

    /// The value of a key in the file's bytes.
    ///
    /// # Errors
    /// If the file is damaged or of another kind.
    pub fn value(&self, file: &[u8], key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut found = None;
        read(self.kind, file, &mut |known, value| {
            if known == key {
                found = Some(value.to_vec());
            }
            found.is_none()
        })?;
        Ok(found)
    }
}

/// The hash in the value of a user's name: what follows a colon is something else.
#[must_use]
pub fn hash(value: &[u8]) -> &[u8] {
    value.split(|byte| *byte == b':').next().unwrap_or(value)
}

/// Returns whether the value of a user's name has this group: `group,group`, or `password:group,group:more`.
#[must_use]
pub fn has_group(value: &[u8], group: &[u8]) -> bool {
    let mut fields = value.split(|byte| *byte == b':');
    let (first, second) = (fields.next().unwrap_or_default(), fields.next());
    second.unwrap_or(first).split(|byte| *byte == b',').any(|known| known == group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_fields() {
        assert_eq!((hash(b"x"), hash(b"x:y:z")), (&b"x"[..], &b"x"[..]));
        for (value, is) in
            [("a,b", true), ("x:a,b", true), ("x:b,a:c", true), ("x:c:a", false), ("", false), ("aa", false)]
        {
            assert_eq!(has_group(value.as_bytes(), b"a"), is, "{value}");
        }
    }
}
