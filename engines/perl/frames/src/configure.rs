//! The protocol between the planner and the process that runs Perl code for it while the configuration is read
//! (`hostler-perl configure`): frames ([`hostler_wire::frame`]) without descriptors, one reply for each question.
//!
//! The process runs code that others than root may have written. The planner believes nothing of what it says, but
//! takes it for text of a configuration in which only some directives may stand.

use crate::Preload;
use hostler_wire::build::{BUILD_BYTES, Build};
use hostler_wire::codec::{Decoder, Encoder, Malformed};
use hostler_wire::engine::ServerFacts;
use hostler_wire::frame::{self, FrameError};

/// Longest answer that the planner takes, in bytes.
pub const LONGEST_ANSWER: usize = 1 << 20;

/// From the planner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToConfigure {
    /// Reads something that is to be loaded, without running it: whether its text shows that it builds configuration.
    /// Answered by [`FromConfigure::Saw`]. No interpreter is needed for it.
    Look {
        /// What.
        preload: Preload,
        /// `ServerRoot`.
        server_root: String,
        /// Directories in which modules are looked for.
        places: Vec<String>,
    },
    /// Before anything is run: what the interpreter is made with. Answered by [`FromConfigure::Hello`].
    Begin {
        /// Of mod_perl's API: 1 or 2.
        generation: u8,
        /// `ServerRoot`.
        server_root: String,
        /// Arguments of the interpreter (`PerlSwitches`).
        switches: Vec<String>,
        /// The main server, as far as the configuration has said it.
        main: Box<ServerFacts>,
        /// `PerlSetVar`, `PerlAddVar` of it.
        vars: Vec<(String, String)>,
    },
    /// Runs one thing: a section's code, or what is to be loaded before it.
    Run {
        /// It.
        preload: Preload,
        /// Server-wide settings are refused.
        in_host: bool,
    },
}

/// The facts shown by the text of something to load, including the tenant's own modules that it loads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFacts {
    /// It calls `add_config` or `httpd_conf`, or pushes handlers to a server.
    pub adds: bool,
    /// It sets variables of `Apache2::ReadConfig`, which count at the end of the next section.
    pub fills: bool,
    /// It names classes of mod_perl 1.
    pub first: bool,
    /// It names classes of mod_perl 2.
    pub second: bool,
    /// Directories in which modules are looked for from now on (`use lib`).
    pub places: Vec<String>,
}

/// Returns whether a line of code pushes handlers to a server, which makes directives of them. `$r->push_handlers` is
/// the request's own, and what workers begin and end with is no directive's.
#[must_use]
pub fn pushes_to_server(line: &str) -> bool {
    let is_of_server = |(at, _): (usize, &str)| {
        let before = line[..at].trim_end().strip_suffix("->").unwrap_or_default();
        let before = before.trim_end().trim_end_matches("()");
        let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
        matches!(word, Some("server" | "s" | "srv" | "serv"))
    };
    let calls = ["push_handlers", "set_handlers"];
    !line.contains("PerlChild") && calls.into_iter().any(|call| line.match_indices(call).any(is_of_server))
}

/// From the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromConfigure {
    /// The facts shown by the text.
    Saw(SourceFacts),
    /// The interpreter is ready.
    Hello(Build),
    /// It was run.
    Done {
        /// The configuration that it has built.
        text: String,
        /// Its warnings.
        warnings: String,
        /// Directives that modules have added so far: a line for each with the module, the name, `args_how`,
        /// `req_override` and `errmsg`, tabulators between them.
        declared: String,
    },
    /// It could not be run.
    Failed {
        /// Perl's words, with the place.
        why: String,
    },
}

mod kind {
    pub(super) const LOOK: u8 = 0;
    pub(super) const BEGIN: u8 = 1;
    pub(super) const RUN: u8 = 2;
    pub(super) const SAW: u8 = 0;
    pub(super) const HELLO: u8 = 1;
    pub(super) const DONE: u8 = 2;
    pub(super) const FAILED: u8 = 3;
}

impl ToConfigure {
    /// Appends it as a frame.
    ///
    /// # Errors
    /// [`FrameError::Unsendable`]: it is over the limits.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        frame::put(0, out, |e| match self {
            Self::Look { preload, server_root, places } => {
                e.u8(kind::LOOK);
                put_preload(e, preload);
                e.bytes(server_root.as_bytes());
                e.texts(places);
            }
            Self::Begin { generation, server_root, switches, main, vars } => {
                e.u8(kind::BEGIN);
                e.u8(*generation);
                e.bytes(server_root.as_bytes());
                e.texts(switches);
                main.encode(e);
                e.pairs(vars);
            }
            Self::Run { preload, in_host } => {
                e.u8(kind::RUN);
                put_preload(e, preload);
                e.bool(*in_host);
            }
        })
    }

    /// The message in a frame's body.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(body);
        let message = match d.u8()? {
            kind::LOOK => {
                Self::Look { preload: preload(&mut d)?, server_root: d.string()?, places: d.texts()? }
            }
            kind::BEGIN => Self::Begin {
                generation: d.u8()?,
                server_root: d.string()?,
                switches: d.texts()?,
                main: Box::new(ServerFacts::decode(&mut d)?),
                vars: d.pairs()?,
            },
            kind::RUN => Self::Run { preload: preload(&mut d)?, in_host: d.bool()? },
            _ => return Err(Malformed),
        };
        d.end().map(|()| message)
    }
}

