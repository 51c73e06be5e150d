//! Directories (mod_dir): the slash at their end, DirectoryIndex, FallbackResource.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::hook::walk::look_up;
use crate::module::core::types::DIRECTORY;
use crate::request::flow::{Continue, Flow, Halt, Outcome};
use crate::request::variables;
use crate::request::{FileEntry, Request};
use hostler_config::directives::alias::escape_path;
use hostler_config::technique;

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Fixup,
        after: &["alias"],
        before: &[],
        when: |request| {
            request.resource.found.is_directory() || request.resource.dir.dir.fallback_resource().is_some()
        },
        effect: Effect::Decides,
        run: Run::Later(|request| Box::pin(fixup(request))),
    }],
    // Index files are looked up as the request itself would be.
    ..Module::new("dir", |_| false)
};

async fn fixup(request: &mut Request) -> Outcome {
    directory(request).await?;
    fallback(request).await?;
    Ok(Flow::Ok)
}

/// mod_dir: the slash at a directory's end, and its index.
async fn directory(request: &mut Request) -> Continue {
    if !request.resource.found.is_directory() {
        return Ok(());
    }
    if request.target.uri.last() != Some(&b'/') {
        return if lacks_slash(request) { slash(request) } else { Ok(()) };
    }
    if is_left(request) { Ok(()) } else { index(request).await }
}

/// Returns whether a directory is left to a handler of its own.
fn is_left(request: &Request) -> bool {
    let handler = request.resource.handler.as_deref().filter(|&handler| handler != DIRECTORY);
    let dir = &request.resource.dir;
    let is_whole = |handler| technique::of_handler(handler).is_some_and(|row| (row.is_whole)(dir));
    handler.is_some_and(|handler| dir.dir.leaves_handled().unwrap_or_else(|| is_whole(handler)))
}

/// Returns whether the client is sent to the name of a directory with a slash.
pub(crate) fn lacks_slash(request: &Request) -> bool {
    request.resource.found.is_directory()
        && request.target.uri.last() != Some(&b'/')
        && request.resource.dir.dir.redirects_to_slash()
        && !is_left(request)
}

/// Adds the request's query to a local target.
fn push_query(request: &Request, target: &mut Vec<u8>) {
    if let Some(args) = &request.target.args {
        target.push(b'?');
        target.extend_from_slice(args);
    }
}

fn slash(request: &mut Request) -> Continue {
    let mut target = escape_path(&request.target.uri);
    target.push(b'/');
    push_query(request, &mut target);
    let relative = request.resource.dir.alias.relative == Some(true);
    let url = if relative { target } else { variables::absolute_url(request, &target) };
    request.reply.headers_out.set("Location", url);
    Err(Halt::Status(301))
}

/// Returns whether a URL that was looked up leads to something that can stand in the directory's place: a file, or
/// another server's answer, of which nothing is known here.
fn is_index(sub: &Request) -> bool {
    matches!(sub.resource.found, FileEntry::File(..))
        || sub.resource.handler.as_deref() == Some(b"proxy-server")
}

async fn index(request: &mut Request) -> Continue {
    let dir = request.resource.dir.clone();
    let mut refused = None;
    let names: Vec<&str> = dir.dir.index_files().collect();
    for (at, name) in names.iter().enumerate() {
        let mut target = if name.starts_with('/') { Vec::new() } else { escape_path(&request.target.uri) };
        target.extend_from_slice(&escape_path(name.as_bytes()));
        if let Some(status) = dir.dir.index_redirect_status() {
            let (sub, phase) = look_up(request, &target).await;
            if phase.is_ok() && is_index(&sub) {
                request.reply.headers_out.set("Location", variables::absolute_url(request, &target));
                return Err(Halt::Status(status));
            }
            continue;
        }
        push_query(request, &mut target);
        let (sub, phase) = look_up(request, &target).await;
        request.lasting &= sub.lasting;
        request.looked_at(sub.looks);
        match phase {
            Ok(()) if is_index(&sub) => {
                request.absorb(sub);
                return Ok(());
            }
            Ok(()) => {}
            Err(Halt::Status(status @ 300..=399)) => {
                if let Some(location) = sub.reply.headers_out.find("Location") {
                    request.reply.headers_out.set("Location", location.clone());
                }
                return Err(Halt::Status(status));
            }
            // A rule has sent the index file elsewhere: the request goes there.
            Err(Halt::Redirect { target, .. }) if matches!(sub.resource.found, FileEntry::File(..)) => {
                return Err(Halt::Redirect { method: request.target.method.clone(), target });
            }
            // What the last one is refused with says more than its status: who may ask, or what else there is.
            Err(Halt::Status(status @ (401 | 406))) if at + 1 == names.len() => {
                let said = sub.reply.headers_out.iter().chain(sub.reply.err_headers_out.iter());
                for (name, value) in said {
                    request.reply.err_headers_out.set(name.clone(), value.clone());
                }
                return Err(Halt::Status(status));
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

/// FallbackResource: what is neither file nor directory is served by one URL. A directory comes to it by its index files,
/// which are looked up, and are such names if they are missing; one that a handler is set for (`\.php$`) is not.
async fn fallback(request: &mut Request) -> Continue {
    let dir = request.resource.dir.clone();
    let Some(target) = dir.dir.fallback_resource() else { return Ok(()) };
    let missing = request.resource.found.is_nothing();
    // One without a slash stands beside what was asked for.
    let folder = if target.starts_with('/') {
        0
    } else {
        memchr::memrchr(b'/', &request.target.uri).map_or(0, |n| n + 1)
    };
    let target = [&request.target.uri[..folder], target.as_bytes()].concat();
    if !missing || request.resource.handler.is_some() || target == *request.target.uri {
        return Ok(());
    }
    let mut escaped = escape_path(&target);
    push_query(request, &mut escaped);
    let (sub, phase) = look_up(request, &escaped).await;
    match phase {
        Ok(()) if is_index(&sub) => request.absorb(sub),
        Err(Halt::Status(status)) if status != 404 => {
            if let Some(location) = sub.reply.headers_out.find("Location").filter(|_| status < 400) {
                request.reply.headers_out.set("Location", location.clone());
            }
            return Err(Halt::Status(status));
        }
        _ => {}
    }
    Ok(())
}
