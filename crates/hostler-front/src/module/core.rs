//! Apache's core: the walk to a file, types, files as they are, methods, ranges; and two small modules that depend on
//! nothing else.

pub(crate) mod digest;
pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod htaccess;
pub(crate) mod options;
pub(crate) mod range;
pub(crate) mod source;
pub(crate) mod types;
pub(crate) mod walk;

use crate::hook::phases::Phase;
use crate::hook::registry::{Change, Effect, Filter, Handler, Hook, Module, Run, Stage};
use crate::log::{self, Severity};
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::{FileEntry, Origin, Request, names, settings};
use bytes::Bytes;

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::PostRead,
            after: &["setenvif"],
            before: &[],
            when: |request| request.origin == Origin::Client && request.target.headers_in.contains("Expect"),
            effect: Effect::Decides,
            run: Run::Now(|request| options::check_expectation(request).map(|()| Flow::Ok)),
        },
        Hook {
            phase: Phase::Translate,
            after: &[],
            before: &[],
            when: |_| true,
            effect: Effect::Decides,
            run: Run::Now(translate),
        },
        Hook {
            phase: Phase::MapToStorage,
            after: &["perl"],
            before: &[],
            when: |_| true,
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(map(request))),
        },
        Hook {
            phase: Phase::Type,
            after: &[],
            before: &[],
            when: |request| !request.is_typed,
            effect: Effect::Notes,
            run: Run::Now(|request| {
                types::check(request);
                Ok(Flow::Ok)
            }),
        },
        Hook {
            phase: Phase::Handler,
            after: &[],
            before: &[],
            when: |request| &*request.target.uri == b"*" || &*request.target.method == b"TRACE",
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(without_file(request))),
        },
    ],
    handlers: &[Handler {
        names: &["default-handler"],
        types: &[],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(file::handle(request)),
    }],
    filters: &[Filter {
        stage: Stage::Transfer,
        after: &[],
        sees_errors: false,
        when: |request| request.reply.status == 200 && request.target.headers_in.contains("Range"),
        run: Change::Now(range::apply),
    }],
    // Conditions may look at anything.
    ..Module::new("core", |request| !request.resource.dir.core.ifs.is_empty())
};

/// Names of addresses: HostnameLookups, UseCanonicalName DNS.
pub(crate) static NAMES: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::PostRead,
            after: &[],
            before: &[],
            when: |request| request.is_read_anew() && names::are_wanted(&request.resource.dir),
            effect: Effect::Notes,
            run: Run::Later(|request| Box::pin(look_up_names(request))),
        },
        Hook {
            phase: Phase::PostPerDirConfig,
            after: &[],
            before: &[],
            when: |request| names::are_wanted(&request.resource.dir),
            effect: Effect::Notes,
            run: Run::Later(|request| Box::pin(look_up_names(request))),
        },
    ],
    ..Module::new("names", |request| names::are_wanted(&request.resource.dir))
};

/// `AllowMethods` (mod_allowmethods).
pub(crate) static ALLOWMETHODS: Module = Module {
    hooks: &[Hook {
        phase: Phase::Access,
        after: &[],
        before: &["perl"],
        when: |request| request.resource.dir.core.allow_methods.is_some(),
        effect: Effect::Decides,
        run: Run::Now(allow_methods),
    }],
    ..Module::new("allowmethods", |request| request.resource.dir.core.allow_methods.is_some())
};

/// DocumentRoot, for what nobody else has found a file name for.
pub(crate) fn translate(request: &mut Request) -> Outcome {
    if &*request.target.uri == b"*" {
        return Ok(Flow::Declined);
    }
    if request.target.uri.first() != Some(&b'/') {
        log::request(request, Severity::Error, "core", "the URI of the request is invalid");
        return Err(Halt::Status(400));
    }
    let root = settings::document_root(&request.server).trim_end_matches('/').as_bytes();
    request.resource.filename = [root, &request.target.uri].concat();
    Ok(Flow::Ok)
}

/// The walk to the file.
async fn map(request: &mut Request) -> Outcome {
    request.resource.path_info.clear();
    request.resource.found = FileEntry::Nothing;
    walk::run(request).await.map(|()| Flow::Ok)
}

/// Answers what is about no file.
async fn without_file(request: &mut Request) -> Outcome {
    let body =
        if &*request.target.uri == b"*" { options::star(request) } else { options::trace(request).await };
    Err(body.map_or_else(|halt| halt, Halt::Done))
}

async fn look_up_names(request: &mut Request) -> Outcome {
    names::look_up(request).await;
    Ok(Flow::Ok)
}

/// GET and HEAD are one method to Apache, in the list and in the request.
fn as_listed(method: &[u8]) -> &[u8] {
    if method == b"HEAD" { b"GET" } else { method }
}

fn allow_methods(request: &mut Request) -> Outcome {
    let Some(methods) = &request.resource.dir.core.allow_methods else { return Ok(Flow::Declined) };
    let method = as_listed(&request.target.method);
    if methods.is_empty() || methods.iter().any(|listed| as_listed(listed.as_bytes()) == method) {
        return Ok(Flow::Ok);
    }
    request.reply.headers_out.set("Allow", Bytes::from(methods.join(",")));
    Err(Halt::Status(405))
}
