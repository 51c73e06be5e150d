//! A worker's requests: from the messages of a trip to an application and back.

use crate::answer;
use crate::environ;
use crate::exchange::{self, Current, Exchange};
use crate::guard;
use crate::metrics;
use crate::module;
use crate::py::{self, Object, Outcome, PythonError};
use crate::response::Response;
use crate::support::Support;
use crate::template::Names;
use hostler_engine::{Next, Serve, process};
use hostler_python_frames::{self as frames, Setup};
use hostler_wire::codec::Decoder;
use hostler_wire::engine::ServerFacts;
use hostler_wire::work::{self, Outcome as End, RequestHead, request_flag};
use pyo3_ffi as ffi;
use std::cell::OnceCell;
use std::rc::Rc;

/// A request on its way.
pub(crate) type Trip = hostler_engine::Trip<Worker>;

/// The facts about a virtual host for applications.
pub(crate) struct Server {
    pub(crate) admin: String,
    pub(crate) document_root: String,
    pub(crate) software: String,
}

impl Server {
    pub(crate) fn new(facts: &ServerFacts) -> Self {
        Self {
            admin: facts.admin.clone(),
            document_root: facts.document_root.clone(),
            software: facts.software.clone(),
        }
    }
}

/// A worker's data about a directory.
pub(crate) struct Directory {
    /// Index of the virtual host.
    server: u32,
    /// `ServerSignature`'s line.
    pub(crate) signature: String,
    pub(crate) callable: String,
    pub(crate) pass_authorization: bool,
    pub(crate) head_is_get: bool,
    pub(crate) reloading: bool,
    /// Fields that are believed, and from whom (`forwarded.py`); `None`: none.
    pub(crate) trusted: Option<(String, Option<String>)>,
    /// The script that answers for the handler, and the handler's name; `None`: the request's file answers.
    pub(crate) handler: Option<(String, String)>,
    error_override: bool,
    /// The beginning of its requests' environments.
    template: OnceCell<Object>,
}

/// The application that was called last; most workers have one.
struct Application {
    file: Vec<u8>,
    callable: String,
    object: Object,
    /// Its script says itself when it is to be loaded anew.
    says_when_stale: bool,
}

/// All that a worker keeps between and during requests, beside what a [`Trip`] keeps.
pub(crate) struct Worker {
    pub(crate) support: Rc<Support>,
    pub(crate) own: Rc<Setup>,
    pub(crate) names: Names,
    pub(crate) one_shot: bool,
    servers: Rc<[Server]>,
    /// The request's head, while the trip's own buffer takes what comes after it.
    head: Vec<u8>,
    last: Option<Application>,
    /// `wsgi.input` of requests without a body.
    nothing: Object,
    input: Object,
}

impl Serve for Worker {
    type Directory = Rc<Directory>;

    fn define(directory: &work::Directory<'_>) -> Option<Self::Directory> {
        let own = frames::Directory::decode(directory.own).ok()?;
        Some(Rc::new(Directory {
            server: directory.server,
            signature: directory.signature.to_owned(),
            callable: own.callable.to_owned(),
            pass_authorization: own.pass_authorization,
            head_is_get: own.head_is_get,
            reloading: own.reloading,
            trusted: (!own.trusted_headers.is_empty())
                .then(|| (own.trusted_headers.to_owned(), own.trusted_proxies.map(str::to_owned))),
            handler: own.handler.map(|(script, name)| (script.to_owned(), name.to_owned())),
            error_override: own.error_override,
            template: OnceCell::new(),
        }))
    }

    fn serve(&mut self, trip: &mut Trip) {
        match trip.next() {
            Ok(Next::Request) => self.run(trip),
            Ok(Next::Own) => {
                trip.malformed();
            }
            Err(_) => {}
        }
    }

    /// Other threads of the program run while nothing is asked.
    fn idle<T>(wait: impl FnOnce() -> T) -> T {
        py::without_lock(wait)
    }

    fn end(&mut self) {
        if self.support.call(c"end", &[]).is_err() {
            py::clear();
        }
    }
}

impl Worker {
    pub(crate) fn new(
        support: Rc<Support>,
        own: Rc<Setup>,
        servers: Vec<Server>,
        one_shot: bool,
    ) -> Outcome<Self> {
        let input = support.name(c"Input")?;
        // What has no number is no request's: reading from it finds the end before it asks.
        let nothing = input.call(&[&py::number(0)?])?;
        // SAFETY: objects.
        unsafe {
            ffi::PyObject_SetAttrString(nothing.as_ptr(), c"_ended".as_ptr(), py::truth(true)?.as_ptr())
        };
        let (servers, names, head) = (servers.into(), Names::default(), Vec::new());
        Ok(Self { support, own, names, one_shot, servers, head, last: None, nothing, input })
    }

