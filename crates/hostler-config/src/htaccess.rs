//! `.htaccess` files: the same directives, at request time, from text that a tenant wrote.
//!
//! **Runs as** the front's user, which can open none of the files that a tenant may name; nothing here tries to.

use crate::build::LANGUAGE;
use crate::builder::Builder;
use crate::command::{Command, Context, Inside, Place};
use crate::directives::core::Allow;
use crate::read::{Reader, Stands};
use crate::section::Kind;
use crate::{Config, ConfigError, DirConfig, Origin, ProcessConfig, ServerConfig, Setting, Warning};
use hostler_expr::effort;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Largest .htaccess file in bytes.
const MAX_FILE: usize = 1024 * 1024;

/// Most lines of it.
const MAX_LINES: usize = 50_000;

/// Most bytes of compiled patterns in a file: twenty characters can make 64 kilobytes.
const MOST_COMPILED: u64 = 4 << 20;

/// Longest time for carrying out an .htaccess file; ordinary ones take less than a millisecond.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// The file's place and the directives it may contain.
#[derive(Clone, Debug)]
pub struct HtaccessScope<'a> {
    /// The configuration that the server runs with.
    pub config: &'a Config,
    /// The first line of the request's virtual host ([`crate::Server::origin`]).
    pub host: Origin,
    /// Path of the file, for messages.
    pub file: &'a str,
    /// Its directory, absolute, without a slash at the end.
    pub directory: &'a str,
    /// The directory's AllowOverride.
    pub allow: Arc<Allow>,
}

/// The contents of the file.
#[derive(Clone, Debug, Default)]
pub struct Htaccess {
    /// To be merged over what applies so far.
    pub conf: Arc<DirConfig>,
    /// For the error log.
    pub warnings: Vec<Warning>,
    /// The directives in it, in order, for `hostler explain`. Their `origin.file` is 0 and means this file.
    pub settings: Vec<Setting>,
    /// Files that it asks for and that nobody has told of ([`Stands::Known`]): what it says is not known before that.
    pub asks: Vec<String>,
}

/// Reads an .htaccess file. Total: any bytes give a result, in bounded time.
///
/// # Errors
/// The first mistake; the directory and all below it then answer 500.
pub fn parse_htaccess(text: &[u8], scope: &HtaccessScope<'_>) -> Result<Htaccess, Box<ConfigError>> {
    parse_htaccess_beside(text, scope, Stands::Unknown)
}

/// The same for one that may ask for files (`<IfFile>`).
///
/// # Errors
/// The first mistake; the directory and all below it then answer 500.
pub fn parse_htaccess_beside(
    text: &[u8],
    scope: &HtaccessScope<'_>,
    stands: Stands,
) -> Result<Htaccess, Box<ConfigError>> {
    let file: Arc<str> = scope.file.into();
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    if text.len() > MAX_FILE || lines > MAX_LINES {
        let (directive, form) = (String::new(), String::new());
        let message = format!("is larger than {MAX_FILE} bytes, or has more than {MAX_LINES} lines");
        return Err(Box::new(ConfigError { file, line: 0, directive, message, form }));
    }
    let mut reader = Reader::for_htaccess(&scope.config.facts, scope.host, scope.file, stands);
    let nodes = reader.htaccess_nodes(text);
    let asks = reader.asks();
    let (errors, mut warnings) = reader.into_report();
    if !asks.is_empty() {
        return Ok(Htaccess { asks, ..Htaccess::default() });
    }
    let mut builder = Builder::new(LANGUAGE, Arc::clone(&scope.config.facts), vec![file]);
    builder.host = Some(scope.host);
    builder.allow = Some(Arc::clone(&scope.allow));
    builder.deadline = Some(Instant::now() + TIME_LIMIT);
    builder.most_compiled = Some(effort::compiled() + MOST_COMPILED);
    builder.aliases = Arc::clone(&scope.config.aliases);
    builder.regex_options = scope.config.regex_options;
    let place = Place { kind: Kind::Directory, path: scope.directory.into(), regex: None };
    let before = effort::compiled();
    let mut dir = DirConfig::default();
    if errors.is_empty() {
        run(&mut dir, &mut builder, &place, &nodes);
    }
    let first = errors.into_iter().chain(builder.errors).min_by_key(|error| error.line);
    match first {
        Some(error) => Err(Box::new(error)),
        None => {
            dir.weight = text.len() + (effort::compiled() - before) as usize / 8;
            warnings.append(&mut builder.warnings);
            Ok(Htaccess { conf: Arc::new(dir), warnings, settings: builder.trail, asks })
        }
    }
}

fn run(dir: &mut DirConfig, builder: &mut Builder, place: &Place, nodes: &[crate::Node]) {
    let Some((_, directive)) = crate::modules::find("AccessFileName") else { return };
    let mut cmd = Command {
        dir,
        server: &mut ServerConfig::default(),
        process: &mut ProcessConfig::default(),
        context: Context::Htaccess,
        inside: Inside { directory: true, ..Inside::default() },
        place: Some(place),
        limited: None,
        origin: Origin::default(),
        directive,
        directories: &mut Vec::new(),
        locations: &mut Vec::new(),
        builder,
    };
    cmd.run(nodes);
}
