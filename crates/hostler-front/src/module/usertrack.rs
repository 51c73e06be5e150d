//! A cookie by which the log tells visitors apart (mod_usertrack): in the note `cookie`.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::request::Request;
use crate::request::flow::Flow;
use crate::values::random;
use bytes::Bytes;
use hostler_config::directives::usertrack::{Dir, Style};
use hostler_sys::time::{Zone, strftime};
use std::time::UNIX_EPOCH;

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Fixup,
        after: &["headers"],
        before: &["negotiation"],
        when: |request| request.resource.dir.usertrack.enabled,
        effect: Effect::Notes,
        run: Run::Now(|request| {
            spot(request);
            Ok(Flow::Ok)
        }),
    }],
    ..Module::new("usertrack", |request| request.resource.dir.usertrack.enabled)
};

/// The note with the cookie's value.
const NOTE: &str = "cookie";

fn spot(request: &mut Request) {
    let dir = request.resource.dir.clone();
    let sent = request.header("Cookie").and_then(|field| value(field, &dir.usertrack.name));
    let known = sent.map(Bytes::copy_from_slice).or_else(|| earlier(request));
    match known {
        Some(value) => request.notes.set(NOTE, value),
        None => give(request, &dir.usertrack),
    }
}

/// The one that was given to this visitor on the way here: a look at an index, or before a redirect.
fn earlier(request: &Request) -> Option<Bytes> {
    let mut all = request.chain().skip(1).chain([request]);
    all.find_map(|request| request.notes.find(NOTE)).cloned()
}

/// The value of a cookie.
fn value<'a>(field: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let cookies = field.split(|&b| b == b';' || b == b',').map(<[u8]>::trim_ascii_start);
    let mut values = cookies.filter_map(|one| one.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    values.find(|value| !value.is_empty())
}

fn give(request: &mut Request, dir: &Dir) {
    let now = request.client.received.duration_since(UNIX_EPOCH).unwrap_or_default();
    let value = format!("{:x}.{:x}", random::number() >> 32, now.as_micros());
    let mut cookie = format!("{}={value}; path=/", dir.name).into_bytes();
    if let Some(seconds) = request.server.conf.usertrack.expires.filter(|seconds| *seconds != 0) {
        if dir.style == Style::Netscape {
            let end = (now.as_secs() as i64).saturating_add(seconds);
            strftime(b"; expires=%a, %d-%b-%y %H:%M:%S GMT", end, Zone::Gmt, &mut cookie);
        } else {
            cookie.extend_from_slice(format!("; max-age={seconds}").as_bytes());
        }
    }
    let mut say = |text: &str| cookie.extend_from_slice(text.as_bytes());
    if let Some(domain) = &dir.domain {
        say("; domain=");
        say(domain);
        say(if dir.style == Style::Cookie2 { "; version=1" } else { "" });
    }
    if let Some(same_site) = dir.same_site {
        say("; SameSite=");
        say(same_site);
    }
    say(if dir.secure { "; Secure" } else { "" });
    say(if dir.http_only { "; HttpOnly" } else { "" });
    let field = if dir.style == Style::Cookie2 { "Set-Cookie2" } else { "Set-Cookie" };
    request.reply.err_headers_out.add(field, cookie);
    request.notes.set(NOTE, value);
}
