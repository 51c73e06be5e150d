//! Requests that workers of mod_jk's answer: which do (`JkMount`), what their containers are told of the path, and files of web
//! applications that are sent from here (`JkAutoAlias`). How a container is asked is mod_proxy's.
//!
//! The configuration of such a URL holds for the path that the container will see: without parameters (`;x=y`) and
//! with one slash where there are several.
//!
//! **Diagnostics**: under `jk`, a URL whose worker is none; the rest is mod_proxy's.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Handler, Hook, Module, Run};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::proxy::{self, JkAnswer};
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::slots::{Relation, State};
use crate::request::{FileEntry, Request, expr_host};
use crate::technique::container::plain;
use bytes::Bytes;
use hostler_config::directives::alias::escape_path;
use hostler_config::directives::jk::mounts::{self, Rule};
use hostler_config::directives::jk::{HANDLER, INDICATOR, Kind, UriForm};
use hostler_config::directives::proxy::pass;
use hostler_servlet_technique::is_private;
use std::sync::Arc;

/// The log's name of the module.
const LOG: &str = "jk";
/// The note of a request that a worker answers: the worker's name.
const WORKER: &str = "JK_WORKER_NAME";
/// The note of what that is.
const TYPE: &str = "JK_WORKER_TYPE";

/// The request is for the status page. Programs can set notes, so this is none.
#[derive(Clone, Copy)]
struct StatusPage;

impl State for StatusPage {
    fn copy(&self) -> Box<dyn State> {
        Box::new(*self)
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        None
    }
}

fn is_status(request: &Request) -> bool {
    request.slots.find::<StatusPage>().is_some()
}

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Translate,
            after: &["perl", "rewrite", "proxy"],
            before: &["servlet", "alias"],
            when: |request| request.server.conf.jk.is_set() && request.target.uri.first() == Some(&b'/'),
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(translate(request))),
        },
        Hook {
            phase: Phase::MapToStorage,
            after: &["perl", "proxy"],
            before: &["servlet", "core"],
            when: is_status,
            effect: Effect::Decides,
            run: Run::Now(|request| {
                request.resource.path_info.clear();
                request.resource.found = FileEntry::Nothing;
                Ok(Flow::Ok)
            }),
        },
        Hook {
            phase: Phase::Type,
            after: &["core"],
            before: &["servlet", "perl"],
            when: is_status,
            effect: Effect::Notes,
            run: Run::Now(show),
        },
    ],
    handlers: &[Handler {
        names: &[HANDLER],
        types: &[],
        when: |request| request.server.conf.jk.is_set(),
        settles: false,
        run: |request| Box::pin(by_handler(request)),
    }],
    ..Module::new("jk", is_status)
};

/// Finds the worker that answers.
async fn translate(request: &mut Request) -> Outcome {
    if request.env.contains("no-jk") {
        return Ok(Flow::Declined);
    }
    let Some(plain) = plain(&request.target.uri) else {
        let why = "a path that leads upwards behind a parameter is refused";
        log::request(request, Severity::Error, LOG, why);
        return Err(Halt::Status(400));
    };
    let server = request.server.clone();
    let is_unsafe = server.conf.jk.rejects_unsafe == Some(true)
        && request.target.uri.iter().any(|byte| matches!(byte, b'%' | b'\\'));
    if !is_unsafe && let Some(mount) = mounts::find(&server.conf.jk.mounts, &plain) {
        return answered_by(request, &mount.worker, plain, &mount.rule);
    }
    if let Some(folder) = &server.conf.jk.alias
        && let Some(flow) = file_of_application(request, folder, &plain).await?
    {
        return Ok(flow);
    }
    if let Some(start) = server.conf.jk.strip.as_deref().filter(|start| !start.is_empty())
        && let Some(at) = memchr::memmem::find(&request.target.uri, start.as_bytes())
    {
        strip(request, at, start.len());
    }
    Ok(Flow::Declined)
}

