//! Reading a configuration for a command: the same steps whether it comes from files or from `hostler serve`.

use hostler_config::{Attempt, Config, ConfigError, LoadOptions};

use crate::Failed;
use crate::cli::{Configuration, Serve};
use crate::perl_sections::PerlSections;
use crate::run;
use crate::serve;

/// Loads the files that the command line names.
///
/// # Errors
/// All that is wrong with them.
pub(crate) fn files(configuration: &Configuration) -> Result<Attempt, Failed> {
    let attempt = attempt(configuration)?;
    if attempt.errors.is_empty() { Ok(attempt) } else { Err(all_of(&attempt.errors)) }
}

/// The same, for who wants to find more than what is wrong with the lines.
pub(crate) fn attempt(configuration: &Configuration) -> Result<Attempt, Failed> {
    run::note_versions();
    let options = LoadOptions {
        file: std::path::absolute(&configuration.file)?,
        root: configuration.root.as_ref().map(std::path::absolute).transpose()?,
        defines: configuration.defines.clone(),
        before: configuration.before.clone(),
        after: configuration.after.clone(),
    };
    Ok(hostler_config::attempt(&options, Some(Box::new(PerlSections::default()))))
}

/// Loads what `hostler serve` makes up.
pub(crate) fn directory(args: &Serve) -> Result<Attempt, Failed> {
    run::note_versions();
    let (text, root) = serve::configuration(args)?;
    let tree = hostler_config::read_text(&text, &root).map_err(|errors| all_of(&errors))?;
    let config = Config::build(&tree).map_err(|errors| all_of(&errors))?;
    Ok(Attempt { tree, config, errors: Vec::new() })
}

/// An empty configuration, on a server that has what is installed here.
pub(crate) fn empty() -> Result<Config, Failed> {
    run::note_versions();
    let tree = hostler_config::read_text("", "/").map_err(|errors| all_of(&errors))?;
    Config::build(&tree).map_err(|errors| all_of(&errors))
}

pub(crate) fn all_of(errors: &[ConfigError]) -> Failed {
    Failed(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Prints all warnings, those of directives that have no effect, too.
pub(crate) fn warn_of_all(config: &Config) {
    for warning in &config.warnings {
        eprintln!("hostler: warning: {warning}");
    }
}

/// Prints the warnings, except those of directives that have no effect.
pub(crate) fn warn(config: &Config) {
    for warning in config.warnings.iter().filter(|warning| !warning.ignored) {
        eprintln!("hostler: warning: {warning}");
    }
}
