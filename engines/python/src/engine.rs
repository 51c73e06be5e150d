//! Python as an engine: what is set up and imported in the parent, and what workers begin with.

use crate::py::{self, Object, Outcome, PythonError};
use crate::support::{Support, list, sentence};
use crate::worker::{Server, Worker};
use hostler_engine::{Engine, Side};
use hostler_python_frames::{Setup, WarmUp};
use hostler_wire::engine;
use pyo3_ffi as ffi;
use std::ffi::CStr;
use std::path::PathBuf;
use std::rc::Rc;

/// An interpreter that is set up.
pub(crate) struct Python {
    support: Rc<Support>,
    own: Rc<Setup>,
    servers: Vec<Server>,
    one_shot: bool,
    /// The modules were imported before the fork.
    preloaded: bool,
    /// The files of that, with their states.
    files: Option<Object>,
}

impl Engine for Python {
    type Worker = Worker;

    fn name() -> &'static CStr {
        c"hostler-python"
    }

    fn load(setup: &engine::Setup) -> Result<Self, String> {
        let own = Setup::decode(&setup.own).map_err(|e| e.to_string())?;
        settle(&own)?;
        let told = |PythonError| format!("{} can't be set up: {}", version(), sentence());
        let support = Support::load().map_err(told)?;
        begin(&support, &own).map_err(told)?;
        let (preloaded, files) = preload(&support, &own).map_err(told)?;
        Ok(Self {
            support: Rc::new(support),
            own: Rc::new(own),
            servers: setup.servers.iter().map(Server::new).collect(),
            one_shot: setup.one_shot,
            preloaded,
            files,
        })
    }

    fn version(&self) -> String {
        version()
    }

    fn is_unchanged(&self) -> bool {
        let Some(files) = &self.files else { return true };
        let same = self.support.call(c"is_unchanged", &[files]);
        // SAFETY: an object.
        let same = same.is_ok_and(|same| unsafe { ffi::PyObject_IsTrue(same.as_ptr()) } == 1);
        py::clear();
        same
    }

    /// As `os.fork`: what modules have registered with `os.register_at_fork` is done, too.
    fn around_fork(side: Side) {
        // SAFETY: each is called where it has to be; the process has one thread.
        unsafe {
            match side {
                Side::Before => ffi::PyOS_BeforeFork(),
                Side::Parent => ffi::PyOS_AfterFork_Parent(),
                Side::Child => ffi::PyOS_AfterFork_Child(),
            }
        }
    }

    fn title(&self) -> Option<String> {
        self.own.display_name.clone()
    }

    fn begin_worker(&mut self) -> Result<Worker, String> {
        let worker = (|| {
            if !self.preloaded {
                let imports = list(self.own.imports.iter().map(String::as_str))?;
                self.support.call(c"begin_worker", &[&imports])?;
            }
            let servers = std::mem::take(&mut self.servers);
            Worker::new(self.support.clone(), self.own.clone(), servers, self.one_shot)
        })();
        worker.map_err(|PythonError| sentence())
    }
}

/// Working directory and mask of permissions.
fn settle(own: &Setup) -> Result<(), String> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (&own.directory, home) {
        (Some(directory), _) => std::env::set_current_dir(directory)
            .map_err(|e| format!("home={directory} can't be the working directory: {e}"))?,
        // A user may have none.
        (None, Some(home)) => drop(std::env::set_current_dir(home)),
        (None, None) => {}
    }
    if let Some(mask) = own.umask {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask));
    }
    Ok(())
}

fn begin(support: &Support, own: &Setup) -> Outcome<()> {
    let path = list(own.python_path.iter().map(String::as_str))?;
    let flags = [own.restrict_signal, own.restrict_stdout, own.restrict_stdin, own.dont_write_bytecode];
    let [signal, stdout, stdin, bytecode] = flags.map(py::truth);
    let home = py::text(own.directory.as_deref().unwrap_or_default())?;
    support.call(c"begin", &[&path, &home, &signal?, &stdout?, &stdin?, &bytecode?])?;
    let [process, application] = [&own.process_group, &own.application_group].map(|name| py::text(name));
    let workers = py::number(own.workers.into())?;
    support.call(c"present", &[&process?, &application?, &workers]).map(drop)
}

fn preload(support: &Support, own: &Setup) -> Outcome<(bool, Option<Object>)> {
    let mode = py::number(own.preload as u64)?;
    let scripts = list(own.scripts.iter().map(|script| script.file.as_str()))?;
    let imports = list(own.imports.iter().map(String::as_str))?;
    let requests: Vec<_> = own.warm_ups.iter().map(request).collect();
    let requests = list(requests.iter().map(String::as_str))?;
    let done = support.call(c"preload", &[&mode, &scripts, &imports, &requests])?;
    // SAFETY: an object.
    let done = unsafe { ffi::PyObject_IsTrue(done.as_ptr()) } == 1;
    let files = if done { Some(support.call(c"files", &[])?) } else { None };
    Ok((done, files))
}

/// Returns the request to answer ahead, in one text: none of its parts has a NUL.
fn request(warm_up: &WarmUp) -> String {
    let WarmUp { script, host, mount, rest } = warm_up;
    [&script.file, &script.callable, host, mount, rest].map(String::as_str).join("\0")
}

/// As `Python 3.11.2 (/srv/venv/bin/python)`.
fn version() -> String {
    // SAFETY: a constant string of Python's, and a borrowed object.
    let (version, program) = unsafe {
        let version = CStr::from_ptr(ffi::Py_GetVersion()).to_string_lossy();
        let program = Object::borrowed(ffi::PySys_GetObject(c"executable".as_ptr()));
        (version, program.and_then(|program| py::utf8_of(&program)).unwrap_or_default())
    };
    py::clear();
    format!("Python {} ({program})", version.split_whitespace().next().unwrap_or("?"))
}
