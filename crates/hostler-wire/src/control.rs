//! Fixed-size messages between master and front, one per datagram on a `SOCK_SEQPACKET` socket.
//!
//! The front is not trusted by the master: anything but these sixteen bytes, or a site that the plan does not
//! have, ends that front.

use crate::build::{BUILD_BYTES, Build};

/// Size of every message, in bytes.
pub const MESSAGE_SIZE: usize = 16;

/// From front to master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromFront {
    /// The front serves: the old generation may drain.
    Ready,
    /// Start the site process of this site and send me its socket.
    SpawnSite(u32),
    /// This site process, by its number, leaves its callers waiting: it is stopped, or stuck. End it.
    EndSite(u32),
    /// All threads go on. Said each second, also while the front drains.
    Alive,
    /// This thread, by the kernel's number, has not gone on for seconds, although it could have: it waits for something
    /// that does not come, or does something without an end.
    Stuck(u32),
    /// No thread listens any more, and all listening sockets are closed here. Said once, after [`FromMaster::Drain`].
    Released,
}

/// From master to front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromMaster {
    /// First message, of the same form in all builds: the master's build.
    Build(Build),
    /// The plan (a memfd) follows as a descriptor, with this many bytes.
    Plan {
        /// Length of the encoded [`crate::plan::FrontPlan`] in the memfd.
        bytes: u64,
    },
    /// A batch of listening sockets travels with this message (`index` = position of the first in the plan).
    Listeners {
        /// Position of the first descriptor.
        index: u32,
        /// Number of descriptors in this message.
        count: u32,
    },
    /// A batch of log descriptors, likewise.
    Logs {
        /// Position of the first descriptor.
        index: u32,
        /// Number of descriptors in this message.
        count: u32,
    },
    /// All of the start-up messages have been sent.
    Go,
    /// The site's socket travels with this message; behind it, where the site is in a control group for its limits,
    /// the directory of that.
    Site {
        /// The site's number.
        site: u32,
        /// The process's number, of all that the master has started; no two of one front's are the same.
        number: u32,
    },
    /// The site could not be started: site and errno. It may be asked for again.
    SiteFailed(u32, i32),
    /// The server stops: report that it is not ready any more. `Drain` follows, at once or after `HostlerDrainDelay`.
    Stop,
    /// A newer generation serves, or the server stops: accept no more, finish what is open, exit.
    Drain,
    /// The listening status socket travels with this message: answer everybody who connects with a
    /// [`crate::report::Report`].
    Status {
        /// The front's generation.
        generation: u32,
        /// The server's uptime in milliseconds.
        uptime_ms: u64,
    },
}

/// A message that is not one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed control message")]
pub struct Malformed;

fn pack(kind: u32, a: u32, b: u64) -> [u8; MESSAGE_SIZE] {
    let mut out = [0; MESSAGE_SIZE];
    out[..4].copy_from_slice(&kind.to_le_bytes());
    out[4..8].copy_from_slice(&a.to_le_bytes());
    out[8..].copy_from_slice(&b.to_le_bytes());
    out
}

fn unpack(bytes: &[u8]) -> Result<(u32, u32, u64), Malformed> {
    let bytes: &[u8; MESSAGE_SIZE] = bytes.try_into().map_err(|_| Malformed)?;
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    Ok((word(0), word(4), u64::from(word(8)) | u64::from(word(12)) << 32))
}

impl FromFront {
    /// The message as it travels.
    #[must_use]
    pub fn encode(self) -> [u8; MESSAGE_SIZE] {
        match self {
            Self::Ready => pack(1, 0, 0),
            Self::SpawnSite(site) => pack(2, site, 0),
            Self::EndSite(number) => pack(3, number, 0),
            Self::Alive => pack(4, 0, 0),
            Self::Stuck(thread) => pack(5, thread, 0),
            Self::Released => pack(6, 0, 0),
        }
    }

