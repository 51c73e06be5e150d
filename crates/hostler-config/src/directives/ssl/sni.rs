//! SSLVHostSNIPolicy: which virtual hosts a connection may reach besides the one that the handshake was for (SNI).

use crate::{Args, Command};

/// `SSLVHostSNIPolicy`: what another virtual host must have in common with the one that the handshake was for, so that requests for it
/// are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SniPolicy {
    /// It must be the same one.
    Strict,
    /// All settings of TLS.
    #[default]
    Secure,
    /// The virtual host's request for clients' certificates.
    AuthOnly,
    /// Nothing.
    Insecure,
}

pub(super) fn policy(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    command.server.ssl.sni_policy = Some(match &args.first().to_ascii_lowercase()[..] {
        "strict" => SniPolicy::Strict,
        "secure" => SniPolicy::Secure,
        "authonly" => SniPolicy::AuthOnly,
        "insecure" => SniPolicy::Insecure,
        other => return Err(crate::unknown("policy", other, &["strict", "secure", "authonly", "insecure"])),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn virtual_hosts_have_the_server_s() {
        let of = |line: &str| {
            let text = format!("{line}\n<VirtualHost *:443>\nSSLEngine on\n</VirtualHost>");
            let config = crate::read_text(&text, "/").and_then(|tree| Config::build(&tree)).ok()?;
            Some(config.servers[1].conf.ssl.sni_policy.unwrap_or_default())
        };
        assert_eq!(of(""), Some(SniPolicy::Secure));
        assert_eq!(of("SSLVHostSNIPolicy AuthOnly"), Some(SniPolicy::AuthOnly));
        assert_eq!(of("SSLVHostSNIPolicy lenient"), None);
        assert_eq!(of("<VirtualHost *:444>\nSSLVHostSNIPolicy strict\n</VirtualHost>"), None);
    }
}
