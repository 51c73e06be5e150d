//! Directives of mod_ssl about other servers that are spoken to over TLS (`SSLProxy...`): in the server's configuration, in
//! virtual hosts and in `<Proxy>`.
//!
//! As with mod_ssl, nothing is looked at of who has signed a server's certificate unless `SSLProxyVerify require` says so;
//! its name and its time are.

use super::ciphers::Ciphers;
use super::client::{Clients, EVERY_FILE, RevocationCheck, folder, revocation_of, verify_of};
use super::options::Protocols;
use crate::{Args, Arity, Command, Contexts, Directive, Merge, Overrides, over};
use std::sync::Arc;

/// The TLS settings for other servers. Paths are absolute; those of folders end as described at [`EVERY_FILE`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Backends {
    /// SSLProxyEngine; unset means off.
    pub engine: Option<bool>,
    /// SSLProxyVerify and its relatives, as they are of clients' certificates.
    pub servers: Clients,
    /// SSLProxyCheckPeerName; unset means On.
    pub check_name: Option<bool>,
    /// SSLProxyCheckPeerCN
    pub check_cn: Option<bool>,
    /// SSLProxyCheckPeerExpire; unset means On.
    pub check_expire: Option<bool>,
    /// SSLProxyMachineCertificateFile: certificates with their keys.
    pub machine_file: Option<Box<str>>,
    /// SSLProxyMachineCertificatePath
    pub machine_path: Option<Box<str>>,
    /// SSLProxyMachineCertificateChainFile
    pub machine_chain: Option<Box<str>>,
    /// SSLProxyProtocol; unset means all.
    pub protocols: Option<Protocols>,
    /// SSLProxyCipherSuite
    pub ciphers: Ciphers,
}

impl Merge for Backends {
    fn merge(&self, other: &Self) -> Self {
        Self {
            engine: over(&self.engine, &other.engine),
            servers: self.servers.merge(&other.servers),
            check_name: over(&self.check_name, &other.check_name),
            check_cn: over(&self.check_cn, &other.check_cn),
            check_expire: over(&self.check_expire, &other.check_expire),
            machine_file: over(&self.machine_file, &other.machine_file),
            machine_path: over(&self.machine_path, &other.machine_path),
            machine_chain: over(&self.machine_chain, &other.machine_chain),
            protocols: over(&self.protocols, &other.protocols),
            ciphers: self.ciphers.merge(&other.ciphers),
        }
    }

    crate::unset_part!(Backends);
}

/// The check of a server's name against its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameCheck {
    /// Not at all.
    None,
    /// With its alternative names and its common names.
    Names,
    /// With its common name alone (SSLProxyCheckPeerCN, where SSLProxyCheckPeerName is off).
    CommonName,
}

impl Backends {
    /// Files and folders that have to be read.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let machine = [&self.machine_file, &self.machine_path, &self.machine_chain];
        let servers = self.servers.certificates().chain(self.servers.revoked());
        servers.chain(machine.into_iter().filter_map(|path| path.as_deref()))
    }

    /// Returns the check of names.
    #[must_use]
    pub fn name_check(&self) -> NameCheck {
        match (self.check_name, self.check_cn) {
            (Some(true), _) | (None, None | Some(true)) => NameCheck::Names,
            (Some(false), Some(true)) => NameCheck::CommonName,
            // Quirk(apache): SSLProxyCheckPeerCN off turns both off, unless SSLProxyCheckPeerName is said to be on.
            (Some(false), _) | (None, Some(false)) => NameCheck::None,
        }
    }
}

/// Merged as other settings of a directory are; where nothing is said there is nothing.
pub(super) fn merged(one: Option<&Arc<Backends>>, other: Option<&Arc<Backends>>) -> Option<Arc<Backends>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Arc::new(one.merge(other))),
        (one, other) => other.or(one).cloned(),
    }
}

