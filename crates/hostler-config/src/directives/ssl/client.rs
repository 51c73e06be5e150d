//! Directives of mod_ssl about clients' certificates: whether one is asked for, who may have signed it, what is revoked.
//!
//! There is no second handshake here as mod_ssl has it for directories: where a section of a virtual host may want a
//! certificate, the handshake asks for one, and the section requires it.

use super::ocsp::Ocsp;
use crate::{Args, Arity, Command, Contexts, Directive, Merge, Overrides, over};

/// `SSLVerifyClient`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verify {
    /// Not asked for.
    #[default]
    None,
    /// A certificate is optional; a shown one must be valid.
    Optional,
    /// The same, but for who has signed it.
    OptionalNoCa,
    /// A valid one must be shown.
    Require,
}

/// `SSLCARevocationCheck`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RevocationCheck {
    /// The certificates that are looked up.
    pub which: Revocable,
    /// `no_crl_for_cert_ok`: what no list speaks for is not revoked.
    pub unknown_ok: bool,
}

/// The certificates of a chain that are looked up in revocation lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Revocable {
    /// None.
    #[default]
    None,
    /// The client's own.
    Leaf,
    /// All of the chain.
    Chain,
}

/// A virtual host's settings of clients' certificates. Paths are absolute; those of folders end in `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clients {
    /// SSLVerifyClient outside of sections.
    pub verify: Option<Verify>,
    /// SSLVerifyDepth outside of sections: certificates above the client's.
    pub depth: Option<u8>,
    /// A section may want a certificate.
    pub in_sections: bool,
    /// A section accepts certificates of any issuer (`SSLVerifyClient optional_no_ca`).
    pub any_issuer: bool,
    /// SSLCACertificateFile
    pub ca_file: Option<Box<str>>,
    /// SSLCACertificatePath: the certificates that its names by hashes lead to are trusted. Ends with `/`.
    pub ca_path: Option<Box<str>>,
    /// The same folder: the names in all of its certificates are sent to clients. Ends with [`EVERY_FILE`].
    pub ca_names: Option<Box<str>>,
    /// SSLCADNRequestFile: whose names clients are told.
    pub names_file: Option<Box<str>>,
    /// SSLCADNRequestPath
    pub names_path: Option<Box<str>>,
    /// SSLCARevocationFile
    pub revoked_file: Option<Box<str>>,
    /// SSLCARevocationPath
    pub revoked_path: Option<Box<str>>,
    /// SSLCARevocationCheck
    pub revocation: Option<RevocationCheck>,
    /// The settings of looking them up.
    pub ocsp: Ocsp,
}

/// Certificates above the client's where SSLVerifyDepth does not say (mod_ssl's number).
pub const DEPTH: u8 = 1;

impl Clients {
    /// Returns whether the handshake asks for a certificate.
    #[must_use]
    pub fn are_asked(&self) -> bool {
        self.in_sections || self.verify.unwrap_or_default() != Verify::None
    }

    /// Files and folders with certificates, as [`Self`] names them.
    pub fn certificates(&self) -> impl Iterator<Item = &str> {
        let trusted = [&self.ca_file, &self.ca_path, &self.ocsp.signers];
        let names = [&self.names_file, &self.names_path];
        let has_names = names.iter().any(|path| path.is_some());
        let of_trusted = (!has_names).then_some(&self.ca_names);
        trusted.into_iter().chain(names).chain(of_trusted).filter_map(|path| path.as_deref())
    }

    /// Files and folders with lists of revoked certificates.
    pub fn revoked(&self) -> impl Iterator<Item = &str> {
        [&self.revoked_file, &self.revoked_path].into_iter().filter_map(|p| p.as_deref())
    }
}

impl Merge for Clients {
    fn merge(&self, other: &Self) -> Self {
        Self {
            verify: over(&self.verify, &other.verify),
            depth: over(&self.depth, &other.depth),
            in_sections: self.in_sections || other.in_sections,
            any_issuer: self.any_issuer || other.any_issuer,
            ca_file: over(&self.ca_file, &other.ca_file),
            ca_path: over(&self.ca_path, &other.ca_path),
            ca_names: over(&self.ca_names, &other.ca_names),
            names_file: over(&self.names_file, &other.names_file),
            names_path: over(&self.names_path, &other.names_path),
            revoked_file: over(&self.revoked_file, &other.revoked_file),
            revoked_path: over(&self.revoked_path, &other.revoked_path),
            revocation: over(&self.revocation, &other.revocation),
            ocsp: self.ocsp.merge(&other.ocsp),
        }
    }

    crate::unset_part!(Clients);
}

/// A directive that names a file.
macro_rules! file {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Take1, "file", $doc, |command, args| {
            command.server.ssl.clients.$field = Some(command.server_path(args.first()).into());
            Ok(())
        })
    };
}

/// The end of the path of a folder all of whose files count; one that ends with `/` alone stands for the files in it
/// that are named by hashes.
pub const EVERY_FILE: &str = "/*";

/// A folder as the reader of its files knows it, with `/` or [`EVERY_FILE`] at its end.
pub(super) fn folder(path: &str, end: &str) -> Option<Box<str>> {
    Some(format!("{}{end}", path.trim_end_matches('/')).into())
}

