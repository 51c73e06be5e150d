//! The URL that is asked about.

use hostler_config::directives::alias::clean_path;

/// The parts of it that decide something.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// Lower case; `None` for a mere path.
    pub(crate) host: Option<String>,
    /// `None` for a mere path.
    pub(crate) port: Option<u16>,
    /// `https`; `None` for a mere path.
    pub(crate) tls: Option<bool>,
    /// Decoded, without `//`, `.` and `..`.
    pub(crate) path: String,
    /// The part after `?`.
    pub(crate) query: Option<String>,
}

impl Url {
    /// # Errors
    /// The fault in it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.split('#').next().unwrap_or_default();
        let (text, query) = text.split_once('?').map_or((text, None), |(text, query)| (text, Some(query)));
        let query = query.map(str::to_owned);
        if text.starts_with('/') {
            return Ok(Self { host: None, port: None, tls: None, path: path(text)?, query });
        }
        let (usual, rest) = match text.split_once("://") {
            Some(("http", rest)) => (80, rest),
            Some(("https", rest)) => (443, rest),
            _ => return Err(format!("{text:?} is neither a path nor a URL with http:// or https://")),
        };
        let (authority, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| format!("{port:?} is not a port"))?)
            }
            _ => (authority, usual),
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let path = path(if rest.is_empty() { "/" } else { rest })?;
        Ok(Self { host: Some(host), port: Some(port), tls: Some(usual == 443), path, query })
    }
}

fn path(text: &str) -> Result<String, String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|b| char::from(b).to_digit(16));
        match digit(bytes.next()).zip(digit(bytes.next())) {
            Some((high, low)) => decoded.push((high * 16 + low) as u8),
            None => return Err("after % must come two hexadecimal digits".to_string()),
        }
    }
    String::from_utf8(clean_path(decoded)).map_err(|_| "the path is not UTF-8".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls() {
        let url = Url::parse("HTTPS://x/".replace("HTTPS", "https").as_str()).unwrap();
        assert_eq!((url.host.as_deref(), url.port, url.path.as_str()), (Some("x"), Some(443), "/"));
        let url = Url::parse("http://A.Example:8080/a//b/../%41?x=/y").unwrap();
        assert_eq!(
            (url.host.as_deref(), url.port, url.path.as_str()),
            (Some("a.example"), Some(8080), "/a/A")
        );
        let url = Url::parse("http://[::1]:81").unwrap();
        assert_eq!((url.host.as_deref(), url.port, url.path.as_str()), (Some("[::1]"), Some(81), "/"));
        assert_eq!(
            Url::parse("/x").unwrap(),
            Url { host: None, port: None, tls: None, path: "/x".to_string(), query: None }
        );
        for bad in ["x", "ftp://x/", "http://x:y/", "/%4", "/%zz"] {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
    }
}
