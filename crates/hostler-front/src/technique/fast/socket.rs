//! Programs at sockets and other servers on the fast path: what they are told is made of a request that stands in for the
//! client's one ([`Request::standing_in`]), by the same code that tells them of any other, and a plain answer goes to the
//! client without any tables.

use crate::hook::registry::Later;
use crate::io::body::Body;
use crate::request::flow::Halt;
use crate::request::{Request, settings};
use crate::values::table::Table;
use crate::values::text;
use bytes::Bytes;
use hostler_http1::framing::is_hop_by_hop;
use hostler_http1::response::{self, field};
use smallvec::SmallVec;
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

/// The source of responses for a URL over a socket.
pub(crate) trait SocketWay {
    /// Asks; `None`: that is for the slow path ([`Self::respond_slowly`]).
    fn ask(&self, request: &Request) -> Option<Box<dyn SocketAnswer>>;

    /// Returns whether the program hears of a client that leaves, so that its request is not served to its end.
    fn ends_with_client(&self) -> bool {
        false
    }

    /// The slow path's handler.
    fn respond_slowly<'a>(&self, request: &'a mut Request) -> Later<'a, Result<Body, Halt>>;
}

/// An answer that comes over a socket.
pub(crate) trait SocketAnswer {
    /// Ready when all of it has come (`true`), or what has come is for the slow path (`false`).
    fn poll_whole(&mut self, context: &mut Context<'_>) -> Poll<bool>;

    /// Returns the complete response, if it has only fields and a body.
    fn plain(&self) -> Option<PlainAnswer<'_>>;

    /// It has been taken.
    fn end(self: Box<Self>);

    /// Goes on by the slow path.
    fn go_on(self: Box<Self>, request: &mut Request) -> Later<'_, Result<Body, Halt>>;
}

/// An answer with the status 200.
#[derive(Default)]
pub(crate) struct PlainAnswer<'a> {
    /// Its fields, without those about the connection, the type and the length.
    pub(crate) fields: SmallVec<[(&'a [u8], &'a [u8]); 12]>,
    pub(crate) content_type: Option<&'a [u8]>,
    pub(crate) body: Bytes,
}

/// A field that the slow path has something to say about.
fn is_special(name: &[u8]) -> bool {
    is_hop_by_hop(name) || name.eq_ignore_ascii_case(b"Content-Range")
}

impl<'a> PlainAnswer<'a> {
    /// Adds a field as it has come; `None`: it makes the answer one for the slow path.
    pub(crate) fn add(&mut self, name: &'a [u8], value: &'a [u8]) -> Option<()> {
        if name.eq_ignore_ascii_case(b"content-type") {
            // Which of several counts is the tables' business.
            return self.content_type.replace(value).is_none().then_some(());
        }
        if !name.eq_ignore_ascii_case(b"content-length") {
            self.fields.push((name, value));
        }
        Some(())
    }

    /// Writes the head but for what is about the connection; `None`: it is not plain.
    pub(super) fn write_head(
        &self,
        out: &mut Vec<u8>,
        remembered: &Request,
        received: SystemTime,
    ) -> Option<()> {
        let own = |wanted: &[u8]| self.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        match own(b"date") {
            Some((_, date)) => field(out, b"Date", date),
            None => {
                let seconds = received.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
                field(out, b"Date", &text::http_date(seconds as i64));
            }
        }
        let product = settings::product(&remembered.server).as_bytes();
        field(out, b"Server", own(b"server").map_or(product, |(_, server)| server));
        let mut varies = false;
        for (name, value) in &self.fields {
            if is_special(name) || response::check(name, value).is_err() {
                return None;
            }
            // They are there already, as on the slow path.
            if name.eq_ignore_ascii_case(b"date") || name.eq_ignore_ascii_case(b"server") {
                continue;
            }
            if name.eq_ignore_ascii_case(b"vary")
                && (std::mem::replace(&mut varies, true) || value.contains(&b','))
            {
                return None;
            }
            field(out, name, value);
        }
        if let Some(content_type) = self.content_type {
            response::check(b"Content-Type", content_type).ok()?;
            field(out, b"Content-Type", content_type);
        }
        field(out, b"Content-Length", text::decimal(self.body.len() as u64).as_bytes());
        Some(())
    }

    /// The fields for the access log.
    pub(super) fn logged_fields(&self) -> Table {
        let mut table = Table::with_capacity(self.fields.len() + 1);
        for (name, value) in &self.fields {
            table.add(Bytes::copy_from_slice(name), Bytes::copy_from_slice(value));
        }
        if let Some(content_type) = self.content_type {
            table.set("Content-Type", Bytes::copy_from_slice(content_type));
        }
        table
    }
}
