//! Reading: from files to a resolved [`Tree`].

use crate::{Config, ConfigError, Tree};
use std::path::PathBuf;

/// What to read, from the command line.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `-f`: the main file.
    pub file: PathBuf,
    /// `-d`: ServerRoot until the directive changes it.
    pub root: Option<PathBuf>,
    /// `-D`: names, or `NAME=value`.
    pub defines: Vec<String>,
    /// `-C`: directives before the file's.
    pub before: Vec<String>,
    /// `-c`: directives after the file's.
    pub after: Vec<String>,
}

/// Reads the files and builds the configuration.
///
/// # Errors
/// All errors that could be found in one go.
pub fn load(options: &LoadOptions) -> Result<(Tree, Config), Vec<ConfigError>> {
    let tree = read(options)?;
    let config = Config::build(&tree)?;
    Ok((tree, config))
}

/// Reads the files.
///
/// # Errors
/// All errors that could be found in one go.
pub fn read(_options: &LoadOptions) -> Result<Tree, Vec<ConfigError>> {
    Ok(Tree::default())
}
