//! Reading: from files to a resolved [`Tree`]. Everything that is about text is settled here, in the order of
//! the lines, as Apache settles it: Include, Define and `${NAME}`, IfModule and its relatives, LoadModule,
//! ServerRoot, macros. No such line is left in the tree.
//!
//! **Runs as** root in the planner (files), and in the front for .htaccess (no files).

mod condition;
mod environment;
mod envvars;
mod expand;
mod files;
mod lacking;
mod macros;
mod made;
mod modules;
mod parse;
mod perl;
mod run_perl;
mod users;
mod version;

pub use condition::Stands;
pub(crate) use expand::Reader;
pub use run_perl::{Output, PerlRequest, RunAs, RunPerl};

use crate::{Config, ConfigError, Node, Tree};
use std::path::PathBuf;

/// The configuration to read, from the command line.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `-f`: the main file.
    pub file: PathBuf,
    /// `-d`: ServerRoot until the directive changes it; without it the directory of the file.
    pub root: Option<PathBuf>,
    /// `-D`: names, or `NAME=value`.
    pub defines: Vec<String>,
    /// `-C`: directives before the file's.
    pub before: Vec<String>,
    /// `-c`: directives after the file's.
    pub after: Vec<String>,
}

/// Reads the files and builds the configuration. `perl` runs `<Perl>` sections that build some; without it they are
/// errors.
///
/// # Errors
/// All errors that could be found in one go.
pub fn load(
    options: &LoadOptions,
    perl: Option<Box<dyn RunPerl>>,
) -> Result<(Tree, Config), Vec<ConfigError>> {
    let Attempt { tree, config, errors } = attempt(options, perl);
    if errors.is_empty() { Ok((tree, config)) } else { Err(errors) }
}

/// The result of reading a configuration. With errors it only serves to find more of them.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    /// The tree, without the lines that could not be read.
    pub tree: Tree,
    /// The configuration as far as it could be built.
    pub config: Config,
    /// Everything that is wrong, in the order of the lines.
    pub errors: Vec<ConfigError>,
}

impl Attempt {
    /// Builds what has been read.
    fn new((tree, mut errors): (Tree, Vec<ConfigError>)) -> Self {
        let (config, more) = Config::build_anyhow(&tree);
        errors.extend(more);
        let file = |error: &ConfigError| tree.files.iter().position(|name| **name == *error.file);
        errors.sort_by_cached_key(|error| (file(error), error.line));
        Self { tree, config, errors }
    }
}

/// Reads the files and builds what can be built, so that an error, as of an Include, does not hide those in other
/// lines; `perl` as in [`load`].
pub fn attempt(options: &LoadOptions, perl: Option<Box<dyn RunPerl>>) -> Attempt {
    let (reader, nodes) = read_files(options, perl);
    Attempt::new(reader.finish_anyhow(nodes))
}

/// Reads the files; `perl` as in [`load`].
///
/// # Errors
/// All errors that could be found in one go.
pub fn read(options: &LoadOptions, perl: Option<Box<dyn RunPerl>>) -> Result<Tree, Vec<ConfigError>> {
    let (reader, nodes) = read_files(options, perl);
    reader.finish(nodes)
}

fn read_files(options: &LoadOptions, perl: Option<Box<dyn RunPerl>>) -> (Reader, Vec<Node>) {
    let mut reader = Reader::for_files(options);
    reader.perl.runner = perl;
    let mut nodes = Vec::new();
    reader.text("-C", &options.before, &mut nodes);
    reader.main_file(&options.file, &mut nodes);
    reader.text("-c", &options.after, &mut nodes);
    (reader, nodes)
}

/// Reads a configuration that is not in a file: what `hostler serve` and tests use. Include works and is
/// relative to `root`.
///
/// # Errors
/// All errors that could be found in one go.
pub fn read_text(text: &str, root: &str) -> Result<Tree, Vec<ConfigError>> {
    let mut reader = Reader::for_files(&LoadOptions { root: Some(root.into()), ..LoadOptions::default() });
    let mut nodes = Vec::new();
    reader.text("configuration", &[text.to_owned()], &mut nodes);
    reader.finish(nodes)
}