/// The request is a worker's from here on.
fn answered_by(request: &mut Request, name: &str, plain: Vec<u8>, rule: &Rule) -> Outcome {
    let server = request.server.clone();
    let Some(worker) = server.conf.jk.worker(name) else {
        log::request(request, Severity::Error, LOG, &format!("there is no worker {name} (worker.list=)"));
        return Err(Halt::Status(500));
    };
    request.notes.set(WORKER, name.to_owned());
    match &worker.kind {
        Kind::Status => {
            request.notes.set(TYPE, "status");
            request.slots.put(StatusPage);
            request.resource.filename = [b"jk:", &plain[..]].concat();
        }
        Kind::Containers(containers) => {
            request.notes.set(TYPE, if containers.parameters.sticky.is_some() { "lb" } else { "ajp13" });
            let path = told(request, server.conf.jk.uri.unwrap_or_default());
            let mounted = JkAnswer { containers: containers.clone(), rule: rule.clone() };
            proxy::mount(request, &path, mounted);
        }
    }
    request.target.uri = plain;
    Ok(Flow::Ok)
}

/// The path as the container is told it.
fn told(request: &Request, form: UriForm) -> Vec<u8> {
    let uri = &request.target.uri;
    match form {
        // No escape is left in it that could be malformed.
        UriForm::Proxy => pass::encoded(uri, false).unwrap_or_default(),
        UriForm::Compat => uri.clone(),
        UriForm::Escaped => escape_path(uri),
        UriForm::Unparsed => {
            let raw = proxy::raw_target(request);
            raw.split(|byte| *byte == b'?').next().unwrap_or_default().to_vec()
        }
    }
}

/// `JkAutoAlias`: a file of an application that is unpacked in the folder; what is the application's own nobody is sent.
async fn file_of_application(
    request: &mut Request,
    folder: &str,
    plain: &[u8],
) -> Result<Option<Flow>, Halt> {
    let Some(name) = plain[1..].split(|byte| *byte == b'/').next().filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    if is_private(&plain[1 + name.len()..]) {
        return Err(Halt::Status(404));
    }
    let application = [folder.as_bytes(), b"/", name].concat();
    if expr_host::is_directory(request, &application).await {
        request.resource.filename = [folder.as_bytes(), plain].concat();
        request.target.uri = plain.to_vec();
        return Ok(Some(Flow::Ok));
    }
    if name.len() > 4 && name[name.len() - 4..].eq_ignore_ascii_case(b".war") {
        return Err(Halt::Status(403));
    }
    Ok(None)
}

/// `JkStripSession`: takes a session off the path, up to what else stands there.
fn strip(request: &mut Request, at: usize, length: usize) {
    let uri = &mut request.target.uri;
    let rest = &uri[at + length..];
    let end = rest.iter().position(|byte| *byte == b'/').map_or(uri.len(), |end| at + length + end);
    uri.drain(at..end);
}

/// A mount on a worker of the type `status`: the server's own page, which the operator has mounted there.
fn show(request: &mut Request) -> Outcome {
    request.resource.handler = Some(Bytes::from_static(b"server-status"));
    Arc::make_mut(&mut request.resource.dir).core.shows_figures = Some(true);
    Ok(Flow::Ok)
}

/// `SetHandler jakarta-servlet`, with the worker in a variable or by the mounts. Both have to be the operator's words: an
/// access file must not choose another tenant's worker.
async fn by_handler(request: &mut Request) -> Result<Body, Halt> {
    let refused = |request: &Request, status: u16, why: &str| {
        log::request(request, Severity::Error, LOG, why);
        Halt::Status(status)
    };
    if !request.resource.dir.reach.is_named(HANDLER.as_bytes()) {
        let why = "it is not the server's configuration that names the handler jakarta-servlet";
        return Err(refused(request, 403, why));
    }
    let Some(plain) = plain(&request.target.uri) else { return Err(Halt::Status(400)) };
    let (server, dir) = (request.server.clone(), request.resource.dir.clone());
    let indicated = request.env.find(INDICATOR).map(|name| String::from_utf8_lossy(name).into_owned());
    let mount = mounts::find(&server.conf.jk.mounts, &plain);
    let (name, rule) = match (&indicated, mount) {
        (Some(name), _) if dir.reach.is_named(format!("jk:{name}").as_bytes()) => (&**name, Rule::default()),
        (Some(name), _) => {
            let why =
                format!("the worker {name} is not one that SetEnv in the server's configuration names here");
            return Err(refused(request, 403, &why));
        }
        (None, Some(mount)) => (&*mount.worker, mount.rule.clone()),
        (None, None) => {
            return Err(refused(request, 500, "there is neither a mount nor JK_WORKER_NAME for this URL"));
        }
    };
    answered_by(request, name, plain, &rule)?;
    if is_status(request) {
        return Err(refused(request, 500, "a worker of the type status can be mounted only (JkMount)"));
    }
    proxy::answer_mounted(request).await
}
