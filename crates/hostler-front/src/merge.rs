//! Merged configurations, remembered: most requests meet the same sections again.

use hashbrown::HashMap;
use hostler_config::DirConfig;
use smallvec::SmallVec;
use std::sync::Arc;

/// Merges kept per thread; beyond this the memory is emptied (hostile .htaccess files could fill it).
const MAX: usize = 4096;

type Key = SmallVec<[usize; 8]>;

/// Remembers which configurations merge to what.
#[derive(Default)]
pub(crate) struct MergeCache {
    merged: HashMap<Key, Remembered, foldhash::fast::RandomState>,
}

struct Remembered {
    result: Arc<DirConfig>,
    /// Keeps the addresses in the key taken.
    _parts: SmallVec<[Arc<DirConfig>; 8]>,
}

impl MergeCache {
    /// `base` with `over` merged over it, a group of sections such as all `<Location>`s that apply.
    ///
    /// A group is first merged in itself, as Apache does: with AuthMerging And in the second of two sections, the
    /// conditions of what the group is merged over hold too, though the first section alone replaces them.
    pub(crate) fn merge(&mut self, base: &Arc<DirConfig>, over: &[Arc<DirConfig>]) -> Arc<DirConfig> {
        let Some((first, rest)) = over.split_first() else { return base.clone() };
        let key: Key = std::iter::once(base).chain(over).map(|part| Arc::as_ptr(part) as usize).collect();
        if let Some(found) = self.merged.get(&key) {
            return found.result.clone();
        }
        let group = rest.iter().fold(DirConfig::clone(first), |group, part| group.merge(part));
        let result = Arc::new(base.merge(&group));
        if self.merged.len() >= MAX {
            self.merged.clear();
        }
        let parts = std::iter::once(base).chain(over).cloned().collect();
        self.merged.insert(key, Remembered { result: result.clone(), _parts: parts });
        result
    }
}
