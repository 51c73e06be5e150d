//! A front proxy's fields about the client, and the trusted proxies (`WSGITrustedProxyHeaders`, `WSGITrustedProxies`):
//! for applications only. The server's own view of the client's address is mod_remoteip's.

use crate::parts::DIR;
use hostler_config::{Args, Command};
use hostler_expr::Subnet;
use hostler_python_frames::forwarded;

/// `WSGITrustedProxyHeaders`; several lines of a section add up.
pub(crate) fn fields(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    for field in &args.words {
        let name = variable(field);
        if !forwarded::VARIABLES.contains(&name.as_str()) {
            let message = format!(
                "WSGITrustedProxyHeaders: {field} is ignored: it is none that says something of a client"
            );
            command.warn_once(field, message);
            continue;
        }
        let known = &mut command.dir.part_mut(&DIR).trusted_headers;
        *known = with(known, &name);
    }
    Ok(())
}

/// `WSGITrustedProxies`; several lines of a section add up.
pub(crate) fn proxies(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    for word in &args.words {
        let network = Subnet::parse(word).map_err(|error| format!("\"{word}\" is wrong: {error}"))?;
        let known = &mut command.dir.part_mut(&DIR).trusted_proxies;
        *known = Some(with(known.as_deref().unwrap_or_default(), &written(network)));
    }
    Ok(())
}

/// The variable of a field.
fn variable(field: &str) -> String {
    let letter = |byte: char| if byte.is_ascii_alphanumeric() { byte.to_ascii_uppercase() } else { '_' };
    format!("HTTP_{}", field.chars().map(letter).collect::<String>())
}

/// A network as workers are told of it.
fn written(network: Subnet) -> String {
    match network {
        Subnet::V4 { address, mask } => format!("4:{address:x}:{mask:x}"),
        Subnet::V6 { address, mask } => format!("6:{address:x}:{mask:x}"),
    }
}

/// One word more, with a space between.
fn with(known: &str, word: &str) -> Box<str> {
    if known.is_empty() { word.into() } else { format!("{known} {word}").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_workers_read_them() {
        assert_eq!(variable("X-Forwarded-For"), "HTTP_X_FORWARDED_FOR");
        let network = |text| written(Subnet::parse(text).unwrap());
        assert_eq!(network("10.1"), "4:a010000:ffff0000");
        assert_eq!(network("::1"), "6:1:ffffffffffffffffffffffffffffffff");
        assert_eq!(&*with(&with("", "a"), "b"), "a b");
    }
}
