//! Heads of requests and answers: ours as HTTP/2 has them, and the server's in the words of HTTP/1.1.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};

/// A request's head.
#[derive(Clone, Debug)]
pub struct Head {
    method: Method,
    uri: Uri,
    fields: HeaderMap,
}

/// Fields that speak of a connection have no place in HTTP/2 (RFC 9113 §8.2.2).
const OF_CONNECTIONS: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host"];

impl Head {
    /// Of a request for this path and query, of the server that is called so. `None`: HTTP/2 has no words for it.
    #[must_use]
    pub fn new(method: &[u8], scheme: &str, authority: &[u8], path: &[u8]) -> Option<Self> {
        let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build().ok()?;
        let method = Method::from_bytes(method).ok().filter(|method| *method != Method::CONNECT)?;
        Some(Self { method, uri, fields: HeaderMap::new() })
    }

    /// Adds a field; one that speaks of the connection, or that could not be sent, is left out.
    pub fn add(&mut self, name: &[u8], value: &[u8]) {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
            && !OF_CONNECTIONS.contains(&name.as_str())
        {
            self.fields.append(name, value);
        }
    }

    pub(super) fn into_request(self) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.version_mut() = Version::HTTP_2;
        *request.headers_mut() = self.fields;
        request
    }
}

/// An answer's head, as HTTP/1.1 has it. That its body ends is said by the frames.
pub(super) fn said(status: u16, fields: &HeaderMap) -> Bytes {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(format!("HTTP/1.1 {status} \r\n").as_bytes());
    for (name, value) in fields.iter().filter(|(name, _)| !OF_CONNECTIONS.contains(&name.as_str())) {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.into()
}

/// Fields that come behind a body.
pub(super) fn trailers(fields: &HeaderMap) -> Vec<(Bytes, Bytes)> {
    let piece = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
    fields.iter().map(|(name, value)| (piece(name.as_str().as_bytes()), piece(value.as_bytes()))).collect()
}
