//! Names and places of a server: ServerName, DocumentRoot and their like.

use crate::{Args, Command};

/// `ServerName`
pub(super) fn server_name(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    cmd.server.core.server_name = Some(args.first().to_owned());
    Ok(())
}

/// `DocumentRoot`
pub(super) fn document_root(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let path = cmd.server_path(args.first());
    cmd.server.core.document_root = Some(path);
    Ok(())
}
