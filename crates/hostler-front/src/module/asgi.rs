//! ASGI: applications in Python that serve many requests at a time, HTTP and WebSocket, in warm workers of the site's own
//! user. The program that serves one listens at a socket that the site's process has made; what is said there are frames of
//! ours ([`protocol`]).
//!
//! **Diagnostics**: everything goes to the virtual host's ErrorLog under `asgi`: what applications print and raise, and for
//! each 5xx one line with the cause and the id that the error page shows.

mod application;
mod fast;
mod protocol;
mod scope;
mod talk;
mod websocket;

use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::respond::fail;
use hostler_python_frames::asgi::HANDLER;
use hostler_python_technique::asgi::LOG;
use hostler_python_technique::{ASGI, DIR};

pub(crate) static MODULE: Module = Module {
    handlers: &[Handler {
        names: &[HANDLER],
        types: &[],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    resumes: Some((application::PROGRAM, application::resume)),
    // What a URL leads to is the same for everybody.
    ..Module::new("asgi", |_| false)
};

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    if let Some(why) = ASGI.why_not(ASGI.isolation(&request.resource.dir)) {
        log::request(request, Severity::Error, LOG, why);
        return Err(Halt::Status(500));
    }
    let application = application::of(request).map_err(|why| {
        log::request(request, Severity::Error, LOG, &why);
        Halt::Status(500)
    })?;
    let passes_login = request.resource.dir.part(&DIR).pass_authorization.unwrap_or(false);
    fast::remember(request, &application, passes_login);
    let pool = application::pool(request, &application).map_err(|error| fail(request, LOG, &error))?;
    if websocket::is_wanted(request)? {
        let head = scope::of(request, scope::Kind::WebSocket, &application.root_path, passes_login);
        return websocket::respond(request, &application, pool, head).await;
    }
    let head = scope::of(request, scope::Kind::Http, &application.root_path, passes_login);
    talk::respond(request, pool, head, application.timeout).await
}

/// Logs an application's output with the request it is about.
fn tell(about: &Request, text: &[u8]) {
    if !text.is_empty() {
        log::of_program(about, Severity::Error, LOG, text);
    }
}
