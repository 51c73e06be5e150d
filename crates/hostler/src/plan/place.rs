//! The place of a configuration line, for messages.

use hostler_config::{Config, Origin, Server};

/// `file:line`
pub(crate) fn of(config: &Config, origin: Origin) -> String {
    match config.files.get(origin.file as usize) {
        Some(file) => format!("{file}:{}", origin.line),
        None => "configuration".to_string(),
    }
}

/// `file:line: Directive` of the last such line that stands in the server's own section.
pub(crate) fn directive(config: &Config, server: &Server, name: &str) -> String {
    let setting = server.settings.iter().rfind(|setting| setting.directive == name);
    setting.map_or_else(|| name.to_string(), |setting| format!("{}: {name}", of(config, setting.origin)))
}
