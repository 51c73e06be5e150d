//! The generation of mod_perl's API that the programs of a virtual host are written for.
//!
//! An interpreter speaks one of them: programs ask which (`$ENV{MOD_PERL_API_VERSION}`, `$mod_perl2::VERSION`) and
//! load accordingly. Configurations rarely say it, but their words betray it.

use crate::{DirConfig, Directive, Section, Server};
use std::ops::BitOr;
use std::sync::Arc;

/// Signs of a generation that a configuration has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u8);

impl Marks {
    /// A class of the first generation is named: `Apache::Registry`.
    pub const FIRST_CLASS: Self = Self(1);
    /// A class of the second generation is named: `ModPerl::Registry`, `Apache2::Reload`.
    pub const SECOND_CLASS: Self = Self(2);
    /// A directive that the first generation has, and the second only tolerates: `PerlHandler`.
    pub const FIRST_WORD: Self = Self(4);
    /// A directive that only the second generation has: `PerlResponseHandler`.
    pub const SECOND_WORD: Self = Self(8);

    fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    /// The generation that the signs are of.
    pub(crate) fn generation(self) -> u8 {
        let second = self.has(Self::SECOND_CLASS) || self.has(Self::SECOND_WORD);
        let first = self.has(Self::FIRST_CLASS) || self.has(Self::FIRST_WORD);
        if first && !second { 1 } else { 2 }
    }
}

impl BitOr for Marks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Modules that serve both generations, so that naming them says nothing.
const BOTH: &[&str] = &[
    "Apache::ASP",
    "Apache::AuthDBI",
    "Apache::DBI",
    "Apache::DBI::Cache",
    "Apache::Gallery",
    "Apache::Session",
    "Apache::Singleton",
    "Apache::LogFormat",
    "Apache::Admin",
    "Apache::Ocsinventory",
    "Embperl",
    "HTML::Mason",
    "MasonX",
    "SOAP",
    "Plack",
    "CGI",
    "DBI",
];

fn serves_both(class: &str) -> bool {
    BOTH.iter()
        .any(|known| class.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")))
}

/// Returns the generation that naming a class or function indicates.
pub(crate) fn of_class(name: &str) -> Marks {
    let class = name.trim_start_matches(['+', '-']);
    if ["Apache2::", "ModPerl::", "APR::", "Plack::Handler::Apache2"]
        .iter()
        .any(|start| class.starts_with(start))
    {
        Marks::SECOND_CLASS
    } else if (class.starts_with("Apache::") && !serves_both(class)) || class == "Plack::Handler::Apache1" {
        Marks::FIRST_CLASS
    } else {
        Marks::default()
    }
}

/// Returns the generation that using a directive indicates; `name` is the class that it names, if any.
pub(crate) fn of_directive(directive: &Directive, name: &str) -> Marks {
    match directive.name {
        "PerlHandler" if serves_both(name.trim_start_matches(['+', '-'])) => Marks::default(),
        "PerlHandler" | "PerlSendHeader" | "PerlTaintCheck" | "PerlFreshRestart" => Marks::FIRST_WORD,
        "PerlResponseHandler"
        | "PerlOptions"
        | "PerlConfigRequire"
        | "PerlPostConfigRequire"
        | "PerlLoadModule"
        | "PerlSwitches"
        | "PerlSetOutputFilter"
        | "PerlSetInputFilter"
        | "PerlOutputFilterHandler"
        | "PerlInputFilterHandler"
        | "PerlAddAuthnProvider"
        | "PerlAddAuthzProvider"
        | "PerlMapToStorageHandler" => Marks::SECOND_WORD,
        _ => Marks::default(),
    }
}

/// The generation of mod_perl's API that the programs of a virtual host get: 1 or 2.
///
/// `PerlApiVersion` decides where it is given. Else it is 1 if what applies to the virtual host names classes of the
/// first generation (`Apache::Registry`), or has directives of it (`PerlHandler`), and none of the second: neither
/// classes (`ModPerl::`, `Apache2::`) nor directives (`PerlResponseHandler`), which a first mod_perl would not have read.
/// All others get 2, which is what today's Apache offers.
#[must_use]
pub fn generation(server: &Server) -> u8 {
    let perl = &server.conf.perl;
    perl.api_version.unwrap_or_else(|| {
        let sections = in_sections(&server.directories) | in_sections(&server.locations);
        (perl.marks | in_dir(&server.defaults) | sections).generation()
    })
}

fn in_dir(conf: &DirConfig) -> Marks {
    conf.perl.marks | in_sections(&conf.core.files) | in_sections(&conf.core.ifs)
}

fn in_sections(sections: &[Arc<Section>]) -> Marks {
    sections.iter().fold(Marks::default(), |marks, section| marks | in_dir(&section.conf))
}
