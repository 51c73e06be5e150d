//! Providers of authentication and authorisation that programs are (`PerlAddAuthnProvider`, `PerlAddAuthzProvider`). Their
//! names are known once the files are read; then lines of Require and AuthBasicProvider may name them.

use crate::Decides;

/// Returns the decision that a directive of this name, in lower case, adds.
pub(crate) fn decides(directive: &str) -> Option<Decides> {
    match directive {
        "perladdauthnprovider" => Some(Decides::Authn),
        "perladdauthzprovider" => Some(Decides::Authz),
        _ => None,
    }
}
