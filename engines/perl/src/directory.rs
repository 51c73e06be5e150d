//! Configuration for requests: decoded once, kept for C as long as the worker lives.
//!
//! Never freed: the glue caches what it makes of it, and requests may still refer to a directory that was defined
//! anew. A worker sees few of them, and ends some day.

use hostler_perl_frames as frames;
use hostler_wire::work;
use std::ptr::null_mut;

use crate::ffi::{Directory, Field, Fields, PHASES, Str};

/// Decodes one.
pub(crate) fn define(directory: &work::Directory<'_>) -> Option<*mut Directory> {
    let directory = frames::Directory::decode(directory).ok()?;
    Some(Box::into_raw(Box::new(keep(directory))))
}

fn keep(directory: frames::Directory) -> Directory {
    let directory: &'static frames::Directory = Box::leak(Box::new(directory));
    let mut kept = Directory {
        flags: directory.flags,
        handlers: [std::ptr::null(); PHASES],
        handler_count: [0; PHASES],
        vars: pairs(&directory.vars),
        env: pairs(&directory.env),
        allow_options: directory.allow_options,
        location: optional(directory.location.as_deref()),
        auth_name: optional(directory.auth_name.as_deref()),
        auth_type: optional(directory.auth_type.as_deref()),
        requires: list(&directory.requires).as_ptr(),
        require_count: directory.requires.len(),
        satisfy_any: directory.satisfy_any.into(),
        overrides: directory.overrides,
        override_options: directory.override_options,
        psgi_app: optional(directory.psgi_app.as_deref()),
        signature: Str::new(directory.signature.as_bytes()),
        server: directory.server,
        limit_request_body: directory.limit_request_body,
        default_charset: optional(directory.default_charset.as_deref()),
        layers: optional(directory.layers.as_deref()),
        cache: null_mut(),
    };
    for (phase, handlers) in &directory.handlers {
        kept.handlers[*phase as usize] = list(handlers).as_ptr();
        kept.handler_count[*phase as usize] = handlers.len();
    }
    kept
}

fn optional(text: Option<&str>) -> Str {
    Str::optional(text.map(str::as_bytes))
}

/// Strings for C, kept for ever; the strings themselves must be.
pub(crate) fn list(texts: &'static [String]) -> &'static [Str] {
    Box::leak(texts.iter().map(|text| Str::new(text.as_bytes())).collect())
}

/// Names and values for C, kept for ever; the strings themselves must be.
pub(crate) fn pairs(pairs: &'static [(String, String)]) -> Fields {
    let field = |(name, value): &'static (String, String)| Field {
        name: Str::new(name.as_bytes()),
        value: Str::new(value.as_bytes()),
    };
    Fields::new(Box::leak(pairs.iter().map(field).collect()))
}
