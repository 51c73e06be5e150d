//! The last phase before the handler: environment, redirects of directories, DirectoryIndex, FallbackResource,
//! Action.

use crate::request::{Found, Request};
use crate::serve::{Halt, Phase, look_up};
use crate::variables;
use crate::{filter, rewrite};
use hostler_config::directives::alias::escape_path;

/// Runs the fixups in Apache's order.
pub(crate) async fn run(request: &mut Request) -> Phase {
    let rewritten = rewrite::fix_up(request).await?;
    crate::tls::fixup(request);
    filter::env::fixup(request).await?;
    filter::headers::request_fields(request).await?;
    super::translate::redirect(request, true).await?;
    if let Some(target) = rewritten {
        return Err(Halt::Redirect { method: request.method.clone(), target });
    }
    directory(request).await?;
    fallback(request).await?;
    rewrite::force(request);
    crate::access::fake(request).await
}

/// mod_dir: the slash at a directory's end, and its index.
async fn directory(request: &mut Request) -> Phase {
    if !request.found.is_directory() {
        return Ok(());
    }
    let dir = request.dir.clone();
    let handled = request.handler.as_deref().is_some_and(|h| h != super::types::DIRECTORY);
    if request.uri.last() != Some(&b'/') {
        if dir.dir.redirects_to_slash() && !(handled && dir.dir.leaves_handled()) {
            return slash(request);
        }
        return Ok(());
    }
    if handled && dir.dir.leaves_handled() {
        return Ok(());
    }
    index(request).await
}

/// Adds the request's query to a local target.
fn push_query(request: &Request, target: &mut Vec<u8>) {
    if let Some(args) = &request.args {
        target.push(b'?');
        target.extend_from_slice(args);
    }
}

fn slash(request: &mut Request) -> Phase {
    let mut target = escape_path(&request.uri);
    target.push(b'/');
    push_query(request, &mut target);
    let relative = request.dir.alias.relative == Some(true);
    let url = if relative { target } else { variables::absolute_url(request, &target) };
    request.headers_out.set("Location", url);
    Err(Halt::Status(301))
}

async fn index(request: &mut Request) -> Phase {
    let dir = request.dir.clone();
    let mut refused = None;
    for name in dir.dir.index_files() {
        let mut target = if name.starts_with('/') { Vec::new() } else { escape_path(&request.uri) };
        target.extend_from_slice(&escape_path(name.as_bytes()));
        if let Some(status) = dir.dir.index_redirect_status() {
            let (sub, phase) = look_up(request, &target).await;
            if phase.is_ok() && matches!(sub.found, Found::File(..)) {
                request.headers_out.set("Location", variables::absolute_url(request, &target));
                return Err(Halt::Status(status));
            }
            continue;
        }
        push_query(request, &mut target);
        let (sub, phase) = look_up(request, &target).await;
        request.lasting &= sub.lasting;
        match phase {
            Ok(()) if matches!(sub.found, Found::File(..)) => {
                take_over(request, sub);
                return Ok(());
            }
            Ok(()) => {}
            Err(Halt::Status(status @ 300..400)) => {
                if let Some(location) = sub.headers_out.find("Location") {
                    request.headers_out.set("Location", location.clone());
                }
                return Err(Halt::Status(status));
            }
            // A rule has sent the index file elsewhere: the request goes there.
            Err(Halt::Redirect { target, .. }) if matches!(sub.found, Found::File(..)) => {
                return Err(Halt::Redirect { method: request.method.clone(), target });
            }
            Err(Halt::Status(status)) if status != 404 => refused = refused.or(Some(status)),
            Err(_) => {}
        }
    }
    // An index file that exists but is refused: the listing must not show around it.
    match refused {
        Some(status) => Err(Halt::Status(status)),
        None => Ok(()),
    }
}

/// Goes on as the request for the index file (`ap_internal_fast_redirect`).
fn take_over(request: &mut Request, sub: Request) {
    request.uri = sub.uri;
    request.filename = sub.filename;
    request.path_info = sub.path_info;
    request.found = sub.found;
    request.dir = sub.dir;
    request.handler = sub.handler;
    request.content_type = sub.content_type;
    request.content_encoding = sub.content_encoding;
    request.content_languages = sub.content_languages;
    request.filters = sub.filters;
    request.context_prefix = sub.context_prefix;
    request.context_document_root = sub.context_document_root;
    request.env = sub.env;
    request.user = sub.user.or(request.user.take());
    request.auth_type = sub.auth_type.or(request.auth_type.take());
    for (name, value) in sub.notes.iter() {
        request.notes.set(name.clone(), value.clone());
    }
    for (name, value) in sub.headers_out.iter() {
        request.headers_out.set(name.clone(), value.clone());
    }
    for (name, value) in sub.err_headers_out.iter() {
        request.err_headers_out.set(name.clone(), value.clone());
    }
}

/// FallbackResource: what is neither file nor directory is served by one URL.
async fn fallback(request: &mut Request) -> Phase {
    let dir = request.dir.clone();
    let Some(target) = dir.dir.fallback_resource() else { return Ok(()) };
    let missing =
        request.found.is_nothing() || (request.found.is_directory() && request.uri.last() == Some(&b'/'));
    if !missing || request.handler.is_some() || target.as_bytes() == &*request.uri {
        return Ok(());
    }
    let mut escaped = escape_path(target.as_bytes());
    push_query(request, &mut escaped);
    let (sub, phase) = look_up(request, &escaped).await;
    if phase.is_ok() && matches!(sub.found, Found::File(..)) {
        take_over(request, sub);
    }
    Ok(())
}
