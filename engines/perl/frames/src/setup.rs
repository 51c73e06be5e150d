//! The code that a pool's parent loads before its first fork.

use hostler_wire::codec::{Decoder, Encoder, Malformed};
use hostler_wire::engine;
use hostler_wire::engine::ServerFacts;

/// [`engine::Setup`] with what is mod_perl's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// [`engine::Setup::title`]
    pub title: String,
    /// Version of mod_perl's API: 1 or 2.
    pub generation: u8,
    /// The code to load, in the order of the configuration.
    pub preload: Vec<Preload>,
    /// Arguments of the interpreter (`PerlSwitches`).
    pub switches: Vec<String>,
    /// Environment variables (`PerlSetEnv`, `PerlPassEnv`) of the configuration, over those of the process.
    pub env: Vec<(String, String)>,
    /// `ServerRoot`.
    pub server_root: String,
    /// The virtual hosts that the pool serves, main server first.
    pub servers: Vec<ServerFacts>,
    /// `PerlSetVar`, `PerlAddVar` outside of sections, by the same index; none of a virtual host beyond its end.
    pub vars: Vec<Vec<(String, String)>>,
    /// Each worker serves one request (`Isolation fork`).
    pub one_shot: bool,
    /// [`engine::Setup::max_requests`]
    pub max_requests: u32,
    /// [`engine::Setup::cpu`]
    pub cpu: Option<(u64, u64)>,
    /// Functions to call in each new worker (`PerlChildInitHandler`).
    pub child_init: Vec<String>,
    /// Functions to call when a worker ends (`PerlChildExitHandler`).
    pub child_exit: Vec<String>,
    /// The lines of the configuration that the pool's programs may see (`Apache2::Directive`): for each its depth, line, file,
    /// name and arguments, every one with a NUL after it.
    pub tree: String,
}

/// One thing to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preload {
    /// Its kind.
    pub kind: PreloadKind,
    /// A module's name, a file's path, or code.
    pub text: String,
    /// `file:line` of the directive, for error messages.
    pub origin: String,
    /// It was run when the configuration was read, and what it has built was taken: it is run once more for what it
    /// defines.
    pub configured: bool,
}

/// Kinds of [`Preload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PreloadKind {
    /// A module by name (`PerlModule`, `+Handler`).
    Module = 0,
    /// A file (`PerlRequire`, `PerlConfigRequire`).
    File = 1,
    /// A file, once everything else is loaded (`PerlPostConfigRequire`).
    LateFile = 2,
    /// A function, once everything else is loaded (`PerlPostConfigHandler`, `PerlOpenLogsHandler`).
    LateCall = 3,
    /// Code (`<Perl>`).
    Code = 4,
}

impl PreloadKind {
    const ALL: [Self; 5] = [Self::Module, Self::File, Self::LateFile, Self::LateCall, Self::Code];
}

impl Setup {
    /// As it travels. Where things stand in the configuration, and its lines, are apart from what is loaded: a parent outlives
    /// changes of them.
    #[must_use]
    pub fn into_wire(self) -> engine::Setup {
        let mut own = Vec::new();
        let mut e = Encoder(&mut own);
        e.u8(self.generation);
        e.list(&self.preload, |e, preload| preload.encode(e));
        e.texts(&self.switches);
        e.pairs(&self.env);
        e.list(&self.vars, |e, vars| e.pairs(vars));
        e.texts(&self.child_init);
        e.texts(&self.child_exit);
        engine::Setup {
            title: self.title,
            server_root: self.server_root,
            servers: self.servers,
            one_shot: self.one_shot,
            max_requests: self.max_requests,
            cpu: self.cpu,
            own,
            places: self.preload.into_iter().map(|preload| preload.origin).chain([self.tree]).collect(),
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn from_wire(common: &engine::Setup) -> Result<Self, Malformed> {
        let mut d = Decoder(&common.own);
        let mut places = common.places.iter().cloned();
        let setup = Self {
            generation: d.u8()?,
            preload: d.list(6, |d| Preload::decode(d, places.next().unwrap_or_default()))?,
            switches: d.texts()?,
            env: d.pairs()?,
            vars: d.list(4, Decoder::pairs)?,
            child_init: d.texts()?,
            child_exit: d.texts()?,
            title: common.title.clone(),
            server_root: common.server_root.clone(),
            servers: common.servers.clone(),
            one_shot: common.one_shot,
            max_requests: common.max_requests,
            cpu: common.cpu,
            tree: places.next().unwrap_or_default(),
        };
        d.end().map(|()| setup)
    }
}

impl Preload {
    /// Writes it, but for where it stands.
    pub(crate) fn encode(&self, e: &mut Encoder<'_>) {
        e.u8(self.kind as u8);
        e.bytes(self.text.as_bytes());
        e.bool(self.configured);
    }

    pub(crate) fn decode(d: &mut Decoder<'_>, origin: String) -> Result<Self, Malformed> {
        let kind = *PreloadKind::ALL.get(usize::from(d.u8()?)).ok_or(Malformed)?;
        Ok(Self { kind, text: d.string()?, configured: d.bool()?, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_comes_back_and_places_make_no_difference_to_what_is_loaded() {
        let preload = |origin: &str| Preload {
            kind: PreloadKind::Code,
            text: "1".into(),
            origin: origin.into(),
            configured: true,
        };
        let setup = |origin: &str| Setup {
            title: "site".into(),
            generation: 2,
            preload: vec![preload(origin)],
            switches: vec!["-w".into()],
            env: vec![("A".into(), "b".into())],
            servers: vec![ServerFacts::default()],
            vars: vec![vec![("c".into(), "d".into())]],
            child_exit: vec!["main::f".into()],
            tree: origin.into(),
            ..Setup::default()
        };
        let (one, other) = (setup("f:1").into_wire(), setup("f:2").into_wire());
        assert_eq!(Setup::from_wire(&one), Ok(setup("f:1")));
        assert_eq!(one.own, other.own);
        assert_ne!(one.places, other.places);
        let broken = engine::Setup { own: one.own[1..].to_vec(), ..one };
        assert_eq!(Setup::from_wire(&broken), Err(Malformed));
    }
}
