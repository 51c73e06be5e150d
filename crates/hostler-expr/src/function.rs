//! The string functions, one table (docs/manual/expr.html#functions). Names are not case sensitive.

use crate::Flags;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Req,
    ReqNovary,
    Resp,
    ReqEnv,
    OsEnv,
    Note,
    Env,
    ToLower,
    ToUpper,
    Escape,
    Unescape,
    Base64,
    Unbase64,
    Md5,
    Sha1,
    Ldap,
    Ssl,
    File,
    FileSize,
    FileMod,
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("req", Function::Req),
    ("http", Function::Req),
    ("req_novary", Function::ReqNovary),
    ("resp", Function::Resp),
    ("reqenv", Function::ReqEnv),
    ("osenv", Function::OsEnv),
    ("note", Function::Note),
    // mod_proxy_hcheck's, for the answer that is looked at; there is none elsewhere.
    ("hc", Function::Note),
    ("env", Function::Env),
    ("tolower", Function::ToLower),
    ("toupper", Function::ToUpper),
    ("escape", Function::Escape),
    ("unescape", Function::Unescape),
    ("base64", Function::Base64),
    ("unbase64", Function::Unbase64),
    ("md5", Function::Md5),
    ("sha1", Function::Sha1),
    ("ldap", Function::Ldap),
    // mod_ssl's; %{SSL:NAME} is the same.
    ("ssl", Function::Ssl),
    ("file", Function::File),
    ("filesize", Function::FileSize),
    // Only in Apache's development branch; useful beside filesize().
    ("filemod", Function::FileMod),
];

impl Function {
    /// The function of this name, if any.
    pub(crate) fn from_name(name: &str, flags: Flags) -> Option<Self> {
        if flags.ssi && name.eq_ignore_ascii_case("v") {
            return Some(Self::ReqEnv);
        }
        FUNCTIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, function)| *function)
    }

    /// Returns whether it needs [`crate::FileAccess::Full`].
    pub(crate) fn looks_at_files(self) -> bool {
        matches!(self, Self::File | Self::FileSize | Self::FileMod)
    }
}

/// List functions; `PeerExtList` belongs to mod_ssl.
pub(crate) fn list_function(name: &str) -> Option<&'static str> {
    const LISTS: [&str; 1] = ["PeerExtList"];
    LISTS.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}
