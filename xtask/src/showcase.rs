//! `cargo xtask run`: builds Hostler and serves `examples/showcase`.

use anyhow::Result;
use std::net::SocketAddr;

pub(crate) fn run(_listen: SocketAddr) -> Result<()> {
    Ok(())
}
