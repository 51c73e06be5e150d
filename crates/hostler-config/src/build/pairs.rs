//! Impossible combinations, found before a start: handlers and isolations, and faults that engines find in their
//! groups.

use crate::directives::core::Setting as Handler;
use crate::section::{Pattern, Section, Setting};
use crate::{Config, ConfigError, DirConfig, Origin, Server, technique};
use std::sync::Arc;

/// All pairs in the configuration that cannot work. A handler that only a file's extension gives is not known here.
pub(crate) fn impossible(config: &Config) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    for server in &config.servers {
        check_server(config, server, &mut errors);
    }
    for groups in technique::engines().iter().filter_map(|engine| engine.groups) {
        let found = (groups.check)(config).into_iter();
        errors.extend(found.map(|(origin, directive, why)| self::error(config, origin, directive, &why, "")));
    }
    errors.dedup_by(|a, b| (&a.file, a.line) == (&b.file, b.line));
    errors
}

fn check_server(config: &Config, server: &Server, errors: &mut Vec<ConfigError>) {
    let none = DirConfig::default();
    // What a virtual host inherits was found where it stands, unless the host adds the other half.
    let settings = || config.main().settings.iter().chain(&server.settings);
    check(config, &none, &server.defaults, settings, errors);
    check_applications(config, server, errors);
    for section in server.directories.iter().chain(&*server.locations) {
        check_section(config, &server.defaults, section, errors);
    }
    for section in server.defaults.core.files.iter().chain(&server.defaults.core.ifs) {
        check_section(config, &server.defaults, section, errors);
    }
}

/// Applications that are mapped to paths have no handler that a line names: what holds for their paths is looked at.
fn check_applications(config: &Config, server: &Server, errors: &mut Vec<ConfigError>) {
    for row in technique::all() {
        let Some(applications) = row.applications.filter(|rows| (rows.are_there)(&server.conf)) else {
            continue;
        };
        let is_theirs = |section: &&Arc<Section>| {
            // It is not known what a pattern matches.
            let Pattern::Plain(path) = &section.pattern else { return false };
            (applications.find)(&server.conf, path).is_some()
        };
        let whole = (
            server.defaults.pool.isolation,
            config.main().settings.iter().chain(&server.settings).collect::<Vec<_>>(),
        );
        let parts = server.locations.iter().filter(is_theirs);
        let parts = parts.map(|section| (section.conf.pool.isolation, section.settings.iter().collect()));
        for (isolation, settings) in [whole].into_iter().chain(parts) {
            let Some(why) = isolation.and_then(|isolation| row.why_not(isolation)) else { continue };
            if let Some(setting) = settings.iter().rev().find(|setting| setting.directive == "Isolation") {
                errors.push(error(config, setting.origin, setting.directive, why, "Isolation persistent"));
            }
        }
    }
}

fn check_section(config: &Config, outer: &DirConfig, section: &Arc<Section>, errors: &mut Vec<ConfigError>) {
    check(config, outer, &section.conf, || section.settings.iter(), errors);
    for inner in section.conf.core.files.iter().chain(&section.conf.core.ifs) {
        check_section(config, &section.conf, inner, errors);
    }
}

/// One section, with what it has from further out. The place is that of its own Isolation or SetHandler.
fn check<'a, I: DoubleEndedIterator<Item = &'a Setting>>(
    config: &Config,
    outer: &DirConfig,
    conf: &DirConfig,
    settings: impl Fn() -> I,
    errors: &mut Vec<ConfigError>,
) {
    if conf.pool.isolation.is_none() && conf.core.handler.is_none() {
        return;
    }
    let isolation = conf.pool.isolation.or(outer.pool.isolation);
    let handler = conf.core.handler.as_ref().or(outer.core.handler.as_ref());
    let (Some(isolation), Some(Handler::Word(handler))) = (isolation, handler) else { return };
    let technique = technique::of_handler(handler.as_bytes());
    let Some(why) = technique.and_then(|technique| technique.why_not(isolation)) else { return };
    let last = |name| settings().rev().find(|setting| setting.directive == name);
    let Some(setting) = last("Isolation").or_else(|| last("SetHandler")) else { return };
    errors.push(error(config, setting.origin, setting.directive, why, "Isolation persistent|fork|exec"));
}

fn error(config: &Config, origin: Origin, directive: &str, why: &str, form: &str) -> ConfigError {
    let file = config.files.get(origin.file as usize).cloned().unwrap_or_else(|| Arc::from("configuration"));
    let (directive, message, form) = (directive.to_owned(), why.to_owned(), form.to_owned());
    ConfigError { file, line: origin.line, directive, message, form }
}

#[cfg(test)]
mod tests {
    use crate::{Config, read_text};

    fn errors(text: &str) -> Vec<String> {
        let tree = read_text(text, "/etc/apache2").unwrap();
        Config::build(&tree).err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_cannot_work_is_told_with_its_place() {
        for (text, place) in [
            (
                "<Location /x>\nSetHandler cgi-script\nIsolation persistent\n</Location>",
                Some("configuration:3: Isolation"),
            ),
            (
                "Isolation exec\n<Location /x>\nSetHandler perl-script\n</Location>",
                Some("configuration:3: SetHandler"),
            ),
            ("SetHandler modperl\n<Directory /x>\n<Files a>\nIsolation exec\n</Files>\n</Directory>", None),
            ("SetHandler modperl\n<Files a>\nIsolation exec\n</Files>", Some("configuration:3: Isolation")),
            (
                "Isolation exec\n<VirtualHost *>\nSetHandler psgi\n</VirtualHost>",
                Some("configuration:1: Isolation"),
            ),
            ("Isolation fork\nSetHandler psgi\n<Location /x>\nSetHandler cgi-script\n</Location>", None),
            ("<Location /x>\nIsolation persistent\n</Location>", None),
            ("Isolation exec\n<Location /x>\nIsolation fork\nSetHandler perl-script\n</Location>", None),
        ] {
            let errors = errors(text);
            match place {
                Some(place) => {
                    assert!(errors.len() == 1 && errors[0].starts_with(place), "{text}: {errors:?}");
                }
                None => assert!(errors.is_empty(), "{text}: {errors:?}"),
            }
        }
    }
}
