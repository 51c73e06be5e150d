//! Configuration for a request: what the front's merge of sections has come to.

use crate::Phase;
use hostler_wire::codec::{Decoder, Encoder, Malformed};
use hostler_wire::work;

/// Bits of [`Directory::flags`].
pub mod directory_flag {
    /// `PerlOptions +ParseHeaders` / `PerlSendHeader On`.
    pub const PARSE_HEADERS: u32 = 1;
    /// `PerlOptions +SetupEnv` / `PerlSetupEnv On`.
    pub const SETUP_ENV: u32 = 1 << 1;
    /// `PerlOptions +GlobalRequest`.
    pub const GLOBAL_REQUEST: u32 = 1 << 2;
    /// `PerlOptions +MergeHandlers`.
    pub const MERGE_HANDLERS: u32 = 1 << 3;
    /// `CGIPassAuth On`.
    pub const PASS_AUTH: u32 = 1 << 4;
    /// `PerlSetupEnv`/`-SetupEnv` was said at all.
    pub const SETUP_ENV_SET: u32 = 1 << 5;
    /// `-GlobalRequest` was said.
    pub const GLOBAL_REQUEST_SET: u32 = 1 << 6;
    /// `Satisfy` was said at all.
    pub const SATISFY_SET: u32 = 1 << 7;
}

/// The settings of a directory (or location): [`work::Directory`] with mod_perl's own part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// [`directory_flag`]s.
    pub flags: u32,
    /// Handlers by phase, in the words of the configuration, stacked in order.
    pub handlers: Vec<(Phase, Vec<String>)>,
    /// `PerlSetVar`, `PerlAddVar`: `dir_config`, the server's merged under the directory's.
    pub vars: Vec<(String, String)>,
    /// `PerlSetEnv`, `PerlPassEnv`.
    pub env: Vec<(String, String)>,
    /// [`work::Directory::allow_options`]
    pub allow_options: u32,
    /// `AllowOverride`: Apache's `OR_` bits; `OR_UNSET` alone where it was never said.
    pub overrides: u32,
    /// The options that it permits: Apache's `OPT_` bits.
    pub override_options: u32,
    /// [`work::Directory::location`]
    pub location: Option<String>,
    /// `AuthName`.
    pub auth_name: Option<String>,
    /// `AuthType`.
    pub auth_type: Option<String>,
    /// `Require` lines.
    pub requires: Vec<String>,
    /// `Satisfy any`.
    pub satisfy_any: bool,
    /// `PSGIApp`, absolute.
    pub psgi_app: Option<String>,
    /// `ServerSignature`'s line.
    pub signature: String,
    /// Index of the virtual host.
    pub server: u32,
    /// `LimitRequestBody`.
    pub limit_request_body: u64,
    /// `AddDefaultCharset`, where set.
    pub default_charset: Option<String>,
    /// The settings of Perl modules' directives, as Perl text: layers, from the outermost section inwards.
    pub layers: Option<String>,
}

impl Directory {
    /// As it travels: an encoded [`work::Directory`].
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut own = Vec::new();
        let mut e = Encoder(&mut own);
        e.u32(self.flags);
        e.list(&self.handlers, |e, (phase, handlers)| {
            e.u8(*phase as u8);
            e.texts(handlers);
        });
        e.pairs(&self.vars);
        e.pairs(&self.env);
        e.texts(&self.requires);
        e.bool(self.satisfy_any);
        e.u32(self.overrides);
        e.u32(self.override_options);
        e.optional_text(self.psgi_app.as_deref());
        e.optional_text(self.layers.as_deref());
        let common = work::Directory {
            server: self.server,
            allow_options: self.allow_options,
            limit_request_body: self.limit_request_body,
            location: self.location.as_deref(),
            auth_name: self.auth_name.as_deref(),
            auth_type: self.auth_type.as_deref(),
            default_charset: self.default_charset.as_deref(),
            signature: &self.signature,
            own: &own,
        };
        let mut bytes = Vec::with_capacity(own.len() + 128);
        common.encode(&mut Encoder(&mut bytes));
        bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(common: &work::Directory<'_>) -> Result<Self, Malformed> {
        let mut d = Decoder(common.own);
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let directory = Self {
            flags: d.u32()?,
            handlers: d.list(5, |d| {
                let phase = Phase::numbered(d.u8()?).ok_or(Malformed)?;
                Ok((phase, d.texts()?))
            })?,
            vars: d.pairs()?,
            env: d.pairs()?,
            requires: d.texts()?,
            satisfy_any: d.bool()?,
            overrides: d.u32()?,
            override_options: d.u32()?,
            psgi_app: owned(d.optional_text()?),
            layers: owned(d.optional_text()?),
            allow_options: common.allow_options,
            location: owned(common.location),
            auth_name: owned(common.auth_name),
            auth_type: owned(common.auth_type),
            signature: common.signature.to_owned(),
            server: common.server,
            limit_request_body: common.limit_request_body,
            default_charset: owned(common.default_charset),
        };
        d.end().map(|()| directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_comes_back() {
        let text = |text: &str| Some(text.to_owned());
        let directory = Directory {
            flags: directory_flag::SETUP_ENV,
            handlers: vec![(Phase::Access, vec!["A::b".into()]), (Phase::Response, Vec::new())],
            vars: vec![("a".into(), "b".into())],
            env: vec![("c".into(), String::new())],
            requires: vec!["valid-user".into()],
            satisfy_any: true,
            overrides: 31,
            override_options: 255,
            psgi_app: text("/a.psgi"),
            layers: text("({})"),
            location: text("/x"),
            signature: "s".into(),
            server: 2,
            ..Directory::default()
        };
        let bytes = directory.encode();
        let common = work::Directory::decode(&bytes).unwrap();
        assert_eq!(Directory::decode(&common), Ok(directory));
        let broken = work::Directory { own: &common.own[1..], ..common };
        assert_eq!(Directory::decode(&broken), Err(Malformed));
    }
}
