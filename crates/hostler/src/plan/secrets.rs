//! Files that only root can read and the front needs: certificates and their keys.
//!
//! Where others than root decide what a path means, a file is read as the virtual host's user: a link planted
//! there must not bring another site's key into service.

use hostler_config::{Config, Server};
use hostler_sys::trusted::{Trust, Untrusted, open_file};
use hostler_wire::plan::Identity;
use serde_bytes::ByteBuf;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::{Roles, Situation};
use crate::Failed;
use crate::open_as::Openers;

/// Longest certificate or key file, in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads them all, each once; with their paths as the configuration names them.
///
/// # Errors
/// All files that can't be read, one line each, with the virtual host's place.
pub(crate) fn read(
    config: &Config,
    roles: &Roles,
    situation: &Situation,
) -> Result<Vec<(String, ByteBuf)>, Failed> {
    let mut reading = Reading { root: situation.root(), openers: Openers::default() };
    let (mut seen, mut files, mut errors) = (HashSet::new(), Vec::new(), Vec::new());
    for (server, site) in config.servers.iter().zip(&roles.site_of).filter(|(s, _)| s.conf.ssl.is_on()) {
        let identity = roles.sites.get(*site as usize).and_then(|site| site.identity.as_ref());
        for path in wanted(server).filter(|path| seen.insert(path.to_string())) {
            match reading.read(Path::new(path), identity) {
                Ok(bytes) => files.push((path.to_string(), ByteBuf::from(bytes))),
                Err(why) => errors.push(format!("{}: {why}", place(config, server, path))),
            }
        }
    }
    if errors.is_empty() { Ok(files) } else { Err(Failed(errors.join("\n"))) }
}

fn wanted(server: &Server) -> impl Iterator<Item = &str> {
    let ssl = &server.conf.ssl;
    ssl.pairs().flat_map(|(certificate, key)| [certificate, key]).chain(ssl.chain.as_deref())
}

/// The line that names the file, or the virtual host's.
fn place(config: &Config, server: &Server, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let settings = server.settings.iter().chain(&config.main().settings);
    let mut named = settings.filter(|s| s.directive.starts_with("SSLCertificate") && s.args.contains(name));
    let found = named.next();
    let origin = found.map_or(server.origin, |setting| setting.origin);
    let file = config.files.get(origin.file as usize).map_or("configuration", |file| &**file);
    format!("{file}:{}: {}", origin.line, found.map_or("SSLCertificateFile", |setting| setting.directive))
}

struct Reading {
    root: bool,
    openers: Openers,
}

impl Reading {
    fn read(&mut self, path: &Path, identity: Option<&Identity>) -> Result<Vec<u8>, String> {
        let failed = |e: &dyn std::fmt::Display| format!("can't read {}: {e}", path.display());
        let file = self.open(path, identity)?;
        let mut bytes = Vec::new();
        File::from(file).take(LONGEST + 1).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
        if bytes.len() as u64 > LONGEST {
            return Err(failed(&"it is longer than 1 MB"));
        }
        Ok(bytes)
    }

    fn open(&mut self, path: &Path, identity: Option<&Identity>) -> Result<OwnedFd, String> {
        let trust = if self.root { Trust::Root(&|_| false) } else { Trust::Anyone };
        match (open_file(path, trust), identity) {
            (Ok(file), _) => Ok(file),
            (Err(Untrusted::Writable { .. } | Untrusted::Link { .. }), Some(identity)) => {
                let opened = self.openers.of(identity)?.read(path);
                opened.map_err(|e| {
                    format!(
                        "can't read {} as uid {} (its directory is not root's alone): {e}",
                        path.display(),
                        identity.uid
                    )
                })
            }
            (Err(untrusted), _) => Err(format!("can't read {}: {untrusted}", path.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn with_certificate(path: &str) -> Result<Vec<(String, ByteBuf)>, Failed> {
        let mut server = Server::default();
        server.conf.ssl.engine = Some(true);
        server.conf.ssl.certificates = vec![path.into()];
        let config = Config { servers: vec![Arc::new(server)], ..Config::default() };
        let roles = Roles { front: None, sites: Vec::new(), site_of: vec![0], warnings: Vec::new() };
        read(&config, &roles, &Situation { uid: 5, gid: 5, single_user: true })
    }

    #[test]
    fn a_certificate_is_read_once_although_it_holds_the_key_too() {
        let files = with_certificate("/etc/passwd").ok().unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].1, std::fs::read("/etc/passwd").unwrap());
    }

    #[test]
    fn a_missing_or_endless_one_is_named() {
        for path in ["/no/such.pem", "/dev/zero"] {
            assert!(with_certificate(path).is_err_and(|Failed(why)| why.contains(path)));
        }
    }
}
