//! The way of a request through its phases, in Apache's order (`ap_process_request_internal`). What happens in a phase is
//! the modules' business: [`crate::hook::plan`] has their hooks in order.

use crate::hook::phases::Phase;
use crate::hook::plan::{Which, plan, run, run_some};
use crate::hook::{access, error, handler, sections};
use crate::io::body::Body;
use crate::limits::budget;
use crate::limits::watch::{self, Place, Return};
use crate::log::{self, Severity};
use crate::request::expr_host::Walk;
use crate::request::flow::{Continue, Flow, Halt};
use crate::request::{FileEntry, Request};
use bytes::Bytes;
use hostler_config::Server;
use hostler_config::directives::core;
use hostler_http1::uri::{self, EncodedSlashes, UriError};

/// For expressions.
pub(crate) const LOOK_UPS: Walk = Walk {
    url: |request, target| Box::pin(async move { is_accessible(&look_up(request, target).await.1) }),
    file: |request, path| {
        Box::pin(async move {
            let (sub, outcome) = look_up_file(request, path).await;
            outcome.is_ok() && matches!(sub.resource.found, FileEntry::File(..))
        })
    },
};

/// Returns whether `-U` holds: a redirect is no refusal.
pub(crate) fn is_accessible(phases: &Continue) -> bool {
    matches!(phases, Ok(()) | Err(Halt::Redirect { .. } | Halt::Status(..400) | Halt::Done(_)))
}

/// All phases of one request, and its handler.
pub(crate) async fn answer(request: &mut Request) -> Result<Body, Halt> {
    if let Err(halt) = prepare(request).await {
        if !matches!(halt, Halt::Status(status) if error::is_followed(request, status)) {
            plan().release(request);
        }
        return Err(halt);
    }
    handler::invoke(request).await
}

/// The watch has ended the request.
pub(super) fn ended(request: &Request) -> Halt {
    budget::check(request).err().unwrap_or(Halt::Status(500))
}

/// The phases before the handler.
pub(crate) async fn prepare(request: &mut Request) -> Continue {
    let budget = request.budget.clone();
    let _back = Return::to_here(&budget);
    budget.watched.enter(Place::START);
    watch::bounded(&budget, run_phases(request)).await.unwrap_or_else(|| Err(ended(request)))
}

async fn run_phases(request: &mut Request) -> Continue {
    // Whose the URL is shows when it is translated; the one before it may have been a user's (UserDir).
    if let Some(host) = request.server.user_of {
        request.server = request.thread.shared.config.servers[host as usize].clone();
        request.resource.dir = request.server.defaults.clone();
    }
    run(Phase::PostRead, request).await?;
    if !before_decoding(request).await? {
        decode(request)?;
    }
    // A throw-away look: translation may depend on what applies to the URL.
    sections::of_url(request).await?;
    run(Phase::Translate, request).await?;
    request.resource.dir = request.server.defaults.clone();
    run(Phase::MapToStorage, request).await?;
    sections::of_file(request).await?;
    run(Phase::PostPerDirConfig, request).await?;
    if !request.is_sub() {
        run(Phase::HeaderParser, request).await?;
    }
    go_on(request, Phase::Access).await
}

/// The phases from this one on, for a request whose configuration has changed meanwhile.
pub(crate) async fn go_on(request: &mut Request, from: Phase) -> Continue {
    if from <= Phase::Access {
        access::check(request).await?;
        request.is_checked = true;
    }
    if from <= Phase::Type {
        run(Phase::Type, request).await?;
        request.is_typed = false;
    }
    run(Phase::Fixup, request).await?;
    budget::check(request)
}

/// Lets modules translate the path while it has its escapes; whether one has: then it keeps them.
async fn before_decoding(request: &mut Request) -> Result<bool, Halt> {
    if !plan().decides(Phase::PreTranslate, request) {
        return Ok(false);
    }
    let merge = request.server.conf.core.merge_slashes.unwrap_or(true);
    let encoded = uri::encoded(&request.target.uri, merge).map_err(|error| Halt::Status(error.status()))?;
    let as_sent = std::mem::replace(&mut request.target.uri, encoded);
    request.resource.dir = request.server.defaults.clone();
    sections::of_url(request).await?;
    let is_translated = run(Phase::PreTranslate, request).await? == Flow::Ok;
    if !is_translated {
        request.target.uri = as_sent;
    }
    request.resource.dir = request.server.defaults.clone();
    Ok(is_translated)
}

