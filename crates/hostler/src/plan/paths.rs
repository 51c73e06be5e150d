//! Directories that must be there before a start.

use hostler_config::Config;
use std::io::ErrorKind;
use std::path::Path;

use super::{Found, place};

/// The document roots. As in Apache, the main server's must be there, a virtual host's may come later.
pub(crate) fn document_roots(config: &Config) -> Vec<Found> {
    let own = config.servers.iter().filter(|s| s.settings.iter().any(|set| set.directive == "DocumentRoot"));
    own.filter_map(|server| {
        let found = directory(server.conf.core.document_root.as_deref()?)?;
        let place = place::directive(config, server, "DocumentRoot");
        Some(match found {
            Found::Error(why) if server.id == config.main().id => Found::Error(format!("{place}: {why}")),
            // Where even root may not look (NFS), the site's user perhaps may.
            Found::Error(why) | Found::Warning(why) | Found::Unseen(why) => {
                Found::Warning(format!("{place}: {why}"))
            }
        })
    })
    .collect()
}

/// The PidFile's directory.
pub(crate) fn pid_file(config: &Config) -> Option<Found> {
    let parent = Path::new(config.process.pid_file.as_deref()?).parent()?.to_str()?;
    let found = directory(parent)?;
    let place = place::directive(config, config.main(), "PidFile");
    Some(match found {
        Found::Error(why) => Found::Error(format!("{place}: {why}")),
        Found::Warning(why) | Found::Unseen(why) => Found::Unseen(format!("{place}: {why}")),
    })
}

/// `None`: it is a directory.
fn directory(path: &str) -> Option<Found> {
    match std::fs::metadata(path) {
        Ok(data) if data.is_dir() => None,
        Ok(_) => Some(Found::Error(format!("{path} is not a directory"))),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(Found::Error(format!("the directory {path} does not exist; create it")))
        }
        Err(e) => Some(Found::Unseen(format!("can't look at {path}: {e}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &str) -> Vec<Found> {
        let tree = hostler_config::read_text(lines, "/etc").ok().unwrap();
        let config = Config::build(&tree).ok().unwrap();
        document_roots(&config).into_iter().chain(pid_file(&config)).collect()
    }

    #[test]
    fn the_main_servers_directories_must_be_there() {
        assert_eq!(found("DocumentRoot /tmp\nPidFile /tmp/x.pid"), []);
        for (lines, line) in [
            ("DocumentRoot /no/such", "configuration:1: DocumentRoot: the directory /no/such does not"),
            ("\nDocumentRoot /etc/passwd", "configuration:2: DocumentRoot: /etc/passwd is not a directory"),
            ("PidFile /no/such/x.pid", "configuration:1: PidFile: the directory /no/such does not exist"),
        ] {
            let found = found(lines);
            assert!(matches!(&found[..], [Found::Error(why)] if why.starts_with(line)), "{found:?}");
        }
    }

    #[test]
    fn a_virtual_hosts_may_come_later() {
        let lines =
            "<VirtualHost *:80>\nDocumentRoot /no/such\n</VirtualHost>\n<VirtualHost *:81>\n</VirtualHost>";
        let found = found(lines);
        assert!(matches!(&found[..], [Found::Warning(why)] if why.contains(":2: DocumentRoot")), "{found:?}");
    }
}
