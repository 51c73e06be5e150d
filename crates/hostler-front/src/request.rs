//! A request on its way through the phases; Apache's `request_rec` in what it knows.
//!
//! An internal redirect makes a new request that remembers the old one (`prev`); a sub-request (SSI include,
//! lookups) is a request that knows how deep it is.

mod certificate_extensions;
pub(crate) mod certificate_facts;
mod client;
pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod expr_host;
pub(crate) mod flow;
pub(crate) mod id;
pub(crate) mod looks;
pub(crate) mod merge;
pub(crate) mod methods;
pub(crate) mod names;
mod related;
pub(crate) mod reply;
mod resource;
pub(crate) mod settings;
pub(crate) mod slots;
pub(crate) mod ssl_lookup;
mod target;
pub(crate) mod thread;
pub(crate) mod tls_facts;
pub(crate) mod trailers;
pub(crate) mod variables;
pub(crate) mod vhost;

use crate::io::body::RequestBody;
use crate::io::early;
use crate::request::connection::Peer;
use crate::request::slots::Slots;
use crate::request::thread::Thread;
use crate::site::files::Site;
use crate::values::table::Table;
use crate::values::text;
use bytes::Bytes;
use hostler_config::Server;
use hostler_http1::framing::{has_token, is_hop_by_hop};
use hostler_http1::head::{self, Head};
use hostler_wire::plan::SiteId;
use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

pub(crate) use client::Client;
pub(crate) use reply::Reply;
pub(crate) use resource::{FileEntry, Resource};
pub(crate) use target::Target;

/// Why a request exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A client sent it.
    Client,
    /// An internal redirect: ErrorDocument, DirectoryIndex, Action, a script's Location.
    Redirect,
    /// Part of another request's answer, or a question about a URL; this deep.
    Sub(u8),
}

/// A request.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) thread: Rc<Thread>,
    pub(crate) server: Arc<Server>,
    pub(crate) origin: Origin,
    /// The cost allowed for it, including all that is done on its behalf.
    pub(crate) budget: Rc<crate::limits::budget::Budget>,
    /// Unique within the front's life; with it errors on the page and in the logs find each other.
    pub(crate) number: u64,

    pub(crate) client: Client,
    pub(crate) target: Target,
    pub(crate) resource: Resource,
    pub(crate) reply: Reply,

    /// `subprocess_env`.
    pub(crate) env: Table,
    pub(crate) notes: Table,
    pub(crate) user: Option<Bytes>,
    pub(crate) auth_type: Option<Bytes>,
    /// The modules' data about it.
    pub(crate) slots: Slots,

    /// It is counted among its site's requests that are being answered.
    pub(crate) busy: Option<Rc<crate::limits::clients::Busy>>,
    /// Refused without being served because of too many others: nothing is wrong with it, nor with its connection.
    pub(crate) is_refused: bool,
    /// All access rules have let it pass.
    pub(crate) is_checked: bool,
    /// The type of its file was determined before the phase for that.
    pub(crate) is_typed: bool,
    /// All that was looked up so far stays true while the site's epoch is [`Request::epoch`].
    pub(crate) lasting: bool,
    /// The differences between clients that modules have looked at.
    pub(crate) looks: looks::Looks,
    /// The phases before its handler, and nothing else, have led to the request that goes on in its place.
    pub(crate) is_led_on: bool,
    /// The site whose files were looked at, and its epoch when the first of them was.
    pub(crate) epoch: Cell<Option<(SiteId, u64)>>,

    /// The request that was redirected to this one.
    pub(crate) prev: Option<Box<Request>>,
    /// Sub-requests: names of environment variables start from the parent's.
    pub(crate) redirects: u32,
    /// Workers of warm pools that wait for its answer, which is a part of theirs.
    pub(crate) waiting_workers: u32,
    /// The request that it is a part of, as far as a worker is to be told of it.
    pub(crate) main: Option<Rc<Request>>,
    /// The request that has gone on in its place and was answered, for what is done after that.
    pub(crate) next: Option<Rc<Request>>,
}

