//! Targets of `include virtual` that are the same plain file for every request, remembered: most includes are of
//! that kind, and a page may have many.

use crate::hook::plan::plan;
use crate::io::body::Body;
use crate::module::auth;
use crate::request::looks::Looks;
use crate::request::{FileEntry, Request};
use crate::site::files::Site;
use bytes::Bytes;
use hashbrown::HashMap;
use hostler_config::directives::core::Setting;
use std::cell::{Cell, RefCell};

/// Targets remembered per thread; beyond, the memory is emptied.
const MOST: usize = 4096;

/// True if a target's content may be shown, as long as nothing in its site changes.
struct Plain {
    epoch: u64,
    content: Bytes,
    /// Its media type is `text/…` or unknown, as `IncludesNOEXEC` asks.
    is_text: bool,
}

/// Bytes that they may have together.
const MOST_BYTES: usize = 16 << 20;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static KNOWN: RefCell<HashMap<Box<[u8]>, Plain, foldhash::fast::RandomState>> = RefCell::default();
}

/// Names a target: the virtual host and the URL.
pub(super) fn key(server: u32, base: &[u8], target: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&server.to_ne_bytes());
    out.extend_from_slice(base);
    out.extend_from_slice(target);
}

/// Appends the target's content, if it is known; false if it isn't.
pub(super) fn include(key: &[u8], site: &Site, text_only: bool, out: &mut Vec<u8>) -> bool {
    KNOWN.with_borrow(|known| {
        let Some(plain) = known.get(key) else { return false };
        let usable = plain.epoch == site.epoch() && (plain.is_text || !text_only);
        if usable {
            out.extend_from_slice(&plain.content);
        }
        usable
    })
}

/// Remembers what a sub-request came to, if it will come to the same for every request.
pub(super) fn remember(key: &[u8], site: &Site, sub: &Request, body: &Body) {
    let Body::Bytes(content) = body else { return };
    let epoch = site.epoch();
    if !is_plain(sub) || !sub.holds_for(site, epoch) {
        return;
    }
    let is_text = sub.resource.content_type.as_deref().is_none_or(|kind| kind.starts_with(b"text/"));
    KNOWN.with_borrow_mut(|known| {
        let bytes = BYTES.get() + content.len();
        let full = known.len() >= MOST || bytes > MOST_BYTES;
        if full {
            known.clear();
        }
        BYTES.set(if full { content.len() } else { bytes });
        known.insert(key.into(), Plain { epoch, content: content.clone(), is_text });
    });
}

/// Returns whether nothing but the URL and the files decided what the sub-request came to.
fn is_plain(sub: &Request) -> bool {
    let core = &sub.resource.dir.core;
    let by_expression = |setting: &Option<Setting>| matches!(setting, Some(Setting::Expr(_)));
    sub.lasting
        && sub.looks.are_among(Looks::NOTHING)
        && matches!(&sub.resource.found, FileEntry::File(_, Ok(_)))
        && sub.prev.is_none()
        && sub.reply.status == 200
        && sub.resource.path_info.is_empty()
        && matches!(sub.resource.handler.as_deref(), None | Some(b"default-handler"))
        && core.ifs.is_empty()
        && !by_expression(&core.handler)
        && !by_expression(&core.force_type)
        && !sub.resource.dir.alias.is_set()
        && auth::is_open(sub)
        && !plan().a_program_has_say(sub)
}
