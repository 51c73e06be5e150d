//! Messages between the front and warm parents and workers.

use hostler_perl_frames::configure::{FromConfigure, ToConfigure};
use hostler_perl_frames::{self as perl, FromPerl, ToPerl};
use hostler_wire::codec::Encoder;
use hostler_wire::engine::{FromEngine, ToEngine};
use hostler_wire::frame::HEAD;
use hostler_wire::work::{self, Directory, FromWorker, ToWorker};

/// The input is a frame of a parent's and a message of a worker's; what follows the head is also read as each kind of
/// message. What was decoded encodes to what decodes to the same.
pub fn target(data: &[u8]) {
    let (head, body) = data.split_at_checked(HEAD).unwrap_or((&[], data));
    let kind = head.first().copied().unwrap_or_default();
    if let Ok(message) = FromEngine::decode(body) {
        assert_eq!(FromEngine::decode(&without_head(|out| message.encode(out))), Ok(message));
    }
    if let Ok(message) = ToEngine::decode(body) {
        assert_eq!(ToEngine::decode(&without_head(|out| message.encode(0, out))), Ok(message));
    }
    if let Ok(message) = FromWorker::decode(kind, body) {
        assert_eq!(FromWorker::decode(kind, &without_head(|out| message.encode(out))).as_ref(), Ok(&message));
    }
    if let Ok(message) = ToWorker::decode(kind, body) {
        assert_eq!(ToWorker::decode(kind, &without_head(|out| message.encode(out))).as_ref(), Ok(&message));
    }
    own(body);
}

/// mod_perl's own part.
fn own(body: &[u8]) {
    if let Ok(message) = FromPerl::decode(body) {
        assert_eq!(FromPerl::decode(&without_head(|out| message.encode(out))).as_ref(), Ok(&message));
    }
    if let Ok(message) = ToPerl::decode(body) {
        // What is mod_perl's in a head shows in its common part as well.
        let bytes = message.to_bytes();
        assert_eq!(ToPerl::decode(&bytes).map(|again| again.to_bytes()), Ok(bytes));
    }
    if let Ok(message) = FromConfigure::decode(body) {
        assert_eq!(FromConfigure::decode(&without_head(|out| message.encode(out))), Ok(message));
    }
    if let Ok(message) = ToConfigure::decode(body) {
        assert_eq!(ToConfigure::decode(&without_head(|out| message.encode(out))), Ok(message));
    }
    if let Ok(directory) = Directory::decode(body) {
        let mut bytes = Vec::new();
        directory.encode(&mut Encoder(&mut bytes));
        assert_eq!(Directory::decode(&bytes).as_ref(), Ok(&directory));
        if let Ok(whole) = perl::Directory::decode(&directory) {
            let bytes = whole.encode();
            let again = Directory::decode(&bytes).and_then(|directory| perl::Directory::decode(&directory));
            assert_eq!(again, Ok(whole));
        }
    }
}

/// A frame or message without its head.
fn without_head<T>(encode: impl FnOnce(&mut Vec<u8>) -> T) -> Vec<u8> {
    const { assert!(HEAD == work::HEAD) };
    let mut out = Vec::new();
    encode(&mut out);
    out.split_off(HEAD)
}
