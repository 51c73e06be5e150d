//! Directives of mod_ssl about looking up clients' certificates: whether their authority's responder says that they are good
//! (OCSP, RFC 6960).

use super::client::Revocable;
use crate::{Args, Arity, Command, Directive, Merge, over};
use std::time::Duration;

/// A virtual host's settings of OCSP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ocsp {
    /// SSLOCSPEnable: which certificates are looked up.
    pub which: Option<Revocable>,
    /// `no_ocsp_for_cert_ok`: one without a responder passes.
    pub nowhere_ok: Option<bool>,
    /// SSLOCSPDefaultResponder
    pub responder: Option<Box<str>>,
    /// SSLOCSPOverrideResponder: it is asked whatever certificates say.
    pub overrides: Option<bool>,
    /// SSLOCSPProxyURL
    pub proxy: Option<Box<str>>,
    /// SSLOCSPResponderTimeout
    pub patience: Option<Duration>,
    /// SSLOCSPResponseTimeSkew
    pub skew: Option<Duration>,
    /// SSLOCSPResponseMaxAge; unset means any.
    pub most_age: Option<Duration>,
    /// SSLOCSPUseRequestNonce; unset means on.
    pub nonce: Option<bool>,
    /// SSLOCSPNoverify: responses are trusted without a check of their signer's certificate.
    pub unverified: Option<bool>,
    /// SSLOCSPResponderCertificateFile: others whose signature is good.
    pub signers: Option<Box<str>>,
}

impl Ocsp {
    /// The certificates that are looked up.
    #[must_use]
    pub fn which(&self) -> Revocable {
        self.which.unwrap_or_default()
    }

    /// Returns the time limit of a responder.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.patience.unwrap_or(Duration::from_secs(10))
    }

    /// Returns the allowed difference of its clock.
    #[must_use]
    pub fn skew(&self) -> Duration {
        self.skew.unwrap_or(Duration::from_secs(300))
    }
}

impl Merge for Ocsp {
    fn merge(&self, other: &Self) -> Self {
        Self {
            which: over(&self.which, &other.which),
            nowhere_ok: over(&self.nowhere_ok, &other.nowhere_ok),
            responder: over(&self.responder, &other.responder),
            overrides: over(&self.overrides, &other.overrides),
            proxy: over(&self.proxy, &other.proxy),
            patience: over(&self.patience, &other.patience),
            skew: over(&self.skew, &other.skew),
            most_age: over(&self.most_age, &other.most_age),
            nonce: over(&self.nonce, &other.nonce),
            unverified: over(&self.unverified, &other.unverified),
            signers: over(&self.signers, &other.signers),
        }
    }

    crate::unset_part!(Ocsp);
}

/// A directive that says yes or no.
macro_rules! flag {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Flag, "On|Off", $doc, |command, args| {
            command.server.ssl.clients.ocsp.$field = Some(args.flag());
            Ok(())
        })
    };
}

/// A directive that names something at http.
macro_rules! url {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Take1, "url", $doc, |command, args| {
            command.server.ssl.clients.ocsp.$field = Some(super::stapling::http_url(args)?);
            Ok(())
        })
    };
}

/// A directive that says for how many seconds.
macro_rules! seconds {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Take1, "seconds", $doc, |command, args| {
            command.server.ssl.clients.ocsp.$field = Some(super::stapling::seconds($name, args)?);
            Ok(())
        })
    };
}

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "SSLOCSPEnable",
        Arity::Take12,
        "on|leaf|off [no_ocsp_for_cert_ok]",
        "Check client certificates with their OCSP responders: the whole chain (on), or only the client's \
            own (leaf)",
        enable,
    ),
    url!("SSLOCSPDefaultResponder", "Set the OCSP responder for certificates that name none", responder),
    flag!(
        "SSLOCSPOverrideResponder",
        "Use the default responder even if a certificate names another one",
        overrides
    ),
    url!("SSLOCSPProxyURL", "Set the proxy for OCSP requests", proxy),
    seconds!("SSLOCSPResponderTimeout", "Set the timeout of OCSP requests in seconds", patience),
    seconds!("SSLOCSPResponseTimeSkew", "Set the tolerated clock skew of responders in seconds", skew),
    Directive::new(
        "SSLOCSPResponseMaxAge",
        Arity::Take1,
        "seconds",
        "Limit the age of OCSP responses in seconds; -1: only as the response says",
        |command, args| {
            command.server.ssl.clients.ocsp.most_age = match args.first() {
                "-1" => None,
                _ => Some(super::stapling::seconds("SSLOCSPResponseMaxAge", args)?),
            };
            Ok(())
        },
    ),
    flag!("SSLOCSPUseRequestNonce", "Require OCSP responses to repeat the nonce of the request", nonce),
    flag!("SSLOCSPNoverify", "Accept OCSP responses without verifying the signer", unverified),
    Directive::new(
        "SSLOCSPResponderCertificateFile",
        Arity::Take1,
        "file",
        "Set the file of additional certificates that may sign OCSP responses",
        |command, args| {
            command.server.ssl.clients.ocsp.signers = Some(command.server_path(args.first()).into());
            Ok(())
        },
    ),
];

/// `SSLOCSPEnable on|leaf|off [no_ocsp_for_cert_ok]`
fn enable(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let ocsp = &mut command.server.ssl.clients.ocsp;
    ocsp.which = Some(match &args.first().to_ascii_lowercase()[..] {
        "off" => Revocable::None,
        "leaf" => Revocable::Leaf,
        "on" => Revocable::Chain,
        other => return Err(crate::unknown("value", other, &["on", "leaf", "off"])),
    });
    ocsp.nowhere_ok = Some(match args.words.get(1) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("no_ocsp_for_cert_ok") => true,
        Some(other) => return Err(crate::unknown("flag", other, &["no_ocsp_for_cert_ok"])),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn a_virtual_host_looks_up_as_it_says() {
        let text = "SSLOCSPResponderTimeout 3\nSSLOCSPEnable on\n<VirtualHost *:443>\nSSLOCSPEnable leaf no_ocsp_for_cert_ok\n\
            SSLOCSPDefaultResponder http://127.0.0.1:1/\nSSLOCSPUseRequestNonce off\nSSLOCSPResponseMaxAge 60\n</VirtualHost>\n\
            <VirtualHost *:444>\nSSLOCSPEnable off\nSSLOCSPResponderCertificateFile signers.pem\n</VirtualHost>";
        let config = Config::build(&crate::read_text(text, "/etc").unwrap()).unwrap();
        let [main, first, second] = [0, 1, 2].map(|at| &config.servers[at].conf.ssl.clients.ocsp);
        assert_eq!(
            [main, first, second].map(Ocsp::which),
            [Revocable::Chain, Revocable::Leaf, Revocable::None]
        );
        assert_eq!(
            (first.nowhere_ok, first.patience().as_secs(), first.skew().as_secs()),
            (Some(true), 3, 300)
        );
        assert_eq!((first.nonce, first.most_age), (Some(false), Some(Duration::from_secs(60))));
        assert_eq!(second.signers.as_deref(), Some("/etc/signers.pem"));
        assert!(config.warnings.is_empty());
        for line in [
            "SSLOCSPEnable maybe",
            "SSLOCSPEnable on always",
            "SSLOCSPDefaultResponder ldap://x/",
            "SSLOCSPProxyURL x",
            "SSLOCSPResponderTimeout soon",
        ] {
            let read = crate::read_text(line, "/etc").and_then(|tree| Config::build(&tree));
            assert!(read.is_err(), "{line}");
        }
    }
}
