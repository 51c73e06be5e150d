//! Applications of servlets and JSP (`ServletApp`): they answer for all URLs below their paths, in a Tomcat of the site's own
//! user, which the site's process starts.
//!
//! The configuration of such a URL holds for the path that the container will see: without parameters (`;x=y`) and
//! with one slash where there are several. What is an application's own business (WEB-INF, META-INF, its archive) nobody is
//! sent, by whatever handler.
//!
//! **Diagnostics**: what the virtual machine and its applications write goes to the ErrorLog of the site's first virtual host
//! that has one; for each 5xx of the gateway one line with the cause and the id that the error page shows.

mod fast;
mod machine;
mod upgrade;

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Handler, Hook, Module, Run};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::{FileEntry, Request, variables};
use crate::technique::container::{self, AsJk, ContainerRequest, plain};
use crate::technique::overridden::overridden;
use crate::technique::respond::fail;
use crate::technique::sockets::Sockets;
use bytes::Bytes;
use hostler_ajp::{Attribute, DEFAULT_PACKET};
use hostler_config::directives::proxy::pass;
use hostler_gateway::Error;
use hostler_gateway::backend::ajp::{Ajp, Pool};
use hostler_servlet_technique::{HANDLER, SERVER, is_private};
use machine::Machine;
use std::sync::Arc;

/// The module's name in logs.
const LOG: &str = "servlet";
/// The note of a request that an application answers: its path with all parameters, decoded.
const PATH: &str = "servlet-path";

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Translate,
            after: &["perl", "rewrite", "proxy"],
            before: &["alias"],
            when: |request| {
                !request.server.conf.part(&SERVER).apps.is_empty()
                    && request.target.uri.first() == Some(&b'/')
            },
            effect: Effect::Decides,
            run: Run::Now(translate),
        },
        Hook {
            phase: Phase::MapToStorage,
            after: &["perl", "proxy"],
            before: &["core"],
            when: |request| request.notes.contains(PATH),
            effect: Effect::Decides,
            run: Run::Now(|request| {
                request.resource.path_info.clear();
                request.resource.found = FileEntry::Nothing;
                Ok(Flow::Ok)
            }),
        },
        Hook {
            phase: Phase::Access,
            after: &["ssl"],
            before: &["perl"],
            when: is_withheld,
            effect: Effect::Decides,
            run: Run::Now(withhold),
        },
        Hook {
            phase: Phase::Type,
            after: &["core"],
            before: &["perl"],
            when: |request| request.notes.contains(PATH),
            effect: Effect::Notes,
            run: Run::Now(|request| {
                request.resource.handler = Some(Bytes::from_static(HANDLER.as_bytes()));
                Ok(Flow::Ok)
            }),
        },
    ],
    handlers: &[Handler {
        names: &[HANDLER],
        types: &[],
        when: |request| request.notes.contains(PATH),
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    resumes: Some((machine::PROGRAM, machine::resume)),
    ..Module::new("servlet", is_withheld)
};

/// Finds the application that answers.
fn translate(request: &mut Request) -> Outcome {
    let Some(plain) = plain(&request.target.uri) else {
        log::request(
            request,
            Severity::Error,
            LOG,
            "a path that leads upwards behind a parameter is refused",
        );
        return Err(Halt::Status(400));
    };
    if request.server.conf.part(&SERVER).find(&plain).is_none() {
        return Ok(Flow::Declined);
    }
    let with_parameters = std::mem::replace(&mut request.target.uri, plain);
    request.notes.set(PATH, with_parameters);
    request.resource.filename = [b"servlet:", &request.target.uri[..]].concat();
    Ok(Flow::Ok)
}

/// Returns whether it is what an application keeps to itself.
fn is_withheld(request: &Request) -> bool {
    let apps = machine::all(&request.thread);
    if apps.is_empty() {
        return false;
    }
    let of_file = |path: &str| {
        let rest = request.resource.filename.strip_prefix(path.as_bytes());
        rest.is_some_and(|rest| {
            (rest.is_empty() && !request.resource.found.is_directory())
                || (rest.starts_with(b"/") && is_private(rest))
        })
    };
    is_private(&request.target.uri) || apps.iter().any(|path| of_file(path))
}

/// As a container does: there is nothing.
fn withhold(request: &mut Request) -> Outcome {
    let path = String::from_utf8_lossy(&request.resource.filename).into_owned();
    log::request(
        request,
        Severity::Error,
        LOG,
        &format!("{path} belongs to a web application's own files, and is not sent"),
    );
    Err(Halt::Status(404))
}

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    let machine = match machine::of(request) {
        Ok(machine) => machine,
        Err(why) => {
            log::request(request, Severity::Error, LOG, why);
            return Err(Halt::Status(500));
        }
    };
    fast::remember(request, &machine);
    let pool = match pool(request, &machine) {
        Ok(pool) => pool,
        Err(error) => return Err(fail(request, LOG, &error)),
    };
    if let Some(protocol) = upgrade::wanted(request) {
        return upgrade::respond(request, pool, &machine, &protocol).await;
    }
    let Some(words) = Words::of(request) else { return Err(Halt::Status(400)) };
    let body = container::respond(request, pool, words.told(&machine), LOG).await?;
    overridden(request).map_or(Ok(body), Err)
}

/// The pool of connections to it.
fn pool(request: &Request, machine: &Machine) -> Result<Arc<Pool>, Error> {
    let thread = &request.thread;
    thread.shared.of::<Sockets>().pool::<Ajp>(thread, &machine.server, &machine.target)
}

/// Values for a container that are not part of the request.
struct Words {
    path: Vec<u8>,
    server_name: Vec<u8>,
}

impl Words {
    /// `None`: an escape in its path is malformed.
    fn of(request: &Request) -> Option<Self> {
        let path = request.notes.find(PATH).map_or(&request.target.uri[..], |path| &path[..]);
        // As mod_proxy encodes it: with what is a servlet's parameter, and nothing else, left as it is.
        Some(Self { path: pass::encoded(path, false)?, server_name: variables::server_name(request) })
    }

    fn told<'a>(&'a self, machine: &'a Machine) -> ContainerRequest<'a> {
        ContainerRequest {
            path: &self.path,
            server_name: Some(machine.host.as_bytes()),
            attributes: vec![Attribute::Named(b"hostler.server_name", &self.server_name)],
            packet: DEFAULT_PACKET,
            timeout: None,
            as_jk: AsJk::default(),
            is_last: false,
        }
    }
}