impl FromConfigure {
    /// Appends it as a frame.
    ///
    /// # Errors
    /// [`FrameError::Unsendable`]: it is over the limits.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        frame::put(0, out, |e| match self {
            Self::Saw(shown) => {
                e.u8(kind::SAW);
                [shown.adds, shown.fills, shown.first, shown.second].into_iter().for_each(|bit| e.bool(bit));
                e.texts(&shown.places);
            }
            Self::Hello(build) => {
                e.u8(kind::HELLO);
                e.0.extend_from_slice(&build.to_bytes());
            }
            Self::Done { text, warnings, declared } => {
                e.u8(kind::DONE);
                [text, warnings, declared].into_iter().for_each(|text| e.bytes(text.as_bytes()));
            }
            Self::Failed { why } => {
                e.u8(kind::FAILED);
                e.bytes(why.as_bytes());
            }
        })
    }

    /// The message in a frame's body.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(body);
        let message = match d.u8()? {
            kind::SAW => Self::Saw(SourceFacts {
                adds: d.bool()?,
                fills: d.bool()?,
                first: d.bool()?,
                second: d.bool()?,
                places: d.texts()?,
            }),
            kind::HELLO => Self::Hello(Build::from_bytes(d.array::<BUILD_BYTES>()?)),
            kind::DONE => Self::Done { text: d.string()?, warnings: d.string()?, declared: d.string()? },
            kind::FAILED => Self::Failed { why: d.string()? },
            _ => return Err(Malformed),
        };
        d.end().map(|()| message)
    }
}

fn put_preload(e: &mut Encoder<'_>, preload: &Preload) {
    preload.encode(e);
    e.bytes(preload.origin.as_bytes());
}

fn preload(d: &mut Decoder<'_>) -> Result<Preload, Malformed> {
    let preload = Preload::decode(d, String::new())?;
    Ok(Preload { origin: d.string()?, ..preload })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PreloadKind;

    fn body<T>(encode: impl FnOnce(&mut Vec<u8>) -> T) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out);
        out.split_off(frame::HEAD)
    }

    #[test]
    fn handlers_of_servers_are_told_from_those_of_requests() {
        for line in [
            "Apache2::ServerUtil->server->push_handlers(",
            "$s->push_handlers(PerlFixupHandler => 'A');",
            "    $s -> set_handlers(PerlTransHandler => \\&trans);",
            "Apache2::PerlSections->server()->push_handlers(PerlAccessHandler => sub { 0 });",
        ] {
            assert!(pushes_to_server(line), "{line}");
        }
        for line in [
            "$r->push_handlers(PerlFixupHandler => 'A');",
            "$s->push_handlers(PerlChildInitHandler => 'A');",
            "push_handlers($s)",
            "$pools->push_handlers",
            "# handlers of the server",
        ] {
            assert!(!pushes_to_server(line), "{line}");
        }
    }

    #[test]
    fn questions_and_answers_come_back() {
        let preload =
            || Preload { kind: PreloadKind::File, text: "a".into(), origin: "b:1".into(), configured: false };
        let main = Box::new(ServerFacts { port: 80, ..ServerFacts::default() });
        let (server_root, switches) = ("/".to_owned(), vec!["-w".to_owned()]);
        let vars = vec![("a".to_owned(), "b".to_owned())];
        for message in [
            ToConfigure::Look { preload: preload(), server_root: "/".into(), places: vec!["/lib".into()] },
            ToConfigure::Begin { generation: 2, server_root, switches, main, vars },
            ToConfigure::Run { preload: preload(), in_host: true },
        ] {
            assert_eq!(ToConfigure::decode(&body(|out| message.encode(out))), Ok(message));
        }
        let shown = SourceFacts { fills: true, places: vec!["/lib".into()], ..SourceFacts::default() };
        let done = FromConfigure::Done { text: "A b".into(), warnings: String::new(), declared: "c".into() };
        let failed = FromConfigure::Failed { why: "why".into() };
        for message in [FromConfigure::Saw(shown), FromConfigure::Hello(Build::own()), done, failed] {
            assert_eq!(FromConfigure::decode(&body(|out| message.encode(out))), Ok(message));
        }
    }
}
