//! Providers of authentication and authorisation that programs are (`PerlAddAuthnProvider`, `PerlAddAuthzProvider`). Their
//! names are known once the files are read; then lines of Require and AuthBasicProvider may name them.

use crate::{Command, Facts, Origin};
use serde::{Deserialize, Serialize};

/// What a provider decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Decides {
    /// Who somebody is.
    Authn,
    /// What he may see.
    Authz,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// What it decides.
    pub decides: Decides,
    /// As Require and AuthBasicProvider name it.
    pub name: String,
    /// The function to ask.
    pub function: String,
    /// The virtual host in which it was added, and is known; `None`: everywhere.
    pub host: Option<Origin>,
}

/// What a directive of this name, in lower case, adds.
pub(crate) fn decides(directive: &str) -> Option<Decides> {
    match directive {
        "perladdauthnprovider" => Some(Decides::Authn),
        "perladdauthzprovider" => Some(Decides::Authz),
        _ => None,
    }
}

/// The function behind a name, as far as the virtual host knows it; its own come first.
pub(crate) fn find<'a>(cmd: &'a Command<'_>, decides: Decides, name: &str) -> Option<&'a str> {
    let facts: &Facts = &cmd.builder.facts;
    let host = cmd.builder.host.or(cmd.builder.filling);
    let named = |provider: &&Provider| provider.decides == decides && provider.name == name;
    let of = |host: Option<Origin>| facts.providers.iter().filter(named).rfind(|one| one.host == host);
    let own = host.and_then(|host| of(Some(host)));
    own.or_else(|| of(None)).map(|provider| provider.function.as_str())
}
