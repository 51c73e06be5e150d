//! `.htaccess` files: the same directives, at request time, from text that a tenant wrote.

use crate::directives::core::Allow;
use crate::{Config, ConfigError, DirConfig, Setting, Warning};
use std::sync::Arc;

/// Where the file stands and what it may contain.
#[derive(Clone, Debug)]
pub struct HtaccessScope<'a> {
    /// The configuration that the server runs with.
    pub config: &'a Config,
    /// Path of the file, for messages.
    pub file: &'a str,
    /// Its directory, absolute, without a slash at the end.
    pub directory: &'a str,
    /// What AllowOverride says for the directory.
    pub allow: Arc<Allow>,
}

/// What the file says.
#[derive(Clone, Debug, Default)]
pub struct Htaccess {
    /// To be merged over what applies so far.
    pub conf: Arc<DirConfig>,
    /// For the error log.
    pub warnings: Vec<Warning>,
    /// The directives in it, in order, for `hostler explain`. Their `origin.file` is 0.
    pub settings: Vec<Setting>,
}

/// Reads an .htaccess file. Total: any bytes give a result, in bounded time.
///
/// # Errors
/// The first mistake; the directory then answers 500.
pub fn parse_htaccess(_text: &[u8], _scope: &HtaccessScope<'_>) -> Result<Htaccess, Box<ConfigError>> {
    Ok(Htaccess::default())
}
