//! Requests that come to stand beside another one: the one that goes on in its place, a part of its answer, what the log
//! needs of it, and those that need not go the way again. What of the other each of them has is decided here, field by
//! field, and in the slots of modules.

use crate::io::body::RequestBody;
use crate::request::connection::Peer;
use crate::request::slots::Relation;
use crate::request::{Origin, Request};
use crate::values::text;
use bytes::Bytes;
use hostler_http1::head::{Head, Span};
use std::rc::Rc;
use std::time::{Instant, SystemTime};

/// Conditional fields, which a sub-request's response does not depend on.
const CONDITIONS: [&str; 6] =
    ["If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Range"];

/// Fields about a body.
const BODY_FIELDS: [&str; 6] = [
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-Type",
    "Transfer-Encoding",
];

impl Request {
    /// Returns a copy with only the facts that error log lines need.
    pub(crate) fn for_log(&self) -> Self {
        let mut known = Self::of(&self.thread, self.client.clone());
        known.server = self.server.clone();
        known.resource.dir = self.resource.dir.clone();
        known.number = self.number;
        known.target.method = self.target.method.clone();
        known.target.uri.clone_from(&self.target.uri);
        known.resource.filename.clone_from(&self.resource.filename);
        if let Some(referer) = self.target.headers_in.find("Referer") {
            known.target.headers_in.set("Referer", referer.clone());
        }
        known
    }

    /// An internal redirect (RFC 3875 §6.2.2, ErrorDocument, Action): this request goes on as another, with
    /// `method`, and with the body only if that is the same. Environment variables get `REDIRECT_` before their name.
    pub(crate) fn redirected(self, method: Bytes, target: &[u8]) -> Self {
        let mut next = Self::of(&self.thread, self.client.clone());
        next.carry_over(&self);
        next.origin = if let Origin::Sub(n) = self.origin { Origin::Sub(n) } else { Origin::Redirect };
        next.target.method = method;
        // An error's document is sent with the error's status.
        next.reply.status = self.reply.status;
        next.reply.is_uncacheable = self.reply.is_uncacheable;
        next.target.headers_in = self.target.headers_in.clone();
        next.target.repeated_in = self.target.repeated_in.clone();
        // Action and FallbackResource hand a POST on as it is; all others ask anew, with GET.
        if next.target.method == self.target.method && !self.is_get() {
            next.target.body = self.target.body.clone();
        }
        next.reply.err_headers_out = self.reply.err_headers_out.clone();
        // The page of a redirection (`ErrorDocument 302`) goes with that one's target.
        let location = self.reply.headers_out.find("Location").filter(|_| self.reply.is_redirection());
        if let Some(location) = location {
            next.reply.headers_out.set("Location", location.clone());
        }
        // What has led here depends on these fields, whatever comes of it.
        for fields in self.reply.headers_out.all(b"Vary") {
            next.reply.headers_out.merge("Vary", fields);
        }
        next.redirects = self.redirects + 1;
        next.slots = self.slots.related(&self, Relation::Redirect);
        next.main.clone_from(&self.main);
        for (name, value) in self.env.iter() {
            let mut renamed = Vec::with_capacity(name.len() + 9);
            renamed.extend_from_slice(b"REDIRECT_");
            renamed.extend_from_slice(name);
            // Names that differ are different with a prefix, too.
            next.env.add(renamed, value.clone());
        }
        let status = text::decimal(u64::from(self.reply.status)).as_bytes().to_vec();
        next.env.set(Bytes::from_static(b"REDIRECT_STATUS"), status);
        next.set_local_target(target);
        next.prev = Some(Box::new(self));
        next
    }

    /// A request about a URL on this server, as part of this one's answer.
    pub(crate) fn sub(&self, target: &[u8]) -> Self {
        let mut next = Self::of(&self.thread, self.client.clone());
        next.carry_over(self);
        // What comes behind the bodies of others says nothing of the client's.
        next.client.trailers = Rc::default();
        next.origin = Origin::Sub(self.depth().saturating_add(1));
        next.target.method = Bytes::from_static(b"GET");
        next.target.headers_in = self.target.headers_in.clone();
        for name in CONDITIONS {
            next.target.headers_in.unset(name);
        }
        match self.target.body.again() {
            // A kept body belongs to sub-requests too, and has a length however it came.
            Some(body) => {
                let length = text::decimal(body.len() as u64).as_bytes().to_vec();
                next.target.headers_in.set("Content-Length", length);
                next.target.body = RequestBody::kept(body);
            }
            None => BODY_FIELDS.iter().for_each(|name| next.target.headers_in.unset(*name)),
        }
        next.user.clone_from(&self.user);
        next.auth_type.clone_from(&self.auth_type);
        next.env = self.env.clone();
        next.redirects = self.redirects;
        next.slots = self.slots.related(self, Relation::Sub);
        next.set_local_target(target);
        next
    }

