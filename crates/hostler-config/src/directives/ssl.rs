//! Directives of mod_ssl: certificates, protocols, SSLRequire, clients' certificates ([`client`], [`ocsp`]), stapling
//! ([`stapling`]), other servers ([`backends`]).

pub mod backends;
mod ciphers;
pub mod client;
pub mod ocsp;
mod openssl;
mod options;
mod sni;
pub mod stapling;

pub use ciphers::Ciphers;
pub use options::{Options, Protocols};
pub use sni::SniPolicy;

use crate::{Action, Args, Arity, Command, Contexts, Directive, Effect, Module, Overrides};
use crate::{Merge, over, unset_part};
use hostler_expr::{Expr, Flags, Kind};
use std::sync::Arc;

/// The module.
pub static MODULE: Module =
    Module { name: "ssl_module", file: "mod_ssl.c", directives: DIRECTIVES, effect: Effect::Guards };

/// The part about clients' certificates.
pub static CLIENTS: Module =
    Module { name: "ssl_module", file: "mod_ssl.c", directives: client::DIRECTIVES, effect: Effect::Guards };

/// The part about looking up clients' certificates.
pub static LOOKUP: Module =
    Module { name: "ssl_module", file: "mod_ssl.c", directives: ocsp::DIRECTIVES, effect: Effect::Guards };

/// The part about stapling.
pub static STAPLING: Module = Module {
    name: "ssl_module",
    file: "mod_ssl.c",
    directives: stapling::DIRECTIVES,
    effect: Effect::Guards,
};

/// The part about other servers.
pub static BACKENDS: Module = Module {
    name: "ssl_module",
    file: "mod_ssl.c",
    directives: backends::DIRECTIVES,
    effect: Effect::Guards,
};

const OWN_SESSIONS: &str = "Hostler manages TLS sessions itself";
const NO_OPENSSL: &str = "Hostler's TLS library is not OpenSSL";

/// A directive that is known and does nothing.
const fn ignored(name: &'static str, why: &'static str) -> Directive {
    let directive = Directive::new(name, Arity::RawArgs, "", "No effect", |_, _| Ok(()));
    Directive { action: Action::Ignored(why), ..directive }
}

