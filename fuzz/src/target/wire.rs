//! Frames between front and site, and the Plan: what a tenant's process may send.

use hostler_wire::frame::{self, HEAD, Head, MAX_BODY, MAX_FDS};
use hostler_wire::plan::{FrontPlan, Plan};
use hostler_wire::site::{FromSite, ToSite};
use serde::{Serialize, de::DeserializeOwned};

/// The input is a frame; its body is also read as each kind of message.
pub fn target(data: &[u8]) {
    let (head, body) = data.split_at_checked(HEAD).unwrap_or((&[], data));
    if let Ok(Ok(head)) = head.try_into().map(Head::decode) {
        assert!(head.body <= MAX_BODY && head.fds <= MAX_FDS);
    }
    for body in [body, data] {
        again::<FromSite>(body);
        again::<ToSite>(body);
        again::<Plan>(body);
        again::<FrontPlan>(body);
    }
}

/// A decoded frame encodes to one that decodes to the same.
fn again<T: Serialize + DeserializeOwned>(body: &[u8]) {
    let Ok(message) = frame::decode::<T>(body) else { return };
    let mut first = Vec::new();
    if frame::encode(&message, 1, &mut first).is_err() {
        return;
    }
    let decoded = frame::decode::<T>(&first[HEAD..]);
    let decoded = decoded.unwrap_or_else(|error| panic!("what was encoded does not decode: {error}"));
    let mut second = Vec::new();
    assert_eq!(frame::encode(&decoded, 1, &mut second), Ok(()));
    assert_eq!(first, second);
}
