//! Files that pools of warm workers load: whether they are there. Nothing of them is run or even read; a pool finds out
//! the rest when its first request comes. As in Apache, the server does not start without the main server's; a virtual
//! host's is a tenant's, who is not to stop the others: its requests fail, and say why.

use hostler_config::directives::perl::Preload;
use hostler_config::{Config, DirConfig, Section};
use hostler_perl_frames::PreloadKind;
use hostler_perl_technique::psgi;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::{Finding, place};

/// Lists the missing files of `PerlRequire` and related directives, and of `PSGIApp`.
pub(crate) fn files(config: &Config) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    // What a virtual host inherits has been seen as the main server's.
    let all = config
        .servers
        .iter()
        .flat_map(|server| server.conf.perl.preload.iter().map(move |preload| (server.id, preload)));
    let preloads = all.filter(|(_, preload)| {
        let file = matches!(preload.kind, PreloadKind::File | PreloadKind::LateFile);
        file && seen.insert((preload.origin.file, preload.origin.line, preload.text.clone()))
    });
    let main = config.main().id;
    let files = preloads.filter_map(|(server, preload)| match required(config, preload)? {
        Finding::Error(why) if server != main => Some(Finding::Warning(why)),
        found => Some(found),
    });
    files.chain(applications(config)).collect()
}

/// A relative name is looked for below ServerRoot first, then in Perl's own places, which are not known here.
fn required(config: &Config, preload: &Preload) -> Option<Finding> {
    let (at, name) = (place::of(config, preload.origin), &*preload.text);
    if name.starts_with('/') {
        return missing(Path::new(name)).map(|found| found.prefixed(&at));
    }
    let root = Path::new(&config.facts.server_root);
    let there = [root.join(name), root.join("lib/perl").join(name)].iter().any(|path| path.exists());
    let why = "is not below ServerRoot; Perl will look for it in @INC";
    (!there).then(|| Finding::Warning(format!("{at}: {name} {why}")))
}

/// `None`: it is a file, or something else that perl will complain about itself.
fn missing(path: &Path) -> Option<Finding> {
    match std::fs::metadata(path) {
        Ok(_) => None,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(Finding::Error(format!("the file {} does not exist", path.display())))
        }
        Err(e) => Some(Finding::Unseen(format!("can't look at {}: {e}", path.display()))),
    }
}

/// The programs of `PSGIApp`. One that is missing stops nobody: only its own requests fail.
fn applications(config: &Config) -> Vec<Finding> {
    let mut all = BTreeSet::new();
    for server in &config.servers {
        in_dir(config, &server.defaults, server.origin, &mut all);
        in_sections(config, &server.directories, &mut all);
        in_sections(config, &server.locations, &mut all);
    }
    let warning = |(app, at): (String, String)| match missing(Path::new(&app))? {
        Finding::Error(why) => Some(Finding::Warning(format!("{at}: PSGIApp: {why}"))),
        other => Some(other.prefixed(&at)),
    };
    all.into_iter().filter_map(warning).collect()
}

fn in_sections(config: &Config, sections: &[Arc<Section>], all: &mut BTreeSet<(String, String)>) {
    sections.iter().for_each(|section| in_dir(config, &section.conf, section.origin, all));
}

fn in_dir(
    config: &Config,
    conf: &DirConfig,
    origin: hostler_config::Origin,
    all: &mut BTreeSet<(String, String)>,
) {
    if let Some(app) = &conf.part(&psgi::DIR).app {
        all.insert((app.to_string(), place::of(config, origin)));
    }
    in_sections(config, &conf.core.files, all);
    in_sections(config, &conf.core.ifs, all);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &str) -> Vec<Finding> {
        hostler_techniques::install().ok().unwrap();
        let tree = hostler_config::read_text(lines, "/etc").ok().unwrap();
        files(&Config::build(&tree).ok().unwrap())
    }

    #[test]
    fn what_is_to_be_loaded_must_be_there() {
        assert_eq!(found("PerlRequire /etc/passwd passwd\nPerlModule No::Such\nPSGIApp hostname"), []);
        for (lines, expected) in [
            (
                "PerlRequire /no/such.pl",
                Finding::Error("configuration:1: the file /no/such.pl does not exist".into()),
            ),
            (
                "\nPerlPostConfigRequire no-such.pl",
                Finding::Warning(
                    "configuration:2: no-such.pl is not below ServerRoot; Perl will look for it in @INC"
                        .into(),
                ),
            ),
            (
                "<Location /x>\nPSGIApp /no/app.psgi\n</Location>",
                Finding::Warning("configuration:1: PSGIApp: the file /no/app.psgi does not exist".into()),
            ),
        ] {
            assert_eq!(found(lines), [expected], "{lines}");
        }
        let tenants = found("<VirtualHost *>\nPerlRequire /no/such.pl\n</VirtualHost>");
        assert!(matches!(&tenants[..], [Finding::Warning(why)] if why.contains(":2: ")), "{tenants:?}");
        let twice = "PerlRequire /no/such.pl\n<VirtualHost *>\nPerlModule X\n</VirtualHost>";
        assert_eq!(found(twice).len(), 1);
    }
}