static DIRECTIVES: &[Directive] = &[
    Directive::new("SSLEngine", Arity::Take1, "on|off", "Enable TLS", engine),
    Directive::new(
        "SSLCertificateFile",
        Arity::Take1,
        "file",
        "Set the file of the server's certificate and its intermediate certificates",
        |command, args| {
            let path = command.server_path(args.first()).into();
            command.server.ssl.certificates.push(path);
            Ok(())
        },
    ),
    Directive::new(
        "SSLCertificateKeyFile",
        Arity::Take1,
        "file",
        "Set the file of the certificate's private key",
        |command, args| {
            let path = command.server_path(args.first()).into();
            command.server.ssl.keys.push(path);
            Ok(())
        },
    ),
    Directive::new(
        "SSLCertificateChainFile",
        Arity::Take1,
        "file",
        "Set the file of intermediate certificates",
        |command, args| {
            command.server.ssl.chain = Some(command.server_path(args.first()).into());
            Ok(())
        },
    ),
    Directive::new(
        "SSLProtocol",
        Arity::TakeArgv,
        "[+|-]all|TLSv1.2|TLSv1.3 ...",
        "Set the TLS versions",
        |command, args| {
            let protocols = Protocols::parse(&args.words)?;
            command.server.ssl.protocols = Some(protocols);
            Ok(())
        },
    ),
    Directive::new(
        "SSLOptions",
        Arity::TakeArgv,
        "[+|-]StdEnvVars|ExportCertData|StrictRequire ...",
        "Set TLS options of a directory",
        |command, args| command.dir.ssl.options.set(&args.words),
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new("SSLRequireSSL", Arity::NoArgs, "", "Reject requests without TLS", |command, _| {
        command.dir.ssl.require_ssl = Some(true);
        Ok(())
    })
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "SSLRequire",
        Arity::RawArgs,
        "expression",
        "Require an expression to be true, in mod_ssl's old syntax",
        require,
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new(
        "SSLStrictSNIVHostCheck",
        Arity::Flag,
        "On|Off",
        "Reject clients that do not send a host name in the TLS handshake (SNI)",
        |command, args| {
            command.server.ssl.strict_sni = Some(args.flag());
            Ok(())
        },
    ),
    Directive::new(
        "SSLVHostSNIPolicy",
        Arity::Take1,
        "strict|secure|authonly|insecure",
        "Set which other virtual hosts a connection may reach: none (strict), those with the same TLS \
            settings (secure, default), those with the same client certificate settings (authonly), or \
            all (insecure)",
        sni::policy,
    )
    .allowed(Contexts::GLOBAL, Overrides::NONE),
    Directive::new(
        "SSLPassPhraseDialog",
        Arity::Take1,
        "builtin",
        "Accepted; encrypted private keys are not supported",
        |_, args| {
            if args.first() == "builtin" || args.first().starts_with("exec:") {
                return Ok(());
            }
            Err("encrypted keys are not supported: keep the key in a file that only root can read".into())
        },
    ),
    Directive::new(
        "SSLCipherSuite",
        Arity::Take12,
        "[SSL|TLSv1.3] list",
        "Set the cipher suites of a virtual host, among those that Hostler supports; in a directory, \
            require one of them on TLS 1.2 connections",
        cipher_suite,
    )
    .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG),
    Directive::new(
        "SSLHonorCipherOrder",
        Arity::Flag,
        "On|Off",
        "Prefer the server's order of cipher suites to the client's",
        |command, args| {
            command.server.ssl.own_cipher_order = Some(args.flag());
            Ok(())
        },
    ),
    ignored("SSLCompression", "TLS compression is unsafe and not supported"),
    ignored("SSLInsecureRenegotiation", "Hostler does not renegotiate"),
    ignored("SSLRenegBufferSize", "Hostler does not renegotiate")
        .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG),
    ignored("SSLSessionCache", OWN_SESSIONS),
    ignored("SSLSessionCacheTimeout", OWN_SESSIONS),
    Directive::new("SSLSessionTickets", Arity::Flag, "On|Off", "Enable session tickets", |command, args| {
        command.server.ssl.tickets = Some(args.flag());
        Ok(())
    }),
    Directive::new(
        "SSLSessionTicketKeyFile",
        Arity::Take1,
        "file",
        "Set a file of 48 random bytes from which the session ticket key is derived; servers with the same \
            file can resume each other's sessions",
        |command, args| {
            command.server.ssl.ticket_key = Some(command.server_path(args.first()).into());
            Ok(())
        },
    ),
    ignored("SSLRandomSeed", "the kernel provides random numbers"),
    ignored("SSLCryptoDevice", NO_OPENSSL),
    ignored("SSLFIPS", NO_OPENSSL),
    Directive::new(
        "SSLOpenSSLConfCmd",
        Arity::Take2,
        "command value",
        "Set OpenSSL's MinProtocol, MaxProtocol, Protocol, CipherString, Ciphersuites or Groups; commands \
            that enable verification are refused, all others are ignored",
        openssl::command,
    ),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// SSLOptions
    pub options: Options,
    /// SSLRequireSSL
    pub require_ssl: Option<bool>,
    /// SSLRequire: all must hold.
    pub require: Vec<Expr>,
    /// SSLCipherSuite: what a connection of TLS 1.2 must have agreed on, by OpenSSL's names.
    pub ciphers: Option<Vec<&'static str>>,
    /// SSLVerifyClient
    pub verify: Option<client::Verify>,
    /// SSLVerifyDepth
    pub depth: Option<u8>,
    /// SSLUserName
    pub user_name: Option<Box<str>>,
    /// SSLProxyEngine and its relatives.
    pub backends: Option<Arc<backends::Backends>>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            options: self.options.merge(&other.options),
            require_ssl: over(&self.require_ssl, &other.require_ssl),
            require: [&self.require[..], &other.require].concat(),
            ciphers: over(&self.ciphers, &other.ciphers),
            verify: over(&self.verify, &other.verify),
            depth: over(&self.depth, &other.depth),
            user_name: over(&self.user_name, &other.user_name),
            backends: backends::merged(self.backends.as_ref(), other.backends.as_ref()),
        }
    }

    unset_part!(Dir);
}

/// `SSLCipherSuite [protocol] list`
fn cipher_suite(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (protocol, list) = match args.word(1) {
        Some(list) => (args.first(), list),
        None => ("SSL", args.first()),
    };
    if !command.is_in_section() {
        return command.server.ssl.ciphers.set(protocol, list);
    }
    if !protocol.eq_ignore_ascii_case("ssl") {
        return Err(format!(
            "suites of {protocol} are set for a virtual host: nothing is agreed on anew for a directory"
        ));
    }
    command.dir.ssl.ciphers = Some(ciphers::tls12_meant(list));
    Ok(())
}

/// Bytes of a SSLSessionTicketKeyFile that count.
pub const TICKET_KEY: usize = 48;