/// One that may stand in the server's configuration, in virtual hosts and in `<Proxy>`.
const fn directive(
    name: &'static str,
    arity: Arity,
    form: &'static str,
    doc: &'static str,
    act: fn(&mut Command<'_>, &Args) -> Result<(), String>,
) -> Directive {
    Directive::new(name, arity, form, doc, act).allowed(Contexts::CONFIG, Overrides::NONE)
}

fn with(
    command: &mut Command<'_>,
    set: impl FnOnce(&mut Backends) -> Result<(), String>,
) -> Result<(), String> {
    let inside = command.inside;
    if inside.directory || inside.location || inside.files || inside.condition || inside.limit {
        return Err("is only allowed in <Proxy>, in <VirtualHost> and outside sections".to_owned());
    }
    set(Arc::make_mut(command.dir.ssl.backends.get_or_insert_default()))
}

/// A directive that says yes or no.
macro_rules! flag {
    ($name:literal, $doc:literal, $field:ident) => {
        directive($name, Arity::Flag, "on|off", $doc, |command, args| {
            let flag = args.flag();
            with(command, |backends| {
                backends.$field = Some(flag);
                Ok(())
            })
        })
    };
}

/// A directive that names a file, or with an end a folder.
macro_rules! path {
    ($name:literal, $doc:literal, $($field:ident).+) => {
        directive($name, Arity::Take1, "file", $doc, |command, args| {
            let path = command.server_path(args.first());
            with(command, |backends| {
                backends.$($field).+ = Some(path.into());
                Ok(())
            })
        })
    };
    ($name:literal, $end:expr, $doc:literal, $($field:ident).+) => {
        directive($name, Arity::Take1, "folder", $doc, |command, args| {
            let path = command.server_path(args.first());
            with(command, |backends| {
                backends.$($field).+ = folder(&path, $end);
                Ok(())
            })
        })
    };
}

pub(super) static DIRECTIVES: &[Directive] = &[
    flag!("SSLProxyEngine", "Enable TLS for connections to https and wss backends", engine),
    directive(
        "SSLProxyVerify",
        Arity::Take1,
        "none|optional|require|optional_no_ca",
        "Set how backend certificates are verified",
        |command, args| {
            let verify = verify_of(args.first())?;
            with(command, |backends| {
                backends.servers.verify = Some(verify);
                Ok(())
            })
        },
    ),
    directive(
        "SSLProxyVerifyDepth",
        Arity::Take1,
        "number",
        "Limit the number of CA certificates in the chain of a backend certificate",
        |command, args| {
            let depth = args.first();
            let depth = depth.parse().map_err(|_| format!("\"{depth}\" is not a number from 0 to 255"))?;
            with(command, |backends| {
                backends.servers.depth = Some(depth);
                Ok(())
            })
        },
    ),
    path!(
        "SSLProxyCACertificateFile",
        "Set the file of CA certificates that backend certificates are verified against",
        servers.ca_file
    ),
    path!(
        "SSLProxyCACertificatePath",
        "/",
        "Set the folder of CA certificates that backend certificates are verified against; only files with \
            hashed names (openssl rehash) are read",
        servers.ca_path
    ),
    path!(
        "SSLProxyCARevocationFile",
        "Set the file of revocation lists (CRLs) for backend certificates",
        servers.revoked_file
    ),
    path!(
        "SSLProxyCARevocationPath",
        "/",
        "Set the folder of revocation lists (CRLs) for backend certificates; only files with hashed names \
            (openssl rehash) are read",
        servers.revoked_path
    ),
    directive(
        "SSLProxyCARevocationCheck",
        Arity::Take12,
        "chain|leaf|none [no_crl_for_cert_ok]",
        "Set which backend certificates are checked against revocation lists (CRLs): the whole chain, or \
            only the backend's own",
        |command, args| {
            let check: RevocationCheck = revocation_of(args)?;
            with(command, |backends| {
                backends.servers.revocation = Some(check);
                Ok(())
            })
        },
    ),
    flag!(
        "SSLProxyCheckPeerName",
        "Require a backend certificate to match the backend's host name",
        check_name
    ),
    flag!(
        "SSLProxyCheckPeerCN",
        "Require the common name of a backend certificate to match the backend's host name, if \
            SSLProxyCheckPeerName is off",
        check_cn
    ),
    flag!(
        "SSLProxyCheckPeerExpire",
        "Reject backend certificates that are expired or not yet valid",
        check_expire
    ),
    path!(
        "SSLProxyMachineCertificateFile",
        "Set the file of client certificates and keys that are presented to backends",
        machine_file
    ),
    path!(
        "SSLProxyMachineCertificatePath",
        EVERY_FILE,
        "Set the folder of client certificates and keys that are presented to backends; every file is read",
        machine_path
    ),
    path!(
        "SSLProxyMachineCertificateChainFile",
        "Set the file of intermediate certificates for client certificates that are presented to backends",
        machine_chain
    ),
    directive(
        "SSLProxyProtocol",
        Arity::TakeArgv,
        "[+|-]all|TLSv1.2|TLSv1.3 ...",
        "Set the TLS versions for connections to backends",
        |command, args| {
            let protocols = Protocols::parse(&args.words)?;
            with(command, |backends| {
                backends.protocols = Some(protocols);
                Ok(())
            })
        },
    ),
    directive(
        "SSLProxyCipherSuite",
        Arity::Take12,
        "[SSL|TLSv1.3] list",
        "Set the cipher suites for connections to backends, among those that Hostler supports",
        |command, args| {
            let (protocol, list) = match args.word(1) {
                Some(list) => (args.first(), list),
                None => ("SSL", args.first()),
            };
            with(command, |backends| backends.ciphers.set(protocol, list))
        },
    ),
];

/// Returns all settings for other servers that a virtual host's requests may end up with: its own, each of its
/// `<Proxy>` sections over them, and all of those together; only where TLS is used.
#[must_use]
pub fn possible(server: &crate::Server) -> Vec<Arc<Backends>> {
    let own = server.defaults.ssl.backends.as_ref();
    let sections: Vec<_> =
        server.conf.proxy.sections.iter().filter_map(|section| section.conf.ssl.backends.as_ref()).collect();
    let together = sections.iter().fold(own.cloned(), |all, section| merged(all.as_ref(), Some(section)));
    let each = sections.iter().map(|section| merged(own, Some(section)));
    let all = [own.cloned(), together].into_iter().chain(each).flatten();
    all.filter(|settings| settings.engine == Some(true)).collect()
}

/// Returns a virtual host's settings for a server outside requests: its own, and those of `<Proxy>` sections that name
/// the server, or a prefix of its URL.
#[must_use]
pub fn of_url(server: &crate::Server, url: &str) -> Option<Arc<Backends>> {
    let names = |pattern: &crate::Pattern| match pattern {
        crate::Pattern::Plain(start) => {
            url.as_bytes().get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
        }
        _ => false,
    };
    let sections = server.conf.proxy.sections.iter().filter(|section| names(&section.pattern));
    sections.fold(server.defaults.ssl.backends.clone(), |all, section| {
        merged(all.as_ref(), section.conf.ssl.backends.as_ref())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directives::ssl::client::Verify;
    use crate::{Config, ConfigError};

    fn config(text: &str) -> Result<Config, Vec<ConfigError>> {
        Config::build(&crate::read_text(text, "/etc/apache2")?)
    }

    #[test]
    fn sections_change_what_the_server_says() {
        let text = "SSLProxyEngine on\nSSLProxyVerify require\nSSLProxyCACertificateFile ca.pem\n\
            <Proxy https://a/>\nSSLProxyVerify none\nSSLProxyCheckPeerName off\n</Proxy>";
        let config = config(text).unwrap();
        let main = config.main().defaults.ssl.backends.clone().unwrap();
        assert_eq!((main.engine, main.servers.verify), (Some(true), Some(Verify::Require)));
        assert_eq!(main.files().collect::<Vec<_>>(), ["/etc/apache2/ca.pem"]);
        let section = config.main().conf.proxy.sections[0].conf.ssl.backends.clone().unwrap();
        let all = main.merge(&section);
        assert_eq!(
            (all.engine, all.servers.verify, all.name_check()),
            (Some(true), Some(Verify::None), NameCheck::None)
        );
    }

    #[test]
    fn names_are_compared_as_mod_ssl_does() {
        let check =
            |check_name, check_cn| Backends { check_name, check_cn, ..Backends::default() }.name_check();
        assert_eq!(check(None, None), NameCheck::Names);
        assert_eq!(check(None, Some(true)), NameCheck::Names);
        assert_eq!(check(None, Some(false)), NameCheck::None);
        assert_eq!(check(Some(true), Some(false)), NameCheck::Names);
        assert_eq!(check(Some(false), Some(true)), NameCheck::CommonName);
        assert_eq!(check(Some(false), None), NameCheck::None);
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        for (line, why) in [
            ("SSLProxyVerify maybe", "unknown value \"maybe\" (expected none, optional"),
            ("SSLProxyCipherSuite RC4-SHA", "none of the cipher suites"),
            ("SSLProxyProtocol TLSv1", "nothing is left"),
            ("<Location />\nSSLProxyEngine on\n</Location>", "is only allowed in <Proxy>"),
        ] {
            let said = config(line).unwrap_err()[0].to_string();
            assert!(said.contains(why), "{line}: {said}");
        }
    }
}
