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
    /// `base` with each of `over` merged over it, in order.
    pub(crate) fn merge(&mut self, base: &Arc<DirConfig>, over: &[Arc<DirConfig>]) -> Arc<DirConfig> {
        if over.is_empty() {
            return base.clone();
        }
        let key: Key = std::iter::once(base).chain(over).map(|part| Arc::as_ptr(part) as usize).collect();
        if let Some(found) = self.merged.get(&key) {
            return found.result.clone();
        }
        let mut result = DirConfig::clone(base);
        for part in over {
            result = result.merge(part);
        }
        let result = Arc::new(result);
        if self.merged.len() >= MAX {
            self.merged.clear();
        }
        let parts = std::iter::once(base).chain(over).cloned().collect();
        self.merged.insert(key, Remembered { result: result.clone(), _parts: parts });
        result
    }
}
