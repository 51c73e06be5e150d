//! SSLOpenSSLConfCmd: OpenSSL's own commands (`SSL_CONF_cmd(3)`). Those that have a meaning without OpenSSL have it here: versions,
//! cipher suites and groups. Such as ask for a check are refused; all others tune a library that is not there.

use super::Protocols;
use crate::{Args, Command};

/// Groups for key exchange that Hostler's TLS library has: its name, and other names of OpenSSL's.
static GROUPS: [(&str, &[&str]); 3] =
    [("X25519", &[]), ("secp256r1", &["prime256v1", "P-256"]), ("secp384r1", &["P-384"])];

/// `SSLOpenSSLConfCmd command value`
pub(super) fn command(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let [name, value] = [&args.words[0], &args.words[1]];
    let lower = name.to_ascii_lowercase();
    let ssl = &mut command.server.ssl;
    match &lower[..] {
        "cipherstring" => return ssl.ciphers.set("SSL", value),
        "ciphersuites" => return ssl.ciphers.set("TLSv1.3", value),
        "minprotocol" | "maxprotocol" | "protocol" => {
            let now = ssl.bounds.unwrap_or_default();
            let wanted = match &lower[..3] {
                "min" => from(value)?,
                "max" => up_to(value)?,
                _ => listed(value)?,
            };
            ssl.bounds = Some(now.both(wanted));
            return Ok(());
        }
        "groups" | "curves" => {
            ssl.groups = Some(groups(value)?);
            return Ok(());
        }
        _ => {}
    }
    if ["verify", "ca", "crl"].iter().any(|word| lower.contains(word)) {
        return Err(format!("{name} is not supported: use SSLVerifyClient and SSLCACertificateFile instead"));
    }
    let why = format!("SSLOpenSSLConfCmd {name} is ignored: {}", super::NO_OPENSSL);
    command.warn_once("SSLOpenSSLConfCmd", why);
    Ok(())
}

fn unknown(version: &str) -> String {
    crate::unknown("protocol", version, &[])
}

/// Returns the supported versions that are not below a version.
fn from(version: &str) -> Result<Protocols, String> {
    match version {
        "None" | "SSLv3" | "TLSv1" | "TLSv1.1" | "TLSv1.2" => Ok(Protocols { tls12: true, tls13: true }),
        "TLSv1.3" => Ok(Protocols { tls12: false, tls13: true }),
        _ => Err(unknown(version)),
    }
}

/// Returns the supported versions that are not above a version.
fn up_to(version: &str) -> Result<Protocols, String> {
    match version {
        "None" | "TLSv1.3" => Ok(Protocols { tls12: true, tls13: true }),
        "TLSv1.2" => Ok(Protocols { tls12: true, tls13: false }),
        "SSLv3" | "TLSv1" | "TLSv1.1" => Err("nothing is left: Hostler speaks TLSv1.2 and TLSv1.3".into()),
        _ => Err(unknown(version)),
    }
}

/// Returns the supported versions that a list with `-` leaves.
fn listed(list: &str) -> Result<Protocols, String> {
    let mut left = Protocols::default();
    for word in list.split(',').map(str::trim) {
        let (takes, name) = match word.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, word.strip_prefix('+').unwrap_or(word)),
        };
        let (tls12, tls13) = match &name.to_ascii_lowercase()[..] {
            "all" => (true, true),
            "tlsv1.2" => (true, false),
            "tlsv1.3" => (false, true),
            "sslv2" | "sslv3" | "tlsv1" | "tlsv1.1" => (false, false),
            _ => return Err(unknown(name)),
        };
        left.tls12 = if tls12 { !takes } else { left.tls12 };
        left.tls13 = if tls13 { !takes } else { left.tls13 };
    }
    Ok(left)
}

/// Returns the supported groups of a list, in its order.
fn groups(list: &str) -> Result<Vec<&'static str>, String> {
    let mut chosen = Vec::new();
    for word in list.split(':').map(|word| word.trim_start_matches(['?', '*'])) {
        let is_meant = |(own, others): &&(&str, &[&str])| {
            [own].into_iter().chain(others.iter()).any(|name| name.eq_ignore_ascii_case(word))
        };
        if let Some((own, _)) = GROUPS.iter().find(is_meant)
            && !chosen.contains(own)
        {
            chosen.push(*own);
        }
    }
    if chosen.is_empty() {
        let all = GROUPS.map(|(own, _)| own).join(", ");
        return Err(format!("none of the groups of \"{list}\" is left: Hostler has {all}"));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use crate::{Config, ConfigError};

    fn config(lines: &[&str]) -> Result<Config, Vec<ConfigError>> {
        let text: Vec<_> = lines.iter().map(|line| format!("SSLOpenSSLConfCmd {line}\n")).collect();
        Config::build(&crate::read_text(&text.concat(), "/etc/apache2")?)
    }

    #[test]
    fn commands_that_mean_something_here_are_kept() {
        let versions = |lines: &[&str]| {
            let config = config(lines).unwrap();
            let versions = config.main().conf.ssl.versions();
            (versions.tls12, versions.tls13, config.warnings.len())
        };
        assert_eq!(versions(&["MinProtocol TLSv1.2"]), (true, true, 0));
        assert_eq!(versions(&["MinProtocol TLSv1.3"]), (false, true, 0));
        assert_eq!(versions(&["MaxProtocol TLSv1.2"]), (true, false, 0));
        assert_eq!(versions(&["Protocol ALL,-TLSv1.2"]), (false, true, 0));
        assert_eq!(versions(&["Protocol -ALL,TLSv1.2", "MinProtocol TLSv1"]), (true, false, 0));
        assert_eq!(versions(&["DHParameters /x"]), (true, true, 1));
        let chosen = config(&["Curves P-384:X448:prime256v1:secp384r1", "CipherString ECDHE+CHACHA20+aRSA"]);
        let chosen = chosen.unwrap();
        let ssl = &chosen.main().conf.ssl;
        assert_eq!(ssl.groups.as_deref(), Some(&["secp384r1", "secp256r1"][..]));
        assert_eq!(ssl.ciphers.tls12.as_deref(), Some(&["ECDHE-RSA-CHACHA20-POLY1305"][..]));
    }

    #[test]
    fn what_leaves_nothing_is_refused() {
        for line in
            ["MinProtocol TLSv9", "MaxProtocol TLSv1.1", "Groups X448", "CipherString RC4", "VerifyCAFile /x"]
        {
            assert!(config(&[line]).is_err(), "{line}");
        }
    }
}
