//! Which virtual hosts have programs for an engine at all.

use crate::directives::core::Setting;
use crate::directives::php;
use crate::{DirConfig, Section, Server};
use std::sync::Arc;

/// Handlers that an engine answers for.
const HANDLERS: &[&str] = &["perl-script", "modperl", "psgi"];

/// Whether some section of the virtual host, its own or inherited, names a program for an engine. What .htaccess
/// files say is not known here.
#[must_use]
pub fn uses_engine(server: &Server) -> bool {
    !server.conf.perl.handlers.is_empty()
        || in_dir(&server.defaults)
        || in_sections(&server.directories)
        || in_sections(&server.locations)
}

fn in_dir(conf: &DirConfig) -> bool {
    let of_php = |handler: &str| php::is_installed() && php::HANDLERS.contains(&handler);
    let answers = |handler: &str| HANDLERS.contains(&handler) || of_php(handler);
    let set = matches!(&conf.core.handler, Some(Setting::Word(word)) if answers(word));
    set || !conf.perl.handlers.is_empty() || in_sections(&conf.core.files) || in_sections(&conf.core.ifs)
}

fn in_sections(sections: &[Arc<Section>]) -> bool {
    sections.iter().any(|section| in_dir(&section.conf))
}