    /// `wsgi.input`
    pub(crate) fn input(&self, head: &RequestHead<'_>, serial: &Object) -> Outcome {
        if head.flags & request_flag::BODY != 0 {
            self.input.call(&[serial])
        } else {
            Ok(self.nothing.clone())
        }
    }

    fn run(&mut self, trip: &mut Trip) {
        let mut bytes = std::mem::take(&mut self.head);
        bytes.clear();
        bytes.extend_from_slice(trip.request());
        let servers = self.servers.clone();
        let known = RequestHead::decode(&mut Decoder(&bytes)).ok().and_then(|head| {
            let directory = trip.directory(head.directory).cloned()?;
            let server = servers.get(directory.server as usize)?;
            Some((head, directory, server))
        });
        match known {
            Some((head, directory, server)) => self.answer(trip, &head, server, &directory),
            None => {
                trip.malformed();
            }
        }
        self.head = bytes;
    }

    fn answer(&mut self, trip: &mut Trip, head: &RequestHead<'_>, server: &Server, directory: &Directory) {
        let got = metrics::now();
        let head_only = head.flags & request_flag::HEAD_ONLY != 0;
        let is_daemon = !self.own.process_group.is_empty();
        let response = Response::new(directory.error_override, head_only, is_daemon);
        let mut exchange = Exchange { trip, response };
        let pointer = &raw mut exchange;
        // SAFETY: until the guard is dropped the exchange is used through it alone.
        let (current, serial) = unsafe { Current::of(pointer) };
        let file = directory.handler.as_ref().map_or(head.filename, |(script, _)| script.as_bytes());
        let script = String::from_utf8_lossy(file).into_owned();
        let done = if head.own.is_empty() {
            self.call(head, server, directory, (file, &script), serial)
        } else {
            guard::answer(self, head, server, directory, serial)
        };
        if process::is_forked_away() {
            // A process of the program's own that has found its way here has no request.
            process::exit_now(0);
        }
        if done.is_err() {
            self.support.tell(&script);
        }
        metrics::ended(head.time, got, &self.support);
        drop(current);
        if done.is_err() {
            exchange.failed();
        }
        exchange.trip.finish(&End::Done);
    }

    fn call(
        &mut self,
        head: &RequestHead<'_>,
        server: &Server,
        directory: &Directory,
        (file, script): (&[u8], &str),
        serial: u64,
    ) -> Outcome<()> {
        let application = match self.application(file, script, head.filename, directory)? {
            Ok(application) => application,
            Err(status) => {
                return exchange::with(serial, |exchange| {
                    exchange.trip.finish(&End::Status(status));
                    Ok(())
                });
            }
        };
        if directory.template.get().is_none() {
            let template = environ::template(self, server, directory)?;
            let _ = directory.template.set(template);
        }
        let template = directory.template.get().ok_or(PythonError)?;
        let number = py::number(serial)?;
        let environment = environ::of(self, template, head, directory, &number)?;
        let start_response = module::start_response_of(&number)?;
        answer::run(&application, &environment, &start_response, serial, &self.support, script)
    }

    /// The application; else the status that says that there is none, as has been told.
    fn application(
        &mut self,
        file: &[u8],
        script: &str,
        resource: &[u8],
        directory: &Directory,
    ) -> Outcome<Result<Object, u16>> {
        let last = self.last.as_ref();
        let last = last.filter(|last| last.file == file && last.callable == directory.callable);
        let is_asked = directory.reloading && last.is_none_or(|last| last.says_when_stale);
        let is_stale = is_asked && self.is_stale(script, resource)?;
        if let Some(last) = last.filter(|_| !is_stale) {
            return Ok(Ok(last.object.clone()));
        }
        self.last = None;
        let found =
            self.support.call(c"application", &[&py::text(script)?, &py::text(&directory.callable)?])?;
        // SAFETY: they are only compared.
        let is_loaded = found.as_ptr() != unsafe { ffi::Py_False() };
        if found.is_none() || !is_loaded {
            return Ok(Err(if is_loaded { 404 } else { 500 }));
        }
        let (file, callable) = (file.to_vec(), directory.callable.clone());
        let says = self.support.call(c"says_when_stale", &[&py::text(script)?])?;
        // SAFETY: they are only compared.
        let says_when_stale = says.as_ptr() == unsafe { ffi::Py_True() };
        self.last = Some(Application { file, callable, object: found.clone(), says_when_stale });
        Ok(Ok(found))
    }

    /// Returns whether a script says that it is to be loaded anew (`reload_required`).
    fn is_stale(&self, script: &str, resource: &[u8]) -> Outcome<bool> {
        let resource = String::from_utf8_lossy(resource);
        let stale = self.support.call(c"is_stale", &[&py::text(script)?, &py::text(&resource)?])?;
        // SAFETY: they are only compared.
        Ok(stale.as_ptr() == unsafe { ffi::Py_True() })
    }
}
