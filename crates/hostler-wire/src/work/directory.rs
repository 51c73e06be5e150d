//! Configuration for a request in a worker: what the front's merge of sections has come to.

use serde::{Deserialize, Serialize};

/// Phases of a request in which a worker may have a say, with mod_perl's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it: PerlXxxHandler")]
#[repr(u8)]
pub enum Phase {
    PostReadRequest = 0,
    Trans = 1,
    MapToStorage = 2,
    HeaderParser = 3,
    Access = 4,
    Authen = 5,
    Authz = 6,
    Type = 7,
    Fixup = 8,
    Response = 9,
    Log = 10,
    Cleanup = 11,
}

impl Phase {
    /// All, in order.
    pub const ALL: [Self; 12] = [
        Self::PostReadRequest,
        Self::Trans,
        Self::MapToStorage,
        Self::HeaderParser,
        Self::Access,
        Self::Authen,
        Self::Authz,
        Self::Type,
        Self::Fixup,
        Self::Response,
        Self::Log,
        Self::Cleanup,
    ];
}

/// A set of phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PhaseSet(pub u32);

impl PhaseSet {
    /// Whether it has this one.
    #[must_use]
    pub fn contains(self, phase: Phase) -> bool {
        self.0 & 1 << phase as u8 != 0
    }

    /// Adds one.
    pub fn insert(&mut self, phase: Phase) {
        self.0 |= 1 << phase as u8;
    }
}

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
}

/// What a directory (or location) says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// [`directory_flag`]s.
    pub flags: u32,
    /// Handlers by phase, in the words of the configuration, stacked in order.
    pub handlers: Vec<(Phase, Vec<String>)>,
    /// `PerlSetVar`, `PerlAddVar`: `dir_config`, the server's merged under the directory's.
    pub vars: Vec<(String, String)>,
    /// `PerlSetEnv`, `PerlPassEnv`.
    pub env: Vec<(String, String)>,
    /// `Options` as Apache's `OPT_` bits: Indexes 1, Includes 2, FollowSymLinks 4, ExecCGI 8, IncludesNOEXEC 32,
    /// SymLinksIfOwnerMatch 64, MultiViews 128.
    pub allow_options: u32,
    /// The path of the `<Location>` or `<Directory>` that applies.
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
    /// `DefaultType`/`ForceType` need nothing here; `AddDefaultCharset`, where set.
    pub default_charset: Option<String>,
    /// What directives say that Perl modules have added, as Perl text: layers, from the outermost section on.
    pub layers: Option<String>,
}
