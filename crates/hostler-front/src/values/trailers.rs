//! The fields that are allowed after a body (RFC 9110 §6.5.1).

/// Fields about the connection, the body's length or its meaning, whom a request is for or who sends it, and how an answer is
/// to be treated: who has read as far as the end has acted on them already, or must not believe them there.
const NEVER: [&[u8]; 38] = [
    // The connection and the framing of the message.
    b"connection",
    b"proxy-connection",
    b"keep-alive",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"content-length",
    // Where to.
    b"host",
    // What modifies a request.
    b"cache-control",
    b"expect",
    b"if-match",
    b"if-modified-since",
    b"if-none-match",
    b"if-range",
    b"if-unmodified-since",
    b"max-forwards",
    b"pragma",
    b"range",
    // Who somebody is.
    b"authorization",
    b"cookie",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"set-cookie",
    b"www-authenticate",
    // What becomes of an answer.
    b"age",
    b"date",
    b"expires",
    b"location",
    b"refresh",
    b"retry-after",
    b"vary",
    b"warning",
    // How the content is read.
    b"content-encoding",
    b"content-range",
    b"content-security-policy",
    b"content-type",
    b"content-disposition",
];

/// Returns whether a field may.
pub(crate) fn may_follow(name: &[u8]) -> bool {
    !NEVER.iter().any(|never| name.eq_ignore_ascii_case(never))
}

#[cfg(test)]
mod tests {
    use super::may_follow;

    #[test]
    fn what_says_how_a_message_is_read_comes_before_it() {
        for name in ["Grpc-Status", "grpc-message", "ETag", "Digest", "Server-Timing", "X-Checksum"] {
            assert!(may_follow(name.as_bytes()), "{name}");
        }
        for name in ["Content-Length", "transfer-encoding", "Set-Cookie", "HOST", "TE", "Trailer", "Vary"] {
            assert!(!may_follow(name.as_bytes()), "{name}");
        }
    }
}
