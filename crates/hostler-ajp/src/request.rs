//! The web server's side: packets appended to a buffer.

use crate::code;
use crate::packet::{ENVELOPE, LONGEST, NO_STRING, TO_CONTAINER, TooLong, string};

/// The most of a request's body that one packet of the usual length holds, in bytes: without its envelope and the
/// body's own length.
pub const BODY: usize = crate::packet::DEFAULT_PACKET - ENVELOPE - 2;

/// `JK_AJP13_FORWARD_REQUEST` ("Forward Request").
const FORWARD_REQUEST: u8 = 2;
/// `JK_AJP13_CPING_REQUEST`.
const CPING: u8 = 10;
/// `request_terminator`.
const TERMINATOR: u8 = 0xFF;

/// A request, without its body ("Forward Request").
#[derive(Clone, Debug)]
pub struct ForwardRequest<'a> {
    /// The method, of any name.
    pub method: &'a [u8],
    /// `HTTP/1.1`.
    pub protocol: &'a [u8],
    /// The target's path, as it came: encoded, without the query.
    pub req_uri: &'a [u8],
    /// The client's address.
    pub remote_addr: &'a [u8],
    /// Its name, where it has been looked up.
    pub remote_host: Option<&'a [u8]>,
    /// The server's name, as the client used it.
    pub server_name: &'a [u8],
    /// And its port.
    pub server_port: u16,
    /// The client's connection is encrypted.
    pub is_ssl: bool,
    /// The fields.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// Further facts.
    pub attributes: &'a [Attribute<'a>],
}