impl Request {
    /// A client's request over HTTP/1; `buffer` is its head.
    pub(crate) fn from_http1(
        thread: &Rc<Thread>,
        peer: &Rc<Peer>,
        buffer: &Bytes,
        head: &Head,
        body: RequestBody,
    ) -> Self {
        let slice = |span: head::Span| buffer.slice(span.start as usize..span.end as usize);
        let mut request = Self::new(thread, peer);
        request.target.headers_in = Table::with_capacity(head.fields.len());
        for field in &head.fields {
            let value: Bytes =
                if field.folded { head::unfold(field.value.of(buffer)).into() } else { slice(field.value) };
            request.receive(slice(field.name), &value);
        }
        request.client.line = slice(head.line);
        request.target.method = slice(head.method);
        request.client.target = slice(head.target);
        request.client.version = head.version;
        if head.field(buffer, "transfer-encoding").is_some() {
            // The coding counts, whatever length came with it (RFC 9112 §6.3).
            request.target.headers_in.unset("Content-Length");
        }
        request.target.body = body;
        request
    }

    /// A field as it comes. Several of a name are one list (RFC 9110 §5.3).
    pub(crate) fn receive(&mut self, name: Bytes, value: &Bytes) {
        let Some((name, before)) = self.target.headers_in.merge(name, value) else { return };
        if !self.target.repeated_in.contains(&name) {
            self.target.repeated_in.add(name.clone(), before);
        }
        self.target.repeated_in.add(name, value.clone());
    }

    /// Adds the trailers of the body to the request's fields, where `MergeTrailers` is on.
    pub(crate) fn merge_trailers(&mut self) {
        self.client.trailers.merge(&self.server, &mut self.target.headers_in);
    }

    /// A request of which nothing is known yet.
    pub(crate) fn new(thread: &Rc<Thread>, peer: &Rc<Peer>) -> Self {
        Self::of(thread, Client::new(peer))
    }

    /// A request of this client's, of which nothing else is known.
    fn of(thread: &Rc<Thread>, client: Client) -> Self {
        let server = client.peer.hosts.default_server().clone();
        Self {
            thread: thread.clone(),
            origin: Origin::Client,
            budget: Rc::default(),
            number: thread.next_request(),
            client,
            target: Target::default(),
            resource: Resource::new(server.defaults.clone()),
            reply: Reply::default(),
            server,
            env: Table::default(),
            notes: Table::default(),
            user: None,
            auth_type: None,
            slots: Slots::default(),
            busy: None,
            is_refused: false,
            is_checked: false,
            is_typed: false,
            lasting: true,
            is_led_on: false,
            looks: looks::Looks::NOTHING,
            epoch: Cell::default(),
            prev: None,
            redirects: 0,
            main: None,
            next: None,
            waiting_workers: 0,
        }
    }

    /// The request's site, where a file is to be looked at: what is found there holds for the site's epoch of now, at most.
    pub(crate) fn site(&self) -> Rc<Site> {
        let site = self.thread.site(&self.server);
        if self.epoch.get().is_none() {
            self.epoch.set(Some((site.id, site.epoch())));
        }
        site
    }

    /// Returns whether all files that were looked at are this site's, and it has had this epoch since; also for those
    /// that it goes on for.
    pub(crate) fn holds_for(&self, site: &Site, epoch: u64) -> bool {
        self.chain().all(|request| request.epoch.get().is_none_or(|looked_at| looked_at == (site.id, epoch)))
    }

    /// Sets path and query from an already escaped local target.
    pub(crate) fn set_local_target(&mut self, target: &[u8]) {
        let (path, query) = text::split(target);
        self.target.uri = path.to_vec();
        self.target.args = query.map(Bytes::copy_from_slice);
    }

    /// Returns its depth as a sub-request; 0: it is none.
    pub(crate) fn depth(&self) -> u8 {
        if let Origin::Sub(depth) = self.origin { depth } else { 0 }
    }

