//! Configuration for a request in a worker: what the front's merge of sections has come to.

use crate::codec::{Decoder, Encoder, Malformed};

/// The settings of a directory (or location): those for all engines, and an engine's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory<'a> {
    /// Index of the virtual host.
    pub server: u32,
    /// `Options` as Apache's `OPT_` bits: Indexes 1, Includes 2, FollowSymLinks 4, ExecCGI 8, IncludesNOEXEC 32,
    /// SymLinksIfOwnerMatch 64, MultiViews 128.
    pub allow_options: u32,
    /// `LimitRequestBody`.
    pub limit_request_body: u64,
    /// The path of the `<Location>` or `<Directory>` that applies.
    pub location: Option<&'a str>,
    /// `AuthName`.
    pub auth_name: Option<&'a str>,
    /// `AuthType`.
    pub auth_type: Option<&'a str>,
    /// `AddDefaultCharset`, where set.
    pub default_charset: Option<&'a str>,
    /// `ServerSignature`'s line.
    pub signature: &'a str,
    /// The part that only the engine understands.
    pub own: &'a [u8],
}

impl<'a> Directory<'a> {
    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        e.u32(self.server);
        e.u32(self.allow_options);
        e.u64(self.limit_request_body);
        for text in [self.location, self.auth_name, self.auth_type, self.default_charset] {
            e.optional_text(text);
        }
        e.bytes(self.signature.as_bytes());
        e.bytes(self.own);
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let directory = Self {
            server: d.u32()?,
            allow_options: d.u32()?,
            limit_request_body: d.u64()?,
            location: d.optional_text()?,
            auth_name: d.optional_text()?,
            auth_type: d.optional_text()?,
            default_charset: d.optional_text()?,
            signature: d.text()?,
            own: d.bytes()?,
        };
        d.end().map(|()| directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_comes_back() {
        let directory = Directory {
            server: 3,
            location: Some("/a"),
            signature: "<address>",
            own: b"own",
            limit_request_body: 1 << 30,
            ..Directory::default()
        };
        let mut bytes = Vec::new();
        directory.encode(&mut Encoder(&mut bytes));
        assert_eq!(Directory::decode(&bytes), Ok(directory));
        assert_eq!(Directory::decode(&bytes[1..]), Err(Malformed));
    }
}
