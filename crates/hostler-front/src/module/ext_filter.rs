//! Filters that are programs (mod_ext_filter): which answers and requests they see. Running them is
//! [`crate::module::cgi::filter`]'s.
//!
//! **Diagnostics**: under `ext_filter`; what they write to their error output stands in the ErrorLog as a script's does.

use crate::hook::filter;
use crate::hook::registry::{Input, Module, Name, Output};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::cgi;
use crate::request::Request;
use crate::request::flow::{Continue, Halt};
use bytes::Bytes;
use hostler_config::directives::filter::external::External;
use hostler_config::directives::filter::{Rank, Way};
use std::sync::Arc;

pub(crate) static MODULE: Module = Module {
    outputs: &[Output {
        name: Name::Of(|request, name| rank(request, name, Way::Output)),
        sees_bodiless: false,
        run: |request, body, name| Box::pin(answer(request, body, name)),
    }],
    inputs: &[Input {
        name: Name::Of(|request, name| rank(request, name, Way::Input)),
        run: |request, name| Box::pin(body(request, name)),
    }],
    ..Module::new("ext_filter", |_| false)
};

fn find<'a>(request: &'a Request, name: &[u8]) -> Option<&'a Arc<External>> {
    let name = std::str::from_utf8(name).ok()?;
    request.server.conf.filter.external.get(&*name.to_ascii_lowercase())
}

fn rank(request: &Request, name: &[u8], way: Way) -> Option<Rank> {
    find(request, name).filter(|filter| filter.way == way).map(|filter| filter.rank)
}

/// Returns whether variables and media type let it work.
fn works(request: &Request, filter: &External, kind: Option<&Bytes>) -> bool {
    let is_set = |name: &Option<Box<str>>| name.as_deref().map(|name| request.env.contains(name));
    let is_taken = filter.takes.as_deref().is_none_or(|takes| {
        takes == "*/*"
            || kind.is_some_and(|kind| {
                let end = kind.iter().position(|byte| b"; \t".contains(byte)).unwrap_or(kind.len());
                kind[..end].eq_ignore_ascii_case(takes.as_bytes())
            })
    });
    is_taken && is_set(&filter.enabled_by) != Some(false) && is_set(&filter.disabled_by) != Some(true)
}

async fn answer(request: &mut Request, body: Body, name: Bytes) -> Body {
    let Some(external) = find(request, &name).cloned() else { return body };
    if !works(request, &external, request.resource.content_type.as_ref()) {
        return body;
    }
    let copy = (request.resource.dir.filter.external.on_fail_remove == Some(true))
        .then(|| cgi::filter::copy(&body))
        .flatten();
    let filtered = match cgi::filter::answer(request, &external, body).await {
        Ok(filtered) => filtered,
        Err(error) => {
            let why = error.of(&external.name);
            return match copy {
                Some(copy) => {
                    log::request(request, Severity::Error, "ext_filter", &why);
                    copy
                }
                None => filter::failed(request, "ext_filter", &why),
            };
        }
    };
    if let Some(makes) = &external.makes {
        request.resource.content_type = Some(Bytes::copy_from_slice(makes.as_bytes()));
    }
    if !external.keeps_length {
        request.reply.headers_out.unset("Content-Length");
    }
    // The next one may be another.
    request.lasting = false;
    filtered
}

async fn body(request: &mut Request, name: Bytes) -> Continue {
    let Some(external) = find(request, &name).cloned() else { return Err(Halt::Status(500)) };
    let kind = request.target.headers_in.find("Content-Type").cloned();
    if !works(request, &external, kind.as_ref()) {
        return Ok(());
    }
    cgi::filter::body(request, &external).await.map_err(|error| {
        log::request(request, Severity::Error, "ext_filter", &error.of(&external.name));
        Halt::Status(500)
    })
}
