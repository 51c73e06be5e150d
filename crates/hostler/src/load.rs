//! Reading a configuration for a command: the same steps whether it comes from files or from `hostler serve`.

use hostler_config::{Config, ConfigError, LoadOptions, Tree};

use crate::Failed;
use crate::cli::{Configuration, Serve};
use crate::perl_sections::PerlSections;
use crate::serve;

/// A configuration and the tree that it was built from.
pub(crate) struct Loaded {
    /// For the front.
    pub(crate) tree: Tree,
    /// For us.
    pub(crate) config: Config,
}

/// Loads the files that the command line names.
pub(crate) fn files(configuration: &Configuration) -> Result<Loaded, Failed> {
    let options = LoadOptions {
        file: std::path::absolute(&configuration.file)?,
        root: configuration.root.as_ref().map(std::path::absolute).transpose()?,
        defines: configuration.defines.clone(),
        before: configuration.before.clone(),
        after: configuration.after.clone(),
    };
    let (tree, config) = hostler_config::load(&options, Some(Box::new(PerlSections::default())))
        .map_err(|errors| all_of(&errors))?;
    Ok(Loaded { tree, config })
}

/// Loads what `hostler serve` makes up.
pub(crate) fn directory(args: &Serve) -> Result<Loaded, Failed> {
    let (text, root) = serve::configuration(args)?;
    let tree = hostler_config::read_text(&text, &root).map_err(|errors| all_of(&errors))?;
    let config = Config::build(&tree).map_err(|errors| all_of(&errors))?;
    Ok(Loaded { tree, config })
}

fn all_of(errors: &[ConfigError]) -> Failed {
    Failed(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Tells the operator what is odd.
pub(crate) fn warn(config: &Config) {
    for warning in &config.warnings {
        eprintln!("hostler: warning: {warning}");
    }
}
