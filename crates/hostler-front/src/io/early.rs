//! Answers that come before the answer (RFC 9110 §15.2), such as 103 with links that a browser may fetch already.

/// A client that can be told something early.
pub(crate) trait Early {
    /// Tells it an interim answer's head, as HTTP/1.1 has it. Never waits; what there is no room for goes ahead of the answer.
    fn tell(&self, head: &[u8]);
}
