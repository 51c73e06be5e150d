//! From the URL to a file name, or to another URL: Alias, ScriptAlias, Redirect (mod_alias).

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::hook::sections;
use crate::limits::budget;
use crate::module::core;
use crate::request::Request;
use crate::request::expr_host;
use crate::request::flow::{Continue, Flow, Halt, Outcome};
use crate::request::looks::Looks;
use crate::request::variables;
use bytes::Bytes;
use hostler_config::DirConfig;
use hostler_config::directives::alias::{self, request as by_alias};

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Translate,
            after: &["perl"],
            before: &["core"],
            when: |request| request.target.uri.first() == Some(&b'/') && has_any(request),
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(run(request))),
        },
        Hook {
            phase: Phase::Fixup,
            after: &["headers"],
            before: &[],
            when: |request| request.resource.dir.alias.is_set(),
            effect: Effect::Decides,
            run: Run::Later(|request| {
                // They go on with it.
                request.looked_at(Looks::LINE);
                Box::pin(async move { redirect(request, true).await.map(|()| Flow::Ok) })
            }),
        },
    ],
    // What a URL leads to is the same for everybody; what expressions look at is noted where they are evaluated.
    ..Module::new("alias", |_| false)
};

/// Translates, or answers with a redirect.
async fn run(request: &mut Request) -> Outcome {
    redirect(request, false).await?;
    let (server, dir) = (request.server.clone(), request.resource.dir.clone());
    let translated = expr_host::with_host(request, |host| {
        by_alias::translate(&server.conf.alias, &dir.alias, of(request, host))
    });
    let Some(found) = translated.await.map_err(|error| broken(request, &error.to_string()))? else {
        return Ok(Flow::Declined);
    };
    request.resource.filename = found.filename;
    if let Some((prefix, root)) = found.context {
        request.resource.context_prefix = prefix.as_bytes().to_vec();
        request.resource.context_document_root = Some(root.as_bytes().to_vec());
    }
    if let Some(handler) = found.handler {
        request.notes.set("alias-forced-type", Bytes::from_static(handler.as_bytes()));
    }
    Ok(Flow::Ok)
}

/// Returns whether anything of this module can apply to the URL.
fn has_any(request: &Request) -> bool {
    let server = &request.server.conf.alias;
    !server.aliases.is_empty() || !server.redirects.is_empty() || request.resource.dir.alias.is_set()
}

fn of<'a>(request: &'a Request, host: &'a expr_host::RequestHost<&'a Request>) -> by_alias::Request<'a> {
    by_alias::Request { path: &request.target.uri, query: request.target.args.as_deref(), host }
}

fn broken(request: &Request, why: &str) -> Halt {
    budget::log_failure(request, "alias", why);
    Halt::Status(500)
}

/// Redirects: those of the server come before translation, those of directories (`late`) among the fixups.
async fn redirect(request: &mut Request, late: bool) -> Continue {
    let (server, dir) = (request.server.clone(), request.resource.dir.clone());
    let answer = if late {
        late_answer(request, &dir).await?
    } else {
        let answer = expr_host::with_host(request, |host| {
            by_alias::redirect_early(&server.conf.alias, &dir.alias, of(request, host))
        });
        answer.await.map_err(|error| broken(request, &error.to_string()))?
    };
    match answer {
        None => Ok(()),
        Some(by_alias::Answer::Location { status, url, relative }) => {
            let url = if relative { variables::absolute_url(request, &url) } else { url };
            request.reply.headers_out.set("Location", url);
            Err(Halt::Status(status))
        }
        Some(by_alias::Answer::Status(status)) => Err(Halt::Status(status)),
        Some(by_alias::Answer::Broken(why)) => Err(broken(request, &why)),
    }
}

/// Redirects of a directory that are tried before others get their turn.
const SOME: usize = 32;

/// Evaluates the directory's redirects.
async fn late_answer(request: &Request, dir: &DirConfig) -> Result<Option<by_alias::Answer>, Halt> {
    let mut chunks = dir.alias.late_redirects().chunks(SOME);
    let mut next = Some(chunks.next().unwrap_or_default());
    while let Some(some) = next {
        let answer = expr_host::with_host(request, |host| {
            by_alias::redirect_late_among(some, &dir.alias, of(request, host))
        });
        if let Some(answer) = answer.await.map_err(|error| broken(request, &error.to_string()))? {
            return Ok(Some(answer));
        }
        budget::turn(request).await?;
        next = chunks.next();
    }
    Ok(None)
}

/// The file that a path on this server stands for (`PATH_TRANSLATED`), without looking at the file system.
pub(crate) async fn translate_only(request: &Request, path: &[u8]) -> Option<Vec<u8>> {
    let mut sub = request.sub(&alias::escape_path(path));
    sub.target.uri = path.to_vec();
    sections::locations(&mut sub).await.ok()?;
    if has_any(&sub) && sub.target.uri.first() == Some(&b'/') {
        match Box::pin(run(&mut sub)).await {
            Ok(Flow::Ok) => return Some(sub.resource.filename),
            Ok(Flow::Declined) => {}
            Err(_) => return None,
        }
    }
    core::translate(&mut sub).ok().map(|_| sub.resource.filename)
}
