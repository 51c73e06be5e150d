//! Answers `List`: the entries of a directory.

use hostler_sys::fs::{self, Node};
use hostler_wire::site::{Entry, FromSite, RequestId};
use serde_bytes::ByteBuf;

use crate::walk::{errno, info};

/// Most entries; more are EOVERFLOW.
const MOST_ENTRIES: usize = 100_000;

/// Lists a directory.
pub(crate) fn list(id: RequestId, path: &[u8], prefix: &[u8]) -> FromSite {
    let found = Node::directory(path).and_then(|directory| fs::entries(&directory, prefix, MOST_ENTRIES));
    let entries = found.map(|entries| entries.into_iter().map(entry).collect());
    FromSite::Listed { id, entries: entries.map_err(|e| errno(&e)) }
}

fn entry(entry: fs::Entry) -> Entry {
    Entry {
        name: ByteBuf::from(entry.name),
        info: entry.stat.as_ref().map(info),
        link_owner: entry.link_owner,
    }
}