/// A server's settings. Files are absolute.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// SSLEngine; unset means off.
    pub engine: Option<bool>,
    /// SSLCertificateFile: one for each kind of key.
    pub certificates: Vec<Box<str>>,
    /// SSLCertificateKeyFile, in the same order; where one is missing, the key is in the certificate's file.
    pub keys: Vec<Box<str>>,
    /// SSLCertificateChainFile
    pub chain: Option<Box<str>>,
    /// SSLProtocol; unset means all.
    pub protocols: Option<Protocols>,
    /// SSLStrictSNIVHostCheck; unset means off.
    pub strict_sni: Option<bool>,
    /// SSLVHostSNIPolicy
    pub sni_policy: Option<SniPolicy>,
    /// The versions that SSLOpenSSLConfCmd allows.
    pub bounds: Option<Protocols>,
    /// Groups for key exchange, in order (SSLOpenSSLConfCmd); unset means all.
    pub groups: Option<Vec<&'static str>>,
    /// SSLCipherSuite
    pub ciphers: ciphers::Ciphers,
    /// SSLHonorCipherOrder; unset means off.
    pub own_cipher_order: Option<bool>,
    /// SSLSessionTickets; unset means on.
    pub tickets: Option<bool>,
    /// SSLSessionTicketKeyFile; unset means keys of the server's own, which change.
    pub ticket_key: Option<Box<str>>,
    /// The settings of clients' certificates.
    pub clients: client::Clients,
    /// The settings of stapling.
    pub stapling: stapling::Stapling,
}

impl Merge for Server {
    /// A virtual host's own certificates replace the main server's, its own keys likewise.
    fn merge(&self, other: &Self) -> Self {
        let list = |base: &Vec<Box<str>>, over: &Vec<Box<str>>| {
            if over.is_empty() { base.clone() } else { over.clone() }
        };
        Self {
            engine: over(&self.engine, &other.engine),
            certificates: list(&self.certificates, &other.certificates),
            keys: list(&self.keys, &other.keys),
            chain: over(&self.chain, &other.chain),
            protocols: over(&self.protocols, &other.protocols),
            strict_sni: over(&self.strict_sni, &other.strict_sni),
            sni_policy: over(&self.sni_policy, &other.sni_policy),
            bounds: over(&self.bounds, &other.bounds),
            groups: over(&self.groups, &other.groups),
            ciphers: self.ciphers.merge(&other.ciphers),
            own_cipher_order: over(&self.own_cipher_order, &other.own_cipher_order),
            tickets: over(&self.tickets, &other.tickets),
            ticket_key: over(&self.ticket_key, &other.ticket_key),
            clients: self.clients.merge(&other.clients),
            stapling: self.stapling.merge(&other.stapling),
        }
    }

    unset_part!(Server);
}

impl Server {
    /// Returns whether the virtual host speaks TLS.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.engine == Some(true)
    }

    /// The versions of TLS that are spoken.
    #[must_use]
    pub fn versions(&self) -> Protocols {
        self.protocols.unwrap_or_default().both(self.bounds.unwrap_or_default())
    }

    /// The files of each certificate and its key.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let keys = self.keys.iter().map(Some).chain(std::iter::repeat(None));
        self.certificates
            .iter()
            .zip(keys)
            .map(|(certificate, key)| (&**certificate, key.map_or(&**certificate, |key| &**key)))
    }
}

fn engine(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    command.server.ssl.engine = Some(match &args.first().to_ascii_lowercase()[..] {
        "on" => true,
        "off" => false,
        "optional" => return Err("Hostler does not upgrade connections to TLS: use on or off".into()),
        _ => return Err(crate::unknown("value", args.first(), &["on", "off"])),
    });
    Ok(())
}

fn require(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let flags = Flags { dont_vary: true, ssl_compat: true, ..Flags::default() };
    let condition = command.expr(&args.raw, Kind::Boolean, flags)?;
    command.dir.ssl.require.push(condition);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Config, ConfigError};

    fn config(text: &str) -> Result<Config, Vec<ConfigError>> {
        Config::build(&crate::read_text(text, "/etc/apache2")?)
    }

    #[test]
    fn certificates_and_their_keys() {
        let text = "SSLCertificateFile main.pem\n<VirtualHost *:443>\nSSLEngine on\nSSLCertificateFile a.pem\n\
            SSLCertificateFile /b.pem\nSSLCertificateKeyFile a.key\nSSLProtocol -all +TLSv1.3\n</VirtualHost>";
        let config = config(text).unwrap();
        let ssl = &config.servers[1].conf.ssl;
        assert!(ssl.is_on() && !config.main().conf.ssl.is_on());
        let pairs: Vec<_> = ssl.pairs().collect();
        assert_eq!(pairs, [("/etc/apache2/a.pem", "/etc/apache2/a.key"), ("/b.pem", "/b.pem")]);
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        for line in [
            "SSLCipherSuite RC4-SHA",
            "SSLCipherSuite TLSv1.3 NONE",
            "<Directory /x>\nSSLCipherSuite TLSv1.3 TLS_AES_128_GCM_SHA256\n</Directory>",
            "SSLOpenSSLConfCmd VerifyMode Require",
            "SSLEngine optional",
            "SSLProtocol TLSv1",
        ] {
            assert!(config(line).is_err(), "{line}");
        }
        for line in [
            "SSLVerifyClient require",
            "SSLOCSPEnable off",
            "SSLCipherSuite HIGH",
            "<Directory /x>\nSSLCipherSuite AES128-SHA\n</Directory>",
            "SSLSessionCache none",
        ] {
            assert!(config(line).is_ok(), "{line}");
        }
    }
}