/// Facts about a request without a field of their own ("Attributes").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute<'a> {
    /// The authenticated user.
    RemoteUser(&'a [u8]),
    /// How: `Basic`.
    AuthType(&'a [u8]),
    /// The part after the question mark.
    QueryString(&'a [u8]),
    /// The container's own name among several (`jvmRoute`).
    Route(&'a [u8]),
    /// The client's certificate, in PEM.
    SslCert(&'a [u8]),
    /// The cipher suite.
    SslCipher(&'a [u8]),
    /// The TLS session, as hexadecimal digits.
    SslSession(&'a [u8]),
    /// The length of the cipher's key, in bits.
    SslKeySize(u16),
    /// The secret that the container requires.
    Secret(&'a [u8]),
    /// Another one: programs see it as an attribute of the request. Tomcat refuses requests with names that it has not
    /// been told to expect (`allowedRequestAttributesPattern`), but for a few that it knows.
    Named(&'a [u8], &'a [u8]),
}

impl Attribute<'_> {
    /// The code of an attribute with a name of Tomcat's own.
    const NAMED: u8 = 0x0A;

    fn encode(&self, out: &mut Vec<u8>) {
        let (code, text) = match *self {
            Self::RemoteUser(text) => (0x03, text),
            Self::AuthType(text) => (0x04, text),
            Self::QueryString(text) => (0x05, text),
            Self::Route(text) => (0x06, text),
            Self::SslCert(text) => (0x07, text),
            Self::SslCipher(text) => (0x08, text),
            Self::SslSession(text) => (0x09, text),
            Self::Secret(text) => (0x0C, text),
            Self::SslKeySize(bits) => {
                out.push(0x0B);
                return out.extend_from_slice(&bits.to_be_bytes());
            }
            Self::Named(name, value) => {
                out.push(Self::NAMED);
                string(Some(name), out);
                return string(Some(value), out);
            }
        };
        out.push(code);
        string(Some(text), out);
    }

    /// Bytes of text in it.
    const fn length(&self) -> usize {
        match *self {
            Self::SslKeySize(_) => 2,
            Self::Named(name, value) => name.len() + value.len(),
            Self::RemoteUser(text)
            | Self::AuthType(text)
            | Self::QueryString(text)
            | Self::Route(text)
            | Self::SslCert(text)
            | Self::SslCipher(text)
            | Self::SslSession(text)
            | Self::Secret(text) => text.len(),
        }
    }
}

impl ForwardRequest<'_> {
    /// Appends the packet, which takes `most` bytes at most, [`LONGEST`] in any case.
    ///
    /// # Errors
    /// [`TooLong`]; nothing has been appended then.
    pub fn encode(&self, most: usize, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let most = most.min(LONGEST);
        // So no length overflows its two bytes.
        if self.text() > most || self.headers.len() > most {
            return Err(TooLong(most));
        }
        let start = out.len();
        out.extend_from_slice(&TO_CONTAINER);
        out.extend_from_slice(&[0, 0, FORWARD_REQUEST]);
        let method = code::method(self.method);
        out.push(method.unwrap_or(code::STORED_METHOD));
        string(Some(self.protocol), out);
        string(Some(self.req_uri), out);
        string(Some(self.remote_addr), out);
        string(self.remote_host, out);
        string(Some(self.server_name), out);
        out.extend_from_slice(&self.server_port.to_be_bytes());
        out.push(self.is_ssl.into());
        self.encode_headers(out);
        self.attributes.iter().for_each(|attribute| attribute.encode(out));
        if method.is_none() {
            out.push(0x0D);
            string(Some(self.method), out);
        }
        out.push(TERMINATOR);
        let length = out.len() - start - ENVELOPE;
        match u16::try_from(length) {
            Ok(short) if length + ENVELOPE <= most => {
                out[start + 2..start + 4].copy_from_slice(&short.to_be_bytes());
            }
            _ => {
                out.truncate(start);
                return Err(TooLong(most));
            }
        }
        Ok(())
    }

    fn encode_headers(&self, out: &mut Vec<u8>) {
        // There are fewer than bytes in a packet.
        out.extend_from_slice(&(self.headers.len() as u16).to_be_bytes());
        for (name, value) in self.headers {
            match code::request_field(name) {
                Some(code) => out.extend_from_slice(&code.to_be_bytes()),
                None => string(Some(name), out),
            }
            string(Some(value), out);
        }
    }

    /// Bytes of text in it.
    fn text(&self) -> usize {
        let own = [self.method, self.protocol, self.req_uri, self.remote_addr, self.server_name];
        let headers = self.headers.iter().map(|(name, value)| name.len() + value.len());
        let attributes = self.attributes.iter().map(Attribute::length);
        let host = self.remote_host.map_or(0, <[u8]>::len);
        own.iter().map(|text| text.len()).chain(headers).chain(attributes).sum::<usize>() + host
    }
}

/// Appends a piece of a request's body ("Data" packets), of which a packet holds what was asked for and [`BODY`] at most;
/// an empty one is [`body_end`].
pub fn body(piece: &[u8], out: &mut Vec<u8>) {
    let piece = &piece[..piece.len().min(usize::from(NO_STRING) - 2)];
    let length = piece.len() as u16;
    out.extend_from_slice(&TO_CONTAINER);
    out.extend_from_slice(&(length + 2).to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(piece);
}

/// Appends the answer to a container that has asked for more of a body than there is: an empty packet.
pub fn body_end(out: &mut Vec<u8>) {
    out.extend_from_slice(&TO_CONTAINER);
    out.extend_from_slice(&[0, 0]);
}

/// Appends the question whether the container is there; it answers [`crate::Event::CPong`].
pub fn cping(out: &mut Vec<u8>) {
    out.extend_from_slice(&TO_CONTAINER);
    out.extend_from_slice(&[0, 1, CPING]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(
        headers: &'a [(&'a [u8], &'a [u8])],
        attributes: &'a [Attribute<'a>],
    ) -> ForwardRequest<'a> {
        ForwardRequest {
            method: b"GET",
            protocol: b"HTTP/1.1",
            req_uri: b"/a",
            remote_addr: b"::1",
            remote_host: None,
            server_name: b"h",
            server_port: 8080,
            is_ssl: true,
            headers,
            attributes,
        }
    }

    #[test]
    fn a_request_is_laid_out_as_the_reference_says() {
        let mut out = Vec::new();
        let headers: [(&[u8], &[u8]); 2] = [(b"Host", b"h"), (b"X-A", b"1")];
        let attributes =
            [Attribute::QueryString(b"q"), Attribute::Named(b"n", b"v"), Attribute::SslKeySize(256)];
        request(&headers, &attributes).encode(DEFAULT_PACKET, &mut out).unwrap();
        let content = b"\x02\x02\0\x08HTTP/1.1\0\0\x02/a\0\0\x03::1\0\xff\xff\0\x01h\0\x1f\x90\x01\
            \0\x02\xa0\x0b\0\x01h\0\0\x03X-A\0\0\x011\0\x05\0\x01q\0\x0a\0\x01n\0\0\x01v\0\x0b\x01\0\xff";
        assert_eq!(out[..4], [0x12, 0x34, 0, content.len() as u8]);
        assert_eq!(out[4..].escape_ascii().to_string(), content.escape_ascii().to_string());
    }

    use crate::packet::DEFAULT_PACKET;

    #[test]
    fn a_method_without_a_code_is_an_attribute() {
        let mut out = Vec::new();
        ForwardRequest { method: b"PATCH", ..request(&[], &[]) }.encode(DEFAULT_PACKET, &mut out).unwrap();
        assert_eq!(out[5], 0xFF);
        assert!(out.ends_with(b"\x0d\0\x05PATCH\0\xff"));
        out.clear();
        // Names of methods have a case.
        ForwardRequest { method: b"get", ..request(&[], &[]) }.encode(DEFAULT_PACKET, &mut out).unwrap();
        assert!(out.ends_with(b"\x0d\0\x03get\0\xff"));
    }

    #[test]
    fn what_does_not_fit_leaves_nothing_behind() {
        let long = vec![b'x'; 200_000];
        for (length, fits) in [(8000, true), (8192, false), (65_535, false), (200_000, false)] {
            let mut out = b"before".to_vec();
            let headers: [(&[u8], &[u8]); 1] = [(b"Cookie", &long[..length])];
            assert_eq!(request(&headers, &[]).encode(DEFAULT_PACKET, &mut out).is_ok(), fits, "{length}");
            assert_eq!(out.len() > 6, fits, "{length}");
        }
        let mut out = Vec::new();
        let empty: Vec<(&[u8], &[u8])> = vec![(b"", b""); 70_000];
        assert_eq!(request(&empty, &[]).encode(LONGEST, &mut out), Err(TooLong(LONGEST)));
        // To the byte.
        let head = {
            request(&[], &[]).encode(DEFAULT_PACKET, &mut out).unwrap();
            out.len()
        };
        assert_eq!(request(&[], &[]).encode(head, &mut Vec::new()), Ok(()));
        assert_eq!(request(&[], &[]).encode(head - 1, &mut Vec::new()), Err(TooLong(head - 1)));
    }

    #[test]
    fn bodies_and_questions() {
        let mut out = Vec::new();
        body(b"ab", &mut out);
        body_end(&mut out);
        cping(&mut out);
        assert_eq!(out, b"\x12\x34\0\x04\0\x02ab\x12\x34\0\0\x12\x34\0\x01\x0a");
        assert_eq!(BODY, 8186);
    }
}