    /// # Errors
    /// [`Malformed`] for a wrong size, an unknown kind or a field that should be zero and is not.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        match unpack(bytes)? {
            (1, 0, 0) => Ok(Self::Ready),
            (2, site, 0) => Ok(Self::SpawnSite(site)),
            (3, number, 0) => Ok(Self::EndSite(number)),
            (4, 0, 0) => Ok(Self::Alive),
            (5, thread, 0) => Ok(Self::Stuck(thread)),
            (6, 0, 0) => Ok(Self::Released),
            _ => Err(Malformed),
        }
    }
}

impl FromMaster {
    /// The message as it travels.
    #[must_use]
    pub fn encode(self) -> [u8; MESSAGE_SIZE] {
        match self {
            Self::Build(build) => {
                let [a, b, c, d, rest @ ..] = build.to_bytes();
                pack(9, u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(rest))
            }
            Self::Plan { bytes } => pack(1, 0, bytes),
            Self::Listeners { index, count } => pack(2, index, u64::from(count)),
            Self::Logs { index, count } => pack(3, index, u64::from(count)),
            Self::Go => pack(4, 0, 0),
            Self::Site { site, number } => pack(5, site, u64::from(number)),
            Self::SiteFailed(site, errno) => pack(6, site, u64::from(errno.unsigned_abs())),
            Self::Drain => pack(7, 0, 0),
            Self::Status { generation, uptime_ms } => pack(8, generation, uptime_ms),
            Self::Stop => pack(10, 0, 0),
        }
    }

    /// # Errors
    /// [`Malformed`] for a wrong size, an unknown kind or a number out of range.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let count = |n: u64| u32::try_from(n).map_err(|_| Malformed);
        match unpack(bytes)? {
            (1, 0, bytes) => Ok(Self::Plan { bytes }),
            (2, index, n) => Ok(Self::Listeners { index, count: count(n)? }),
            (3, index, n) => Ok(Self::Logs { index, count: count(n)? }),
            (4, 0, 0) => Ok(Self::Go),
            (5, site, n) => Ok(Self::Site { site, number: count(n)? }),
            (6, site, errno) => Ok(Self::SiteFailed(site, i32::try_from(errno).map_err(|_| Malformed)?)),
            (7, 0, 0) => Ok(Self::Drain),
            (8, generation, uptime_ms) => Ok(Self::Status { generation, uptime_ms }),
            (9, a, b) => {
                let mut bytes = [0; BUILD_BYTES];
                bytes[..4].copy_from_slice(&a.to_le_bytes());
                bytes[4..].copy_from_slice(&b.to_le_bytes());
                Ok(Self::Build(Build::from_bytes(bytes)))
            }
            (10, 0, 0) => Ok(Self::Stop),
            _ => Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_comes_back_as_it_went() {
        for message in [
            FromFront::Ready,
            FromFront::SpawnSite(7),
            FromFront::EndSite(9),
            FromFront::Alive,
            FromFront::Stuck(4711),
        ] {
            assert_eq!(FromFront::decode(&message.encode()), Ok(message));
        }
        for message in [
            FromMaster::Build(Build::own()),
            FromMaster::Plan { bytes: 1 << 40 },
            FromMaster::Listeners { index: 3, count: 9 },
            FromMaster::Logs { index: 0, count: 1 },
            FromMaster::Go,
            FromMaster::Site { site: 4, number: 9 },
            FromMaster::SiteFailed(4, 11),
            FromMaster::Stop,
            FromMaster::Drain,
            FromMaster::Status { generation: 3, uptime_ms: 1 << 40 },
        ] {
            assert_eq!(FromMaster::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(FromFront::decode(b"short"), Err(Malformed));
        assert_eq!(FromFront::decode(&[0; MESSAGE_SIZE]), Err(Malformed));
        assert_eq!(FromFront::decode(&pack(1, 5, 0)), Err(Malformed));
        assert_eq!(FromMaster::decode(&pack(6, 0, u64::MAX)), Err(Malformed));
    }
}
