//! The programs that can gain privileges by set-id programs: `HostlerNoNewPrivileges`. The kernel enforces it
//! (`no_new_privs` in prctl(2)) for a process and all that it starts.

use crate::directives::core::values::choice;
use crate::{Arity, Directive};

/// The processes that run with `no_new_privs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoNewPrivileges {
    /// Nobody.
    None,
    /// All that engines run, parents, workers and virtual machines; CGI and FastCGI programs and commands of SSI do not.
    #[default]
    Engines,
    /// All programs of the site.
    All,
}

impl NoNewPrivileges {
    /// Returns true if it applies to all processes of engines: parents, workers, virtual machines.
    #[must_use]
    pub fn holds_for_engines(self) -> bool {
        self != Self::None
    }

    /// Returns true if it applies to the site's own programs.
    #[must_use]
    pub fn holds_for_programs(self) -> bool {
        self == Self::All
    }
}

pub(super) const NO_NEW_PRIVILEGES: Directive = Directive::new(
    "HostlerNoNewPrivileges",
    Arity::Take1,
    "none|engines|all",
    "Set which programs cannot gain privileges through set-user-ID and set-group-ID programs (no_new_privs, \
        prctl(2)): none, warm workers (engines, default), or also CGI and FastCGI programs and SSI \
        commands (all). A worker that sends mail through a set-ID sendmail needs the value none",
    |cmd, args| {
        let words = [
            ("none", NoNewPrivileges::None),
            ("engines", NoNewPrivileges::Engines),
            ("all", NoNewPrivileges::All),
        ];
        cmd.server.core.no_new_privileges = Some(choice(args.first(), &words)?);
        Ok(())
    },
);
