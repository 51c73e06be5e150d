//! Directories, and files of maps, that must be there before a start.

use hostler_config::Config;
use hostler_sys::trusted::{Trust, Untrusted, is_of_this_start, may_write, open_directory};
use std::io::ErrorKind;
use std::path::Path;

use super::{Finding, place};

/// The document roots. As in Apache, the main server's must be there, a virtual host's may come later.
pub(crate) fn document_roots(config: &Config) -> Vec<Finding> {
    let own = config.servers.iter().filter(|s| s.settings.iter().any(|set| set.directive == "DocumentRoot"));
    own.filter_map(|server| {
        let found = directory(server.conf.core.document_root.as_deref()?)?;
        let place = place::directive(config, server, "DocumentRoot");
        Some(match found {
            Finding::Error(why) if server.id == config.main().id => Finding::Error(format!("{place}: {why}")),
            // Where even root may not look (NFS), the site's user perhaps may.
            found => Finding::Warning(format!("{place}: {}", found.why())),
        })
    })
    .collect()
}

/// The files of maps (`RewriteMap`): as in Apache they must be there when the server starts, in virtual hosts too.
pub(crate) fn maps(config: &Config) -> Vec<Finding> {
    let mut found = Vec::new();
    for server in &config.servers {
        for setting in server.settings.iter().filter(|setting| setting.directive == "RewriteMap") {
            let Some(name) = hostler_config::first_word(&setting.args).map(|(name, _)| name) else {
                continue;
            };
            let map = server.conf.rewrite.context.maps.get(&*name);
            let Some(path) = map.and_then(hostler_rewrite::Source::file) else { continue };
            let missing =
                |e: &std::io::Error| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            if std::fs::metadata(path).is_err_and(|error| missing(&error)) {
                let place = place::of(config, setting.origin);
                found.push(Finding::Error(format!(
                    "{place}: RewriteMap: the file {path} of the map {name} does not exist"
                )));
            }
        }
    }
    found
}

/// The PidFile's directory. Root writes only where nobody else does: who controls a PidFile chooses whom root signals.
pub(crate) fn pid_file(config: &Config, root: bool) -> Option<Finding> {
    let file = Path::new(config.process.pid_file.as_deref()?);
    // The start creates what is missing below /run.
    let missing = |path: &&Path| is_of_this_start(path) && !path.exists();
    let parent = file.parent()?;
    let parent = parent.ancestors().find(|folder| !missing(folder))?;
    let found = match directory(parent.to_str()?) {
        None if file.is_dir() => Finding::Error(format!("{} is a directory", file.display())),
        None if root => Finding::Error(untrusted(parent)?),
        None => Finding::Unseen(format!("can't write to {}: {}", parent.display(), may_write(parent).err()?)),
        Some(Finding::Error(why)) => Finding::Error(why),
        Some(found) => Finding::Unseen(found.why()),
    };
    Some(found.prefixed(&place::directive(config, config.main(), "PidFile")))
}

/// Why root won't write to a directory.
fn untrusted(directory: &Path) -> Option<String> {
    match open_directory(directory, Trust::Root(&|_| false)) {
        Ok(_) => None,
        Err(why @ Untrusted::Io { .. }) => Some(why.to_string()),
        Err(why) => Some(format!("root won't write it there: {why}")),
    }
}

/// `None`: it is a directory.
fn directory(path: &str) -> Option<Finding> {
    match std::fs::metadata(path) {
        Ok(data) if data.is_dir() => None,
        Ok(_) => Some(Finding::Error(format!("{path} is not a directory"))),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(Finding::Error(format!("the directory {path} does not exist; create it")))
        }
        Err(e) => Some(Finding::Unseen(format!("can't look at {path}: {e}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &str) -> Vec<Finding> {
        hostler_techniques::install().ok().unwrap();
        let tree = hostler_config::read_text(lines, "/etc").ok().unwrap();
        let config = Config::build(&tree).ok().unwrap();
        document_roots(&config).into_iter().chain(pid_file(&config, false)).collect()
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
            assert!(matches!(&found[..], [Finding::Error(why)] if why.starts_with(line)), "{found:?}");
        }
    }

    #[test]
    fn the_files_of_maps_must_be_there() {
        hostler_techniques::install().ok().unwrap();
        let lines = "RewriteMap a txt:/etc/passwd\nRewriteMap b int:tolower\n<VirtualHost *:80>\nRewriteMap \"c\" \
                     prg:/no/such\n</VirtualHost>";
        let tree = hostler_config::read_text(lines, "/etc").ok().unwrap();
        let found = maps(&Config::build(&tree).ok().unwrap());
        let line = "configuration:4: RewriteMap: the file /no/such of the map c does not exist";
        assert!(matches!(&found[..], [Finding::Error(why)] if why == line), "{found:?}");
    }

    #[test]
    fn root_writes_no_pid_file_where_others_could() {
        hostler_techniques::install().ok().unwrap();
        let tree = hostler_config::read_text("PidFile /tmp/x.pid", "/etc").ok().unwrap();
        let found = pid_file(&Config::build(&tree).ok().unwrap(), true);
        assert!(
            matches!(&found, Some(Finding::Error(why)) if why.contains("root won't write it there")),
            "{found:?}"
        );
    }

    #[test]
    fn a_virtual_hosts_may_come_later() {
        let lines =
            "<VirtualHost *:80>\nDocumentRoot /no/such\n</VirtualHost>\n<VirtualHost *:81>\n</VirtualHost>";
        let found = found(lines);
        assert!(
            matches!(&found[..], [Finding::Warning(why)] if why.contains(":2: DocumentRoot")),
            "{found:?}"
        );
    }
}
