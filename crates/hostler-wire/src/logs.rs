//! Log files that are opened again while they are in use: from the planner to the master where each log is, from the
//! master to the program that opens logs which ones were moved away, and back what was opened.
//!
//! The master passes its part as a sealed memory file on descriptor [`KNOWN`], so that it never waits for a reader.

use crate::plan::Identity;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;

/// The number of the descriptor with a [`Reopen`], or with the logs of running generations for the planner.
pub const KNOWN: i32 = 4;
/// Longest encoding of either, in bytes.
pub const LONGEST: u64 = 64 << 20;

/// A log that is a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// The configured path, absolute.
    pub path: String,
    /// The kernel's name of the open file (`/proc/self/fd`), which changes when the file is moved or removed.
    #[serde(with = "serde_bytes")]
    pub name: Vec<u8>,
    /// The user that opened it, where the directory is not root's alone.
    pub opened_by: Option<Identity>,
}

/// A log that generations write to, with what a new file at its path takes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLog {
    /// Path and user.
    pub file: LogFile,
    /// Permission bits.
    pub mode: u32,
    /// Group.
    pub group: u32,
}

/// The logs that are to be opened again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Reopen {
    /// The logs.
    pub logs: Vec<KnownLog>,
    /// All identities of front and sites: a directory that one of their groups can write to is not root's alone.
    pub identities: Vec<Identity>,
}

/// The outcome for one log; the descriptor, if it was opened, travels with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reopened {
    /// Position in [`Reopen::logs`].
    pub index: u32,
    /// The log as it was opened, or why it was not.
    pub file: Result<LogFile, String>,
}

/// Encodes what the memory file carries.
///
/// # Errors
/// It cannot be encoded.
pub fn encode<T: Serialize>(known: &T) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(known).map_err(io::Error::other)
}

/// Decodes it; `None`: it is something else.
#[must_use]
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}
