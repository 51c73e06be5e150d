//! Numbers that stand for words: methods, request fields, response fields.

/// Methods ("Forward Request", "Method"); the first is 1.
const METHODS: [&[u8]; 27] = [
    b"OPTIONS",
    b"GET",
    b"HEAD",
    b"POST",
    b"PUT",
    b"DELETE",
    b"TRACE",
    b"PROPFIND",
    b"PROPPATCH",
    b"MKCOL",
    b"COPY",
    b"MOVE",
    b"LOCK",
    b"UNLOCK",
    b"ACL",
    b"REPORT",
    b"VERSION-CONTROL",
    b"CHECKIN",
    b"CHECKOUT",
    b"UNCHECKOUT",
    b"SEARCH",
    b"MKWORKSPACE",
    b"UPDATE",
    b"LABEL",
    b"MERGE",
    b"BASELINE-CONTROL",
    b"MKACTIVITY",
];

/// Request fields ("Headers"); the first is 0xA001.
const REQUEST_FIELDS: [&[u8]; 14] = [
    b"accept",
    b"accept-charset",
    b"accept-encoding",
    b"accept-language",
    b"authorization",
    b"connection",
    b"content-type",
    b"content-length",
    b"cookie",
    b"cookie2",
    b"host",
    b"pragma",
    b"referer",
    b"user-agent",
];

/// Response fields ("Response Packet Structure", "Send Headers"); the first is 0xA001.
const RESPONSE_FIELDS: [&[u8]; 11] = [
    b"Content-Type",
    b"Content-Language",
    b"Content-Length",
    b"Date",
    b"Last-Modified",
    b"Location",
    b"Set-Cookie",
    b"Set-Cookie2",
    b"Servlet-Engine",
    b"Status",
    b"WWW-Authenticate",
];

/// The high byte of a field's code; as the first byte of a length it would be of a name longer than any packet.
const FIELD: u16 = 0xA000;

/// A method that has no code: it is sent as an attribute.
pub(crate) const STORED_METHOD: u8 = 0xFF;

pub(crate) fn method(name: &[u8]) -> Option<u8> {
    METHODS.iter().position(|known| *known == name).map(|at| at as u8 + 1)
}

pub(crate) fn request_field(name: &[u8]) -> Option<u16> {
    let at = REQUEST_FIELDS.iter().position(|known| known.eq_ignore_ascii_case(name))?;
    Some(FIELD + at as u16 + 1)
}

/// Returns whether this is a field's code, and not the length of its name.
pub(crate) const fn is_field(number: u16) -> bool {
    number & 0xFF00 == FIELD
}

pub(crate) fn response_field(code: u16) -> Option<&'static [u8]> {
    let at = (code & 0xFF).checked_sub(1)?;
    RESPONSE_FIELDS.get(usize::from(at)).copied()
}
