//! A worker's messages about the request, applied to it.
//!
//! Values are pieces of the message that they came in: nothing is copied but what is changed.

use crate::request::Request;
use crate::technique::reply::{table, withdraw_connection};
use crate::values::table::Table;
use bytes::Bytes;
use hostler_perl_frames as frames;

/// The phases' changes to a request.
pub(crate) struct Changes {
    status: u16,
    method: Bytes,
    uri: Bytes,
    args: Option<Bytes>,
    filename: Bytes,
    path_info: Bytes,
    user: Option<Bytes>,
    auth_type: Option<Bytes>,
    handler: Option<Bytes>,
    content_type: Option<Bytes>,
    custom_responses: Vec<(u16, Bytes)>,
    headers_in: Table,
    headers_out: Table,
    err_headers_out: Table,
    env: Table,
    notes: Table,
}

impl Changes {
    /// `message` is what `changes` was decoded from.
    pub(super) fn of(message: &Bytes, changes: &frames::Changes<'_>) -> Self {
        let piece = |text: &[u8]| message.slice_ref(text);
        let custom = changes.custom_responses.iter().filter_map(|(status, text)| {
            let status: u16 = std::str::from_utf8(status).ok()?.parse().ok()?;
            (100..1000).contains(&status).then(|| (status, piece(text)))
        });
        Self {
            status: changes.status,
            method: piece(changes.method),
            uri: piece(changes.uri),
            args: changes.args.map(piece),
            filename: piece(changes.filename),
            path_info: piece(changes.path_info),
            user: changes.user.map(piece),
            auth_type: changes.ap_auth_type.map(piece),
            handler: changes.handler.map(piece),
            content_type: changes.content_type.map(piece),
            custom_responses: custom.collect(),
            headers_in: table(message, &changes.headers_in),
            headers_out: table(message, &changes.headers_out),
            err_headers_out: table(message, &changes.err_headers_out),
            env: table(message, &changes.subprocess_env),
            notes: table(message, &changes.notes),
        }
    }

    /// Carries them out. What stands at another file name must be looked up by whoever needs it.
    pub(super) fn apply(self, request: &mut Request) {
        if self.status >= 200 {
            request.reply.status = self.status;
        }
        if !self.method.is_empty() {
            request.target.method = self.method;
        }
        if !self.uri.is_empty() {
            request.target.uri = self.uri.to_vec();
        }
        request.target.args = self.args;
        request.resource.filename = self.filename.to_vec();
        request.resource.path_info = self.path_info.to_vec();
        request.user = self.user;
        request.auth_type = self.auth_type;
        request.resource.handler = self.handler;
        request.resource.content_type = self.content_type;
        for (status, text) in self.custom_responses {
            request.reply.custom_responses.retain(|(known, _)| *known != status);
            request.reply.custom_responses.push((status, text));
        }
        request.target.take_fields(self.headers_in);
        request.reply.headers_out = self.headers_out;
        request.reply.err_headers_out = self.err_headers_out;
        request.env = self.env;
        request.notes = self.notes;
        withdraw_connection(&mut request.reply.headers_out, &mut request.notes);
        withdraw_connection(&mut request.reply.err_headers_out, &mut request.notes);
    }

    /// Applies the changes that the access log shows, for a response that has been sent.
    pub(crate) fn apply_to_log(self, request: &mut Request) {
        request.user = self.user;
        request.auth_type = self.auth_type;
        request.env = self.env;
        request.notes = self.notes;
    }
}
