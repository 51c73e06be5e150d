//! The request's environment: SetEnv, PassEnv, UnsetEnv, SetEnvIf and their kin.

use crate::request::Request;

/// Server-level SetEnvIf, right after the request was read.
pub(crate) fn set_env_if_server(request: &mut Request) {
    let _ = request;
}

/// SetEnvIf of sections and .htaccess.
pub(crate) fn set_env_if_dir(request: &mut Request) {
    let _ = request;
}

/// SetEnv, PassEnv, UnsetEnv: among the fixups, after access control.
pub(crate) fn fixup(request: &mut Request) {
    let _ = request;
}