    pub(crate) fn is_sub(&self) -> bool {
        self.depth() > 0
    }

    /// Returns whether the hooks of [`Phase::PostRead`](crate::hook::phases::Phase::PostRead) run for it: a client's
    /// request, and each one that goes on after an internal redirect, in a sub-request too
    /// (`internal_internal_redirect`). A sub-request itself starts with its parent's variables instead.
    pub(crate) fn is_read_anew(&self) -> bool {
        !self.is_sub() || self.prev.is_some()
    }

    /// Returns whether its answer is a part of another's, also where that is made as if it were one of its own.
    pub(crate) fn is_part(&self) -> bool {
        self.is_sub() || self.slots.are_part() || self.main.is_some()
    }

    pub(crate) fn is_head(&self) -> bool {
        &*self.target.method == b"HEAD"
    }

    /// GET or HEAD, which Apache takes for the same method.
    pub(crate) fn is_get(&self) -> bool {
        matches!(&*self.target.method, b"GET" | b"HEAD")
    }

    /// The request that the client sent.
    pub(crate) fn original(&self) -> &Self {
        self.chain().last().unwrap_or(self)
    }

    /// The request, and those that it goes on for, the client's last.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |request| request.prev.as_deref())
    }

    /// Sends an interim response ahead of the answer, where the client's protocol knows such (RFC 9110 §15.2). Fields about
    /// the connection or the length of a body are left out: they would change how the client reads what follows (RFC 9110
    /// §7.6.1, §8.6).
    pub(crate) fn tell_early<'a>(
        &self,
        status: u16,
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    ) {
        let early = self.reply.early.as_ref().filter(|_| !self.is_part()).and_then(Weak::upgrade);
        let Some(early) = early else { return };
        let all = fields.clone();
        let is_named = |name: &[u8]| {
            let mut connection = all.clone().filter(|(known, _)| known.eq_ignore_ascii_case(b"connection"));
            connection.any(|(_, value)| has_token(value, name))
        };
        let is_framing = |name: &[u8]| is_hop_by_hop(name) || name.eq_ignore_ascii_case(b"content-length");
        let may_pass =
            |(name, value): &(&[u8], &[u8])| !(is_framing(name) || is_named(name) || value.contains(&b'\n'));
        early.tell(&early::head(status, fields.filter(may_pass)));
    }

    /// The whole answer is made by what hears of a client that leaves ([`Budget::end_with_client`](crate::limits::budget::Budget)).
    pub(crate) fn end_with_client(&self) {
        if !self.is_part() {
            self.budget.end_with_client();
        }
    }

    /// The file's last path segment.
    pub(crate) fn basename(&self) -> &[u8] {
        let start = self.resource.filename.iter().rposition(|&b| b == b'/').map_or(0, |n| n + 1);
        &self.resource.filename[start..]
    }

    /// `ap_http_scheme`: `https` also where ServerName says that TLS ends elsewhere.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.is_https() { "https" } else { "http" }
    }

    fn is_https(&self) -> bool {
        self.client.peer.tls.is_some() || self.server.canonical.is_https
    }

    /// The port that URLs of its scheme have without one (`ap_default_port`).
    pub(crate) fn default_port(&self) -> u16 {
        if self.is_https() { 443 } else { 80 }
    }

    /// Notes in `Vary` that the answer depends on this request header.
    pub(crate) fn vary(&mut self, header: &[u8]) {
        let there = self.reply.headers_out.all(b"Vary").any(|v| hostler_http1::framing::has_token(v, header));
        if !there {
            self.reply.headers_out.merge("Vary", &Bytes::copy_from_slice(header));
        }
    }

    /// A value of the request's header as text, if it is there once.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.target.headers_in.find(name).map(|v| &**v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is moved and copied; whoever adds to it gives something up, or has a reason: what comes behind a body is known to who reads
    /// it, and told by the log.
    #[test]
    fn a_request_does_not_grow() {
        assert!(size_of::<Request>() <= 1104, "{}", size_of::<Request>());
    }
}
