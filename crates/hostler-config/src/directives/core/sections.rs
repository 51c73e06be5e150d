//! The sections: Directory, Files, Location, If, Limit.

use crate::{Args, Command, Node};

pub(super) fn directory(_cmd: &mut Command<'_>, _args: &Args, _nodes: &[Node]) -> Result<(), String> {
    Ok(())
}

pub(super) fn files(_cmd: &mut Command<'_>, _args: &Args, _nodes: &[Node]) -> Result<(), String> {
    Ok(())
}