    fn carry_over(&mut self, from: &Self) {
        self.server = from.server.clone();
        self.resource.dir = from.server.defaults.clone();
        self.budget = from.budget.clone();
        self.waiting_workers = from.waiting_workers;
        self.number = from.number;
    }

    /// Goes on as the request for an index file that was looked up (`ap_internal_fast_redirect`).
    pub(crate) fn absorb(&mut self, sub: Self) {
        self.target.uri = sub.target.uri;
        self.target.args = sub.target.args;
        self.slots.absorb(sub.slots);
        // What has mapped the URL that was asked for goes on to be told (CONTEXT_PREFIX).
        let mapped = std::mem::replace(&mut self.resource, sub.resource);
        self.resource.context_prefix = mapped.context_prefix;
        self.resource.context_document_root = mapped.context_document_root;
        self.reply.filters = sub.reply.filters;
        self.env = sub.env;
        self.user = sub.user.or(self.user.take());
        self.auth_type = sub.auth_type.or(self.auth_type.take());
        for (name, value) in sub.notes.iter() {
            self.notes.set(name.clone(), value.clone());
        }
        for (name, value) in sub.reply.headers_out.iter() {
            self.reply.headers_out.set(name.clone(), value.clone());
        }
        for (name, value) in sub.reply.err_headers_out.iter() {
            self.reply.err_headers_out.set(name.clone(), value.clone());
        }
    }

    /// The request as the phases would leave it that came as this one, and for which they come to the same as for `earlier`.
    /// `with_query`: the earlier one had the same query.
    pub(crate) fn resumed(mut self, earlier: &Self, with_query: bool) -> Self {
        if let Some(before) = &earlier.prev {
            let before = self.resumed(before, with_query);
            self = before.redirected(earlier.target.method.clone(), &earlier.target.uri);
        }
        self.resume(earlier);
        self.target.args = if with_query {
            earlier.target.args.clone()
        } else {
            text::split(&self.client.target).1.map(|args| self.client.target.slice_ref(args))
        };
        self
    }

    /// Stands in for a client's request over HTTP/1 for the same URL, which has no body and each field once, for as long as it
    /// is looked at. Nothing of that request is kept. `with_query`: this one has the same query.
    pub(crate) fn standing_in<R>(
        &mut self,
        (peer, buffer, head): (&Rc<Peer>, &Bytes, &Head),
        (received, started, number): (SystemTime, Instant, u64),
        with_query: bool,
        look: impl FnOnce(&Self) -> R,
    ) -> R {
        let slice = |span: Span| buffer.slice(span.start as usize..span.end as usize);
        for field in &head.fields {
            self.target.headers_in.add(slice(field.name), slice(field.value));
        }
        let own = std::mem::replace(&mut self.client.peer, peer.clone());
        (self.client.received, self.client.started, self.number) = (received, started, number);
        (self.client.line, self.client.target) = (slice(head.line), slice(head.target));
        self.client.version = head.version;
        if !with_query {
            self.target.args =
                text::split(&self.client.target).1.map(|args| self.client.target.slice_ref(args));
        }
        let seen = look(self);
        self.client.peer = own;
        self.target.headers_in.clear();
        (self.client.line, self.client.target) = (Bytes::new(), Bytes::new());
        if !with_query {
            self.target.args = None;
        }
        seen
    }

    /// Takes over what the phases have come to for an earlier request, for which they come to the same.
    fn resume(&mut self, earlier: &Self) {
        self.server = earlier.server.clone();
        self.target.uri.clone_from(&earlier.target.uri);
        self.client.hostname.clone_from(&earlier.client.hostname);
        self.client.host_port = earlier.client.host_port;
        self.reply.headers_out = earlier.reply.headers_out.clone();
        self.reply.err_headers_out = earlier.reply.err_headers_out.clone();
        self.env = earlier.env.clone();
        self.notes = earlier.notes.clone();
        self.resource = earlier.resource.clone();
        self.reply.filters.clone_from(&earlier.reply.filters);
        self.is_checked = earlier.is_checked;
        self.lasting = earlier.lasting;
        self.looks = earlier.looks;
        self.is_led_on = earlier.is_led_on;
        self.epoch.set(earlier.epoch.get());
    }
}
