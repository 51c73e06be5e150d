//! The interpreter as an engine: what is loaded in the parent, and what workers begin with.

use hostler_engine::{Engine, process};
use hostler_perl_frames::{Preload, PreloadKind, Setup};
use hostler_wire::engine;
use std::ffi::CStr;
use std::time::SystemTime;

use crate::loaded::Loaded;
use crate::perl;
use crate::worker::Worker;

/// The interpreter, with all that was to be loaded.
pub(crate) struct Perl {
    loaded: Loaded,
    setup: Setup,
}

impl Engine for Perl {
    type Worker = Worker;

    fn name() -> &'static CStr {
        c"hostler-perl"
    }

    fn load(setup: &engine::Setup) -> Result<Self, String> {
        let setup = Setup::from_wire(setup).map_err(|e| e.to_string())?;
        let start = SystemTime::now();
        load(&setup)?;
        Ok(Self { loaded: Loaded::since(start), setup })
    }

    fn version(&self) -> String {
        perl::version()
    }

    fn is_unchanged(&self) -> bool {
        self.loaded.is_unchanged()
    }

    fn before_fork(&mut self) {
        if self.setup.one_shot {
            // Last of all: what was given back until now is not taken again.
            perl::prepare_forks();
        }
    }

    fn begin_worker(&mut self) -> Result<Worker, String> {
        let setup = &mut self.setup;
        // As under mod_perl a child serves whatever its PerlChildInitHandlers say.
        if let Err(why) = perl::child_init(&setup.child_init) {
            process::complain(why.as_bytes());
        }
        Ok(Worker::new(std::mem::take(&mut setup.child_exit), setup.one_shot))
    }
}

/// Everything in the order of the configuration, but what asks to come last.
fn load(setup: &Setup) -> Result<(), String> {
    perl::boot(setup)?;
    let is_late = |kind| matches!(kind, PreloadKind::LateFile | PreloadKind::LateCall);
    let (late, early): (Vec<_>, Vec<_>) = setup.preload.iter().partition(|preload| is_late(preload.kind));
    early.into_iter().chain(late).try_for_each(perl::preload)?;
    // What workers would else load one by one; those that serve one request, with each request.
    let own: &[&str] =
        if setup.one_shot { &["PerlIO::scalar", "Hostler::Script"] } else { &["PerlIO::scalar"] };
    let module = |name: &&str| Preload {
        kind: PreloadKind::Module,
        text: (*name).to_owned(),
        origin: String::new(),
        configured: false,
    };
    own.iter().map(module).try_for_each(|module| perl::preload(&module))
}
