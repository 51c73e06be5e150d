//! Action and Script (mod_actions): another URL handles the request. It gets this one's path as its path info,
//! and the handler's name as `REDIRECT_HANDLER`.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::log::{self, Severity};
use crate::module::core::types::DIRECTORY;
use crate::request::Request;
use crate::request::flow::{Continue, Flow, Halt};
use crate::request::looks::Looks;
use bytes::Bytes;
use hostler_config::directives::actions::Outcome;
use hostler_config::directives::alias::escape_path;
use hostler_config::technique::{self, Technique};

/// Handlers that are asked before mod_actions is: an Action by such a name never comes into effect. Those of an engine are
/// where the configuration loads its module (mod_php); else the Action may be somebody's own way to the language, by CGI.
fn is_asked_first(request: &Request, handler: &[u8]) -> bool {
    let loaded = &request.thread.shared.config.facts.loaded_modules;
    let is_loaded = |technique: &Technique| {
        technique.engine().is_none() || technique.modules.iter().any(|module| loaded.contains(module.name))
    };
    handler == b"send-as-is" || technique::of_handler(handler).is_some_and(is_loaded)
}

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Handler,
        after: &["core"],
        before: &[],
        when: |request| request.resource.dir.actions.is_set(),
        effect: Effect::Decides,
        run: Run::Now(|request| check(request).map(|()| Flow::Ok)),
    }],
    // It redirects, or has nothing to do with the request.
    ..Module::new("actions", |_| false)
};

/// Redirects to the program of the request's handler, type or method.
fn check(request: &mut Request) -> Continue {
    // `Script GET` comes into effect with a query.
    request.looked_at(Looks::LINE);
    let dir = request.resource.dir.clone();
    if !dir.actions.is_set() {
        return Ok(());
    }
    let handler = handler(request);
    if is_asked_first(request, &handler) || (*handler == *DIRECTORY && request.is_get()) {
        return Ok(());
    }
    let (method, name) = (String::from_utf8_lossy(&request.target.method), String::from_utf8_lossy(&handler));
    let exists = !request.resource.found.is_nothing();
    let outcome = dir.actions.program_for(
        &method,
        request.target.args.is_some(),
        Some(&name),
        exists,
        request.redirects,
    );
    match outcome {
        Outcome::Declined => Ok(()),
        Outcome::NotFound => {
            let message =
                format!("File does not exist: {}", String::from_utf8_lossy(&request.resource.filename));
            log::request(request, Severity::Error, "actions", &message);
            Err(Halt::Status(404))
        }
        Outcome::Program { program, handler: by_handler } => {
            if by_handler.is_some() {
                request.env.set("HANDLER", handler);
            }
            Err(Halt::Redirect { method: request.target.method.clone(), target: target(request, program) })
        }
    }
}

/// The request's handler as Apache names it: without one, the media type stands for it.
fn handler(request: &Request) -> Bytes {
    let by_type = || {
        let kind = request.resource.content_type.as_deref()?;
        let essence = kind.split(|&byte| byte == b';').next().unwrap_or_default();
        Some(Bytes::copy_from_slice(essence.trim_ascii()))
    };
    request.resource.handler.clone().or_else(by_type).unwrap_or(Bytes::from_static(b"default-handler"))
}

fn target(request: &Request, program: &str) -> Vec<u8> {
    let mut target = program.as_bytes().to_vec();
    target.extend_from_slice(&escape_path(&request.target.uri));
    if let Some(args) = &request.target.args {
        target.push(b'?');
        target.extend_from_slice(args);
    }
    target
}
