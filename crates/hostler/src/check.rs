//! `hostler check`: is this configuration good? Everything short of starting is tried.

use crate::Failed;
use crate::cli::Configuration;
use crate::load;

pub(crate) fn check(configuration: &Configuration) -> Result<(), Failed> {
    let loaded = load::files(configuration)?;
    load::warn(&loaded.config);
    println!("{}: OK ({} virtual hosts)", configuration.file.display(), loaded.config.servers.len() - 1);
    Ok(())
}
