//! `RLimitCPU`, `RLimitMEM` and `RLimitNPROC` where they can't hold. As in Apache they hold for what is started for a
//! request: CGI programs and commands of SSI. Warm workers serve requests of many sections; those outside of sections
//! are theirs. What `.htaccess` files say is seen when a request comes: the ErrorLog tells of it then.

use hostler_config::directives::core::Setting as Handler;
use hostler_config::directives::pool::Isolation;
use hostler_config::pools::uses_any;
use hostler_config::{Config, DirConfig, Section, technique};
use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Finding, place};

/// Such lines in sections of virtual hosts with programs in warm workers.
pub(crate) fn in_sections(config: &Config) -> Vec<Finding> {
    let mut found = BTreeSet::new();
    for server in &config.servers {
        let warm = uses_any(server);
        for sections in [&server.directories, &server.locations] {
            look(config, warm, sections, &mut found);
        }
        below(config, warm, &server.defaults, &mut found);
    }
    found.into_iter().map(Finding::Warning).collect()
}

/// `warm`: the virtual host has programs in warm workers, so that a section may be about them.
fn look(config: &Config, warm: bool, sections: &[Arc<Section>], found: &mut BTreeSet<String>) {
    for section in sections {
        if is_warm(&section.conf).unwrap_or(warm) {
            let limits = section.settings.iter().filter(|setting| {
                setting.directive.starts_with("RLimit") || setting.directive == "NiceValue"
            });
            found.extend(limits.map(|setting| {
                format!(
                    "{}: {} in {} holds for CGI programs and commands of SSI there, not for warm workers, whose limits \
                     stand outside of sections",
                    place::of(config, setting.origin),
                    setting.directive,
                    section.title,
                )
            }));
        }
        below(config, warm, &section.conf, found);
    }
}

fn below(config: &Config, warm: bool, conf: &DirConfig, found: &mut BTreeSet<String>) {
    look(config, warm, &conf.core.files, found);
    look(config, warm, &conf.core.ifs, found);
}

/// Returns whether the section itself says that its programs run in warm workers, CGI programs under `Isolation fork`
/// too, or that they are started one by one.
fn is_warm(conf: &DirConfig) -> Option<bool> {
    match (conf.pool.isolation, &conf.core.handler) {
        (Some(isolation), _) => Some(isolation != Isolation::Exec),
        (None, Some(Handler::Word(handler))) => {
            let technique = technique::of_handler(handler.as_bytes())?;
            technique.engine().is_none().then_some(false)
        }
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &str) -> Vec<String> {
        hostler_techniques::install().ok().unwrap();
        let tree = hostler_config::read_text(lines, "/etc").ok().unwrap();
        let warnings = in_sections(&Config::build(&tree).ok().unwrap());
        warnings.into_iter().map(|found| format!("{found:?}")).collect()
    }

    #[test]
    fn a_limit_in_a_section_is_no_warm_workers() {
        let perl =
            "<Location /perl>\nSetHandler perl-script\nPerlResponseHandler X\nRLimitCPU 5\n</Location>";
        let warnings = found(perl);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("configuration:4: RLimitCPU in <Location /perl> holds for CGI"),
            "{warnings:?}"
        );
        let nested = "SetHandler modperl\n<Directory /srv>\n<Files x>\nRLimitNPROC 9\nRLimitMEM max\n</Files>\n</Directory>";
        assert_eq!(found(nested).len(), 2);
        let fork = "<Directory /cgi>\nSetHandler cgi-script\nIsolation fork\nRLimitCPU 5\n</Directory>";
        assert_eq!(found(fork).len(), 1);
        let host = format!("<VirtualHost *:80>\n{perl}\n</VirtualHost>\n<VirtualHost *:81>\n</VirtualHost>");
        assert_eq!(found(&host).len(), 1, "once for each line");
    }

    #[test]
    fn a_limit_that_holds_is_not_warned_of() {
        let warm = "SetHandler perl-script";
        for lines in [
            "<Directory /cgi>\nSetHandler cgi-script\nRLimitCPU 5\n</Directory>".to_owned(),
            format!("{warm}\nRLimitCPU 5"),
            format!("{warm}\n<Directory /cgi>\nSetHandler cgi-script\nRLimitCPU 5\n</Directory>"),
            "<Directory /cgi>\nSetHandler cgi-script\nIsolation exec\nRLimitCPU 5\n</Directory>".to_owned(),
            "<Directory /cgi>\nRLimitCPU 5\n</Directory>".to_owned(),
        ] {
            assert_eq!(found(&lines), Vec::<String>::new(), "{lines}");
        }
    }
}