/// The path as it is meant, with what applies to every request of the virtual host.
fn decode(request: &mut Request) -> Continue {
    let path = normalised(&request.server, &request.target.uri);
    request.target.uri = path.map_err(|error| Halt::Status(error.status()))?;
    request.resource.dir = request.server.defaults.clone();
    Ok(())
}

/// A path as a virtual host understands it: decoded, without repeated slashes and dot segments.
///
/// # Errors
/// It has escapes that are refused here, or climbs above the root.
pub(crate) fn normalised(server: &Server, path: &[u8]) -> Result<Vec<u8>, UriError> {
    let conf = &server.conf.core;
    let merge = conf.merge_slashes.unwrap_or(true);
    let slashes = match conf.encoded_slashes.unwrap_or_default() {
        core::EncodedSlashes::Off => EncodedSlashes::Off,
        core::EncodedSlashes::On => EncodedSlashes::On,
        core::EncodedSlashes::NoDecode => EncodedSlashes::NoDecode,
    };
    uri::normalise(path, merge, slashes)
}

/// Looks a URL up as a sub-request: all phases but the handler.
pub(crate) async fn look_up(request: &Request, target: &[u8]) -> (Request, Continue) {
    look_up_with(request, Bytes::from_static(b"GET"), target).await
}

/// The same, with a method.
pub(crate) async fn look_up_with(request: &Request, method: Bytes, target: &[u8]) -> (Request, Continue) {
    look_up_noted(request, target, |sub| sub.target.method = method).await
}

/// The same, for a sub-request that is changed before its phases.
pub(crate) async fn look_up_noted(
    request: &Request,
    target: &[u8],
    change: impl FnOnce(&mut Request),
) -> (Request, Continue) {
    let mut sub = request.sub(target);
    change(&mut sub);
    if let Err(halt) = budget::sub_request(request).await {
        return (sub, Err(halt));
    }
    let outcome = if u32::from(sub.depth()) > crate::request::settings::recursion(&request.server).1.max(1) {
        log::request(request, Severity::Error, "core", "sub-requests are nested too deeply");
        Err(Halt::Status(500))
    } else {
        Box::pin(prepare(&mut sub)).await
    };
    (sub, outcome)
}

/// A file looked up by its path, as `-F` and some includes do.
pub(crate) async fn look_up_file(request: &Request, path: &[u8]) -> (Request, Continue) {
    look_up_file_noted(request, path, |_| {}).await
}

/// The same, for a sub-request that is changed before its phases.
pub(crate) async fn look_up_file_noted(
    request: &Request,
    path: &[u8],
    change: impl FnOnce(&mut Request),
) -> (Request, Continue) {
    let mut sub = request.sub(&request.target.uri);
    change(&mut sub);
    sub.resource.filename = path.to_vec();
    sub.resource.dir = sub.server.defaults.clone();
    let outcome = match budget::sub_request(request).await {
        Ok(()) => prepare_file(&mut sub).await,
        Err(halt) => Err(halt),
    };
    (sub, outcome)
}

async fn prepare_file(sub: &mut Request) -> Continue {
    let budget = sub.budget.clone();
    let _back = Return::to_here(&budget);
    watch::bounded(&budget, run_phases_of_file(sub)).await.unwrap_or_else(|| Err(ended(sub)))
}

async fn run_phases_of_file(sub: &mut Request) -> Continue {
    run_some(Phase::MapToStorage, sub, Which::Own).await?;
    sections::of_named_file(sub).await?;
    access::check(sub).await?;
    run_some(Phase::Type, sub, Which::Own).await?;
    Ok(())
}

/// The phases of an entry of a directory, from the walk to it on; `checked`: the rules that `checked` has passed let this
/// one pass too.
pub(crate) async fn prepare_entry(sub: &mut Request, checked: &Request) -> Continue {
    let budget = sub.budget.clone();
    let _back = Return::to_here(&budget);
    watch::bounded(&budget, run_phases_of_entry(sub, checked)).await.unwrap_or_else(|| Err(ended(sub)))
}

async fn run_phases_of_entry(sub: &mut Request, checked: &Request) -> Continue {
    sections::of_file(sub).await?;
    if !std::sync::Arc::ptr_eq(&sub.resource.dir, &checked.resource.dir) {
        access::check(sub).await?;
    }
    run_some(Phase::Type, sub, Which::Own).await?;
    run_some(Phase::Fixup, sub, Which::Own).await?;
    Ok(())
}
