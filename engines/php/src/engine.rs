//! PHP as an engine: what is loaded in the parent, and what workers begin with.

use hostler_engine::Engine;
use hostler_php_frames::Setup;
use hostler_wire::engine;
use std::ffi::CStr;

use crate::loaded::Loaded;
use crate::php;
use crate::temporary;
use crate::worker::{Server, Worker};

/// The file of PHP's library, which its package replaces.
const LIBRARY: &str = env!("PHP_LIBRARY");

/// PHP, started.
pub(crate) struct Php {
    loaded: Loaded,
    servers: Vec<Server>,
    /// Each worker serves one request.
    one_shot: bool,
}

impl Engine for Php {
    type Worker = Worker;

    fn name() -> &'static CStr {
        c"hostler-php"
    }

    fn load(setup: &engine::Setup) -> Result<Self, String> {
        let own = Setup::decode(&setup.own).map_err(|e| e.to_string())?;
        let servers: Vec<Server> = setup.servers.iter().map(Server::new).collect();
        let software = servers.first().map_or("Hostler", |server| &server.software);
        temporary::choose();
        php::load(own.ini.as_deref(), software, &own.modules)?;
        warm(&own.warm);
        complain_of_threads();
        let (file, folders) = (php::ini_file(), php::ini_folder());
        let loaded = Loaded::of(file.as_deref(), folders.as_deref())
            .and_of(&[LIBRARY])
            .and_of_folder(php::extension_folder().as_deref());
        Ok(Self { loaded, servers, one_shot: setup.one_shot })
    }

    fn version(&self) -> String {
        let ini = php::ini_file();
        format!("PHP {} ({})", php::version(), ini.as_deref().unwrap_or("no php.ini"))
    }

    fn is_unchanged(&self) -> bool {
        self.loaded.is_unchanged()
    }

    fn begin_worker(&mut self) -> Result<Worker, String> {
        php::begin_worker();
        Ok(Worker::new(std::mem::take(&mut self.servers), self.one_shot))
    }
}

/// Only the thread that forks is in a worker: what an extension has started in others waits there for nobody.
fn complain_of_threads() {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        let why = format!(
            "{threads} threads run since PHP's extensions were loaded, and workers are forked without the others: \
             an extension that needs them does not work in workers"
        );
        hostler_engine::process::complain(why.as_bytes());
    }
}

/// `PHPWarm`. A script that does not run is no reason to serve nothing: its first visitor would see the same.
fn warm(scripts: &[(String, String)]) {
    for (document_root, path) in scripts {
        if !php::warm(document_root, path) {
            let why = format!("PHPWarm {path}: the script did not run to its end; the lines above say why");
            hostler_engine::process::complain(why.as_bytes());
        }
    }
}
