//! Expires and Cache-Control by type (mod_expires): for everything but errors, unless the answer says itself when
//! it expires.

use crate::hook::registry::{Change, Filter, Module, Stage};
use crate::request::Request;
use crate::values::text;
use bytes::Bytes;
use std::time::UNIX_EPOCH;

/// Not reusable: the fields depend on the time of the request.
pub(crate) static MODULE: Module = Module {
    filters: &[Filter {
        stage: Stage::Resource,
        after: &["log_debug"],
        // A redirect is no error here.
        sees_errors: true,
        when: |request| request.resource.dir.expires.is_set(),
        run: Change::Now(|request, body| {
            apply(request);
            body
        }),
    }],
    ..Module::new("expires", |request| request.resource.dir.expires.is_set())
};

const SECOND: i64 = 1_000_000;

/// Sets both fields where they are not there yet.
fn apply(request: &mut Request) {
    if !request.resource.dir.expires.is_set() || request.reply.status >= 400 || request.is_sub() {
        return;
    }
    if request.reply.err_headers_out.contains("Expires") || request.reply.headers_out.contains("Expires") {
        return;
    }
    let received =
        request.client.received.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    let Some(expiry) = expiry(request, received) else { return };
    let max_age = Bytes::from(format!("max-age={}", (expiry - received) / SECOND));
    request.reply.headers_out.merge("Cache-Control", &max_age);
    let date = text::http_date(expiry.div_euclid(SECOND));
    request.reply.headers_out.set("Expires", Bytes::copy_from_slice(&date));
}

/// When the answer expires, in microseconds since the epoch.
fn expiry(request: &Request, received: i64) -> Option<i64> {
    let own =
        request.resource.content_type.as_ref().or_else(|| request.reply.headers_out.find("Content-Type"));
    let media_type = own.and_then(|kind| std::str::from_utf8(kind).ok());
    let lifetime = request.resource.dir.expires.lifetime(media_type)?;
    let start = if lifetime.from_modification {
        let info = request.resource.found.info()?;
        info.mtime.saturating_mul(SECOND).saturating_add(i64::from(info.mtime_nsec / 1000))
    } else {
        received
    };
    Some(start.saturating_add(lifetime.seconds.saturating_mul(SECOND)).max(received))
}