/// A directive that names a folder; where two ends are given it is used in both ways.
macro_rules! folder {
    ($name:literal, $doc:literal, $($field:ident $end:expr),+) => {
        Directive::new($name, Arity::Take1, "folder", $doc, |command, args| {
            let path = command.server_path(args.first());
            $(command.server.ssl.clients.$field = folder(&path, $end);)+
            Ok(())
        })
    };
}

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "SSLVerifyClient",
        Arity::Take1,
        "none|optional|require|optional_no_ca",
        "Set how client certificates are requested and verified",
        verify,
    )
    .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG),
    Directive::new(
        "SSLVerifyDepth",
        Arity::Take1,
        "number",
        "Limit the number of CA certificates in the chain of a client certificate",
        depth,
    )
    .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG),
    file!(
        "SSLCACertificateFile",
        "Set the file of CA certificates that client certificates are verified against",
        ca_file
    ),
    folder!(
        "SSLCACertificatePath",
        "Set the folder of CA certificates that client certificates are verified against; only files with \
            hashed names (openssl rehash) are trusted",
        ca_path "/",
        ca_names EVERY_FILE
    ),
    file!(
        "SSLCADNRequestFile",
        "Set the file of CA certificates whose names are sent when a client certificate is requested",
        names_file
    ),
    folder!("SSLCADNRequestPath", "Set the folder of CA certificates whose names are sent when a client \
        certificate is requested; every file is read", names_path EVERY_FILE),
    file!("SSLCARevocationFile", "Set the file of certificate revocation lists (CRLs)", revoked_file),
    folder!("SSLCARevocationPath", "Set the folder of certificate revocation lists (CRLs); only files with \
        hashed names (openssl rehash) are read", revoked_path "/"),
    Directive::new(
        "SSLCARevocationCheck",
        Arity::Take12,
        "chain|leaf|none [no_crl_for_cert_ok]",
        "Set which client certificates are checked against revocation lists (CRLs): the whole chain, or \
            only the client's own",
        revocation,
    ),
    Directive::new(
        "SSLUserName",
        Arity::Take1,
        "variable",
        "Set the variable that the user name is taken from",
        |command, args| {
            command.dir.ssl.user_name = Some(args.first().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG),
];

/// A word of `SSLVerifyClient` and `SSLProxyVerify`.
pub(super) fn verify_of(word: &str) -> Result<Verify, String> {
    Ok(match &word.to_ascii_lowercase()[..] {
        "none" | "off" => Verify::None,
        "optional" => Verify::Optional,
        "optional_no_ca" => Verify::OptionalNoCa,
        "require" | "on" => Verify::Require,
        other => {
            return Err(crate::unknown("value", other, &["none", "optional", "require", "optional_no_ca"]));
        }
    })
}

fn verify(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let verify = verify_of(args.first())?;
    if command.is_in_section() {
        command.dir.ssl.verify = Some(verify);
        command.server.ssl.clients.in_sections |= verify != Verify::None;
        command.server.ssl.clients.any_issuer |= verify == Verify::OptionalNoCa;
    } else {
        command.server.ssl.clients.verify = Some(verify);
    }
    Ok(())
}

fn depth(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let depth = args.first();
    let depth = depth.parse().map_err(|_| format!("\"{depth}\" is not a number from 0 to 255"))?;
    if command.is_in_section() {
        command.dir.ssl.depth = Some(depth);
    } else {
        command.server.ssl.clients.depth = Some(depth);
    }
    Ok(())
}

fn revocation(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    command.server.ssl.clients.revocation = Some(revocation_of(args)?);
    Ok(())
}

/// The words of `SSLCARevocationCheck` and `SSLProxyCARevocationCheck`.
pub(super) fn revocation_of(args: &Args) -> Result<RevocationCheck, String> {
    let which = match &args.first().to_ascii_lowercase()[..] {
        "none" => Revocable::None,
        "leaf" => Revocable::Leaf,
        "chain" => Revocable::Chain,
        other => return Err(crate::unknown("value", other, &["chain", "leaf", "none"])),
    };
    let unknown_ok = match args.words.get(1).map(|word| word.to_ascii_lowercase()).as_deref() {
        None => false,
        Some("no_crl_for_cert_ok") => true,
        Some(other) => return Err(crate::unknown("flag", other, &["no_crl_for_cert_ok"])),
    };
    Ok(RevocationCheck { which, unknown_ok })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn sections_make_the_handshake_ask() {
        let text = "<VirtualHost *:443>\nSSLVerifyDepth 3\n<Location /a>\nSSLVerifyClient require\nSSLVerifyDepth 2\n</Location>\n\
            </VirtualHost>\n<VirtualHost *:444>\nSSLVerifyClient optional_no_ca\nSSLCACertificatePath /etc/x\n</VirtualHost>";
        let config = Config::build(&crate::read_text(text, "/etc/apache2").unwrap()).unwrap();
        let clients = |n: usize| &config.servers[n].conf.ssl.clients;
        assert!(!clients(0).are_asked());
        assert!(clients(1).are_asked() && clients(1).verify.is_none());
        assert_eq!(clients(1).depth, Some(3));
        assert_eq!(clients(2).verify, Some(Verify::OptionalNoCa));
        assert_eq!(clients(2).ca_path.as_deref(), Some("/etc/x/"));
    }

    #[test]
    fn slips_are_refused() {
        for line in [
            "SSLVerifyClient maybe",
            "SSLVerifyDepth many",
            "SSLCARevocationCheck all",
            "SSLCARevocationCheck leaf ok",
        ] {
            let parsed = crate::read_text(line, "/").unwrap();
            assert!(Config::build(&parsed).is_err(), "{line}");
        }
    }
}
