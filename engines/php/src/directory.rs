//! A directory's configuration, as C takes it.

use hostler_php_frames as frames;
use hostler_wire::work;

use crate::arena::Arena;
use crate::ffi::Settings;

/// A worker's data about a directory.
pub(crate) struct Directory {
    /// Index of the virtual host.
    pub(crate) server: u32,
    /// `ServerSignature`'s line.
    pub(crate) signature: Vec<u8>,
    /// `CGIPassAuth`
    pub(crate) pass_auth: bool,
    /// `HostlerPHPRealpath`
    pub(crate) real_paths: bool,
    pub(crate) settings: Settings,
    /// The texts that the settings point into.
    _texts: Box<Arena>,
    _kinds: Box<[u8]>,
}

impl Directory {
    /// `None`: it makes no sense.
    pub(crate) fn define(directory: &work::Directory<'_>) -> Option<Self> {
        let own = frames::Directory::decode(directory.own).ok()?;
        let mut texts = Box::<Arena>::default();
        for setting in &own.settings {
            texts.put(setting.name.as_bytes(), setting.value.as_bytes());
        }
        let kind =
            |setting: &frames::Setting<'_>| u8::from(setting.admin) | u8::from(setting.access_file) << 1;
        let kinds: Box<[u8]> = own.settings.iter().map(kind).collect();
        let settings = Settings { pairs: texts.pairs(), kinds: kinds.as_ptr(), user_ini: own.user_ini };
        Some(Self {
            server: directory.server,
            signature: directory.signature.into(),
            pass_auth: own.pass_auth,
            real_paths: own.real_paths,
            settings,
            _texts: texts,
            _kinds: kinds,
        })
    }
}
