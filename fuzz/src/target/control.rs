//! The fixed-size messages between master and front.

use hostler_wire::control::{FromFront, FromMaster, MESSAGE_SIZE};

/// The input is a message, and each stretch of it of the right size.
pub fn target(data: &[u8]) {
    check(data);
    data.chunks(MESSAGE_SIZE).for_each(check);
}

fn check(message: &[u8]) {
    if let Ok(known) = FromFront::decode(message) {
        assert_eq!(known.encode(), *message);
    }
    if let Ok(known) = FromMaster::decode(message) {
        assert_eq!(known.encode(), *message);
    }
}
