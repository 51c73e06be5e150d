//! True if a script is another one than its group's workers have loaded (`WSGIScriptReloading`): then they are made
//! anew.
//!
//! Here only what the site's process saw of the file is compared.

use crate::request::Request;
use hashbrown::HashMap;
use hostler_wire::site::FileInfo;
use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The identity of a file's state.
type Facts = (u64, u64, u64, i64, u32);
/// A virtual host, a group, a script.
type Key = (u32, Arc<str>, Vec<u8>);
type Seen = HashMap<Key, Facts, foldhash::fast::RandomState>;

/// Scripts that are remembered; beyond this all are forgotten, and then the next change of each is not noticed.
const MOST: usize = 4096;

/// The files that the workers have loaded, as far as known.
static LOADED: LazyLock<Mutex<Seen>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The same, without a lock.
    static SEEN: RefCell<Seen> = RefCell::default();
}

/// Returns whether it is. Said once for each change: whoever is told has the workers made anew.
pub(super) fn is_newer(request: &Request, group: &Arc<str>, script: &[u8], info: &FileInfo) -> bool {
    let facts = (info.dev, info.ino, info.size, info.mtime, info.mtime_nsec);
    let key = (request.server.id, group.clone(), script.to_vec());
    SEEN.with_borrow_mut(|seen| {
        if seen.get(&key) == Some(&facts) {
            return false;
        }
        let newer = is_news(&key, facts);
        keep(seen, key, facts);
        newer
    })
}

fn is_news(key: &Key, facts: Facts) -> bool {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    match loaded.get_mut(key) {
        Some(known) => std::mem::replace(known, facts) != facts,
        None => {
            keep(&mut loaded, key.clone(), facts);
            false
        }
    }
}

fn keep(seen: &mut Seen, key: Key, facts: Facts) {
    if seen.len() >= MOST {
        seen.clear();
    }
    seen.insert(key, facts);
}
