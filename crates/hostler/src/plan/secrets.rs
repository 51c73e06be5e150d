//! Files that only root can read and the front needs: certificates and their keys.
//!
//! Where others than root decide what a path means, a file is read as the virtual host's user: a link planted
//! there must not bring another site's key into service.

use hostler_config::directives::ssl::TICKET_KEY;
use hostler_config::directives::ssl::backends::possible;
use hostler_config::directives::ssl::client::EVERY_FILE;
use hostler_config::{Config, Server};
use hostler_sys::trusted::{Trust, Untrusted, open_directory, open_file};
use hostler_wire::plan::Identity;
use serde_bytes::ByteBuf;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use super::{Finding, Roles, Situation, certificates};
use crate::Failed;
use crate::open_as::Openers;

/// Longest certificate or key file, in bytes.
const LONGEST: u64 = 1 << 20;

/// Most that the files of a folder may hold together, in bytes.
const LONGEST_FOLDER: u64 = 8 << 20;

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
    for (server, site) in config.servers.iter().zip(&roles.site_of) {
        let identity = roles.sites.get(*site as usize).and_then(|site| site.identity.as_ref());
        for path in wanted(server).filter(|path| seen.insert(path.clone())) {
            match reading.read(Path::new(&path), identity) {
                Ok(bytes) => files.push((path, ByteBuf::from(bytes))),
                Err(unreadable) => {
                    errors.push(format!("{}: {}", place(config, server, &path), unreadable.why));
                }
            }
        }
    }
    if errors.is_empty() { Ok(files) } else { Err(Failed(errors.join("\n"))) }
}

/// Reads them all and looks whether they can be used, for `hostler check`.
pub(crate) fn inspect(config: &Config, roles: &Roles, situation: &Situation) -> Vec<Finding> {
    let mut reading = Reading { root: situation.root(), openers: Openers::default() };
    let (mut seen, mut found) = (HashMap::new(), Vec::new());
    for (server, site) in config.servers.iter().zip(&roles.site_of) {
        let identity = roles.sites.get(*site as usize).and_then(|site| site.identity.as_ref());
        for path in wanted(server) {
            seen.entry(path.clone()).or_insert_with(|| {
                let unreadable = |e: Unreadable| {
                    let why = format!("{}: {}", place(config, server, &path), e.why);
                    found.push(if e.denied { Finding::Unseen(why) } else { Finding::Error(why) });
                };
                reading.read(Path::new(&path), identity).map_err(unreadable).ok()
            });
        }
        if server.conf.ssl.is_on() {
            found.extend(unusable(config, server, &seen));
        }
    }
    found
}

/// Returns the fault in the contents of a virtual host's files, as far as they could be read.
fn unusable(config: &Config, server: &Server, files: &HashMap<String, Option<Vec<u8>>>) -> Vec<Finding> {
    let ssl = &server.conf.ssl;
    let content = |path: &str| files.get(path).and_then(|content| content.as_deref());
    let mut found = Vec::new();
    if ssl.certificates.is_empty() {
        let why = Finding::Absent("SSLEngine on needs an SSLCertificateFile".to_string());
        found.push(why.prefixed(&place(config, server, "")));
    }
    let mut add = |path, why| found.push(Finding::Error(format!("{}: {why}", place(config, server, path))));
    for (certificate, key) in ssl.pairs() {
        if let (Some(certificate_pem), Some(key_pem)) = (content(certificate), content(key))
            && let Err(why) = certificates::pair((certificate, certificate_pem), (key, key_pem))
        {
            add(certificate, why);
        }
    }
    if let Some(chain) = ssl.chain.as_deref()
        && let Some(pem) = content(chain)
        && let Err(why) = certificates::certificates((chain, pem))
    {
        add(chain, why);
    }
    if let Some(key) = ssl.ticket_key.as_deref()
        && content(key).is_some_and(|bytes| bytes.len() < TICKET_KEY)
    {
        add(key, format!("{key} has fewer than {TICKET_KEY} bytes"));
    }
    found
}

