//! mod_authn_anon: names that need no password but an address of mail.

use crate::{Arity, Contexts, Directive, Effect, Module, Overrides, over};

/// mod_authn_anon.
pub static MODULE: Module = Module {
    name: "authn_anon_module",
    file: "mod_authn_anon.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

macro_rules! flag {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Flag, "On|Off", $doc, |command, args| {
            command.dir.auth.anonymous.$field = Some(args.flag());
            Ok(())
        })
        .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG)
    };
}

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Anonymous",
        Arity::Iterate,
        "name|* ...",
        "Set the user names that need no password",
        |command, args| {
            let anonymous = &mut command.dir.auth.anonymous;
            match args.first() {
                "*" => anonymous.any = true,
                name => anonymous.names.push(name.into()),
            }
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    flag!(
        "Anonymous_MustGiveEmail",
        "Require the visitor to enter an e-mail address as the password",
        must_give
    ),
    flag!("Anonymous_NoUserID", "Allow an empty user name", no_name),
    flag!("Anonymous_VerifyEmail", "Require the password to look like an e-mail address", verify),
    flag!("Anonymous_LogEmail", "Log the password (an e-mail address) to the ErrorLog", log),
];

/// A directory's settings of anonymous users.
#[derive(Clone, Debug, Default)]
pub struct Anonymous {
    names: Vec<Box<str>>,
    any: bool,
    must_give: Option<bool>,
    no_name: Option<bool>,
    verify: Option<bool>,
    log: Option<bool>,
}

/// The verdict on a name and a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anon {
    /// They may pass; whether the password is to be logged.
    Granted(bool),
    /// The name is one, the password will not do.
    Denied,
    /// The name is none.
    NotFound,
}

impl Anonymous {
    pub(super) fn merge(&self, other: &Self) -> Self {
        let own = other.any || !other.names.is_empty();
        let (names, any) = if own { (&other.names, other.any) } else { (&self.names, self.any) };
        Self {
            names: names.clone(),
            any,
            must_give: over(&self.must_give, &other.must_give),
            no_name: over(&self.no_name, &other.no_name),
            verify: over(&self.verify, &other.verify),
            log: over(&self.log, &other.log),
        }
    }

    /// Returns the verdict on a client's credentials.
    #[must_use]
    pub fn check(&self, name: &[u8], password: &[u8]) -> Anon {
        let is_one = match name {
            // Quirk(apache): without a list of names the rest says nothing.
            _ if self.names.is_empty() && !self.any => false,
            b"" => self.no_name == Some(true),
            _ => self.any || self.names.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name)),
        };
        let given = !self.must_give.unwrap_or(true) || !password.is_empty();
        let looks_right =
            !self.verify.unwrap_or(false) || (password.contains(&b'@') && password.contains(&b'.'));
        match (is_one, given && looks_right) {
            (false, _) => Anon::NotFound,
            (true, true) => Anon::Granted(self.log.unwrap_or(true)),
            (true, false) => Anon::Denied,
        }
    }
}
