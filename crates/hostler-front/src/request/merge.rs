//! Merged configurations, remembered for each site: most requests meet the same sections again.

use crate::limits::aside;
use crate::request::Request;
use crate::request::flow::Halt;
use hashbrown::HashMap;
use hostler_config::DirConfig;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// Merges kept for a site by a thread, and about how many bytes they may take; beyond this the memory is emptied.
const MAX: usize = 4096;
const MAX_BYTES: usize = 16 << 20;

/// The cost of a merge without `.htaccess` files, and its growth for each of them, in bytes.
const BASE: usize = 2048;
const GROWTH: usize = 8;

/// Configurations from larger `.htaccess` files are merged aside.
const LARGE: usize = 8 << 10;

type Key = SmallVec<[usize; 8]>;
type Parts = SmallVec<[Arc<DirConfig>; 8]>;

/// Remembers which configurations merge to what.
#[derive(Default)]
pub(crate) struct MergeCache {
    merged: HashMap<Key, MergeEntry, foldhash::fast::RandomState>,
    bytes: usize,
}

struct MergeEntry {
    result: Arc<DirConfig>,
    /// Keeps the addresses in the key taken.
    _parts: Parts,
}

fn key(base: &Arc<DirConfig>, over: &[Arc<DirConfig>]) -> Key {
    std::iter::once(base).chain(over).map(|part| Arc::as_ptr(part) as usize).collect()
}

/// `base` with `over` merged over it, a group of sections such as all `<Location>`s that apply.
///
/// A group is first merged in itself, as Apache does: with AuthMerging And in the second of two sections, the
/// conditions of what the group is merged over hold too, though the first section alone replaces them.
fn merged(base: &DirConfig, first: &DirConfig, rest: &[Arc<DirConfig>]) -> Arc<DirConfig> {
    let group = rest.iter().fold(first.clone(), |group, part| group.merge(part));
    Arc::new(base.merge(&group))
}

/// The request's configuration with `over` merged over it.
pub(crate) async fn merge(request: &Request, over: &[Arc<DirConfig>]) -> Result<Arc<DirConfig>, Halt> {
    let base = &request.resource.dir;
    let Some((first, rest)) = over.split_first() else { return Ok(base.clone()) };
    let site = request.thread.site(&request.server);
    let key = key(base, over);
    let find = |key: &Key| {
        site.made.of::<RefCell<MergeCache>>().borrow().merged.get(key).map(|found| found.result.clone())
    };
    if let Some(found) = find(&key) {
        return Ok(found);
    }
    let weight = over.iter().fold(base.weight, |sum, part| sum + part.weight);
    let result = if weight <= LARGE {
        merged(base, first, rest)
    } else {
        let permit = aside::permit(request).await?;
        if let Some(found) = find(&key) {
            return Ok(found);
        }
        let (base, first, rest) = (base.clone(), first.clone(), Parts::from(rest));
        aside::run(request, permit, move || merged(&base, &first, &rest)).await?
    };
    let parts = std::iter::once(base).chain(over).cloned().collect();
    site.made
        .of::<RefCell<MergeCache>>()
        .borrow_mut()
        .keep(key, MergeEntry { result: result.clone(), _parts: parts });
    Ok(result)
}

impl MergeCache {
    fn keep(&mut self, key: Key, merge: MergeEntry) {
        let size = BASE + GROWTH * merge.result.weight;
        if size > MAX_BYTES {
            return;
        }
        if self.merged.len() >= MAX || self.bytes + size > MAX_BYTES {
            self.clear();
        }
        self.bytes += size;
        self.merged.insert(key, merge);
    }

    pub(crate) fn clear(&mut self) {
        self.merged.clear();
        self.bytes = 0;
    }
}