fn wanted(server: &Server) -> impl Iterator<Item = String> {
    let ssl = Some(&server.conf.ssl).filter(|ssl| ssl.is_on());
    let own = ssl.into_iter().flat_map(|ssl| {
        let pairs = ssl.pairs().flat_map(|(certificate, key)| [certificate, key]);
        let clients = Some(&ssl.clients).filter(|clients| clients.are_asked());
        let clients = clients.into_iter().flat_map(|clients| clients.certificates().chain(clients.revoked()));
        pairs.chain(ssl.chain.as_deref()).chain(ssl.ticket_key.as_deref()).chain(clients).map(str::to_owned)
    });
    // Of `SSLProxy...`: what other servers' certificates are examined with, and what they are shown.
    let backends = possible(server);
    own.chain(
        backends.into_iter().flat_map(|settings| settings.files().map(str::to_owned).collect::<Vec<_>>()),
    )
}

/// The line that names the file, or the virtual host's.
fn place(config: &Config, server: &Server, path: &str) -> String {
    let path = path.strip_suffix(EVERY_FILE).unwrap_or(path);
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    let settings = server.settings.iter().chain(&config.main().settings);
    let mut named = settings.filter(|s| s.directive.starts_with("SSL") && s.args.contains(name));
    let found = named.next();
    let origin = found.map_or(server.origin, |setting| setting.origin);
    let file = config.files.get(origin.file as usize).map_or("configuration", |file| &**file);
    format!("{file}:{}: {}", origin.line, found.map_or("SSLCertificateFile", |setting| setting.directive))
}

/// Why a file was not read.
struct Unreadable {
    why: String,
    /// We lack the permission.
    denied: bool,
}

impl From<String> for Unreadable {
    fn from(why: String) -> Self {
        Self { why, denied: false }
    }
}

/// Returns whether a name is `HHHHHHHH.N`, or `HHHHHHHH.rN` as for lists of revoked certificates.
fn is_hashed(name: &[u8]) -> bool {
    let Some((hash, rest)) = name.split_at_checked(8) else { return false };
    let number = rest.strip_prefix(b".r").or_else(|| rest.strip_prefix(b".")).unwrap_or_default();
    hash.iter().all(u8::is_ascii_hexdigit) && !number.is_empty() && number.iter().all(u8::is_ascii_digit)
}

struct Reading {
    root: bool,
    openers: Openers,
}

impl Reading {
    fn read(&mut self, path: &Path, identity: Option<&Identity>) -> Result<Vec<u8>, Unreadable> {
        let name = path.to_string_lossy();
        if let Some(folder) = name.strip_suffix(EVERY_FILE) {
            return self.read_folder(Path::new(folder), |_| true);
        }
        if name.ends_with('/') {
            return self.read_folder(path, is_hashed);
        }
        let failed = |e: &dyn std::fmt::Display| format!("can't read {}: {e}", path.display());
        let file = self.open(path, identity)?;
        let mut bytes = Vec::new();
        File::from(file).take(LONGEST + 1).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
        if bytes.len() as u64 > LONGEST {
            return Err(failed(&"it is longer than 1 MB").into());
        }
        Ok(bytes)
    }

    /// The contents of the files of a folder whose names count. Folders in it are passed over. The folder must be root's alone,
    /// where we are root.
    ///
    /// As under Apache a folder may have none: then no certificate is known, and none that is shown is accepted.
    fn read_folder(&mut self, path: &Path, counts: fn(&[u8]) -> bool) -> Result<Vec<u8>, Unreadable> {
        let trust = if self.root { Trust::Root(&|_| false) } else { Trust::Anyone };
        open_directory(path, trust).map_err(|e| format!("can't read {}: {e}", path.display()))?;
        let entries = std::fs::read_dir(path).map_err(|e| format!("can't read {}: {e}", path.display()))?;
        let mut names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        names.retain(|name| counts(name.as_encoded_bytes()) && path.join(name).is_file());
        names.sort();
        let mut all = Vec::new();
        for name in names {
            all.extend(self.read(&path.join(name), None)?);
            all.push(b'\n');
            if all.len() as u64 > LONGEST_FOLDER {
                return Err(format!("can't read {}: its files are longer than 8 MB", path.display()).into());
            }
        }
        Ok(all)
    }

    fn open(&mut self, path: &Path, identity: Option<&Identity>) -> Result<OwnedFd, Unreadable> {
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
                    .into()
                })
            }
            (Err(untrusted), _) => {
                let denied = matches!(&untrusted, Untrusted::Io { error, .. } if error.kind() == ErrorKind::PermissionDenied);
                Err(Unreadable { why: format!("can't read {}: {untrusted}", path.display()), denied })
            }
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
