//! Files that only root can read and the front needs: certificates and their keys.

use hostler_config::Config;
use serde_bytes::ByteBuf;

use crate::Failed;

/// Reads them; with their paths as the configuration names them.
///
/// # Errors
/// All files that can't be read.
pub(crate) fn read(config: &Config) -> Result<Vec<(String, ByteBuf)>, Failed> {
    let _ = config;
    Ok(Vec::new())
}
