//! The target of a request: the client's, or that of a redirect or a sub-request.

use crate::io::body::RequestBody;
use crate::values::table::Table;
use bytes::Bytes;
use hostler_http1::framing::{has_token, is_hop_by_hop};

/// The requested URL with its fields and body.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) method: Bytes,
    /// Decoded and normalised path.
    pub(crate) uri: Vec<u8>,
    /// The query, without its question mark.
    pub(crate) args: Option<Bytes>,
    pub(crate) headers_in: Table,
    /// Fields that came several times, one by one: `headers_in` has them joined.
    pub(crate) repeated_in: Table,
    pub(crate) body: RequestBody,
}

impl Target {
    /// Sets a field as the configuration wants it.
    pub(crate) fn configure(&mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) {
        let name = name.into();
        self.claim(&name);
        self.headers_in.set(name, value);
    }

    /// The configuration, or a program of the site's, has set this field: the client's `Connection` names it no longer, so that
    /// no client can keep it from a server behind this one (RFC 9110 §7.6.1 speaks of fields of the sender's).
    pub(crate) fn claim(&mut self, name: &[u8]) {
        let Some(named) = self.headers_in.joined(b"Connection") else { return };
        if is_hop_by_hop(name) || !has_token(&named, name) {
            return;
        }
        let others = named.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let others: Vec<&[u8]> = others.filter(|other| !other.eq_ignore_ascii_case(name)).collect();
        match others.is_empty() {
            true => self.headers_in.unset("Connection"),
            false => self.headers_in.set("Connection", others.join(&b", "[..])),
        }
    }

    /// Takes over the fields as a program of the site's has left them.
    pub(crate) fn take_fields(&mut self, fields: Table) {
        let before = std::mem::replace(&mut self.headers_in, fields);
        if !before.contains("Connection") {
            return;
        }
        let changed = |name: &Bytes| before.joined(name) != self.headers_in.joined(name);
        let changed: Vec<Bytes> =
            self.headers_in.iter().map(|(name, _)| name).filter(|name| changed(name)).cloned().collect();
        changed.iter().for_each(|name| self.claim(name));
    }
}

impl Default for Target {
    fn default() -> Self {
        Self {
            method: Bytes::from_static(b"GET"),
            uri: Vec::new(),
            args: None,
            headers_in: Table::default(),
            repeated_in: Table::default(),
            body: RequestBody::Empty,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(fields: &[(&'static str, &'static str)]) -> Target {
        let mut target = Target::default();
        fields.iter().for_each(|(name, value)| target.headers_in.add(*name, *value));
        target
    }

    #[test]
    fn a_configured_field_is_not_the_client_s_to_name() {
        let mut target = target(&[("Connection", "close, X-User"), ("X-User", "me")]);
        target.configure("x-user", "alice");
        assert_eq!(target.headers_in.find("Connection").unwrap(), "close");
        assert_eq!(target.headers_in.find("X-User").unwrap(), "alice");
        target.configure("Close", "1");
        assert!(!target.headers_in.contains("Connection"));
    }

    #[test]
    fn what_the_connection_is_asked_to_become_stays() {
        let mut target = target(&[("Connection", "Upgrade"), ("Upgrade", "websocket")]);
        target.configure("Upgrade", "websocket");
        assert_eq!(target.headers_in.find("Connection").unwrap(), "Upgrade");
    }

    #[test]
    fn fields_that_a_program_has_changed_are_not_the_client_s_to_name() {
        let mut target = target(&[("Connection", "X-User, X-Own"), ("X-Own", "mine")]);
        let mut fields = target.headers_in.clone();
        fields.set("X-User", "alice");
        target.take_fields(fields);
        assert_eq!(target.headers_in.find("Connection").unwrap(), "X-Own");
    }
}
