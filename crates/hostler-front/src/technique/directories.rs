//! Configurations as workers are told of them: encoded once for each thread, then named by number.

use crate::log::{self, Severity};
use crate::request::Request;
use hashbrown::HashMap;
use hostler_config::DirConfig;
use hostler_wire::work::ToWorker;
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// An encoded configuration.
pub(crate) struct EncodedSettings {
    /// Unique within the front's life.
    pub(crate) id: u32,
    /// The encoded `Define` message with it.
    pub(crate) message: Arc<[u8]>,
    /// Keeps the address in the key taken.
    _dir: Arc<DirConfig>,
}

impl EncodedSettings {
    /// As [`hostler_gateway::backend::ring::Work`] takes it.
    pub(crate) fn definition(&self) -> (u32, Arc<[u8]>) {
        (self.id, self.message.clone())
    }
}

/// A memory of directories' settings. Access files create configurations, and tenants write them: beyond a number of
/// them, or of bytes, all are forgotten. `K` distinguishes several that a technique makes of one configuration.
pub(crate) struct Directories<K> {
    known: HashMap<(usize, u32, K), Rc<EncodedSettings>, foldhash::fast::RandomState>,
    /// Of the messages.
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

impl<K: Eq + Hash> Directories<K> {
    /// For so many configurations, and so many bytes of messages.
    pub(crate) fn new(most: usize, most_bytes: usize) -> Self {
        Self { known: HashMap::default(), bytes: 0, most, most_bytes }
    }

    /// A configuration in a virtual host (its number); `encode` writes it, if it is not known.
    pub(crate) fn of(
        &mut self,
        dir: &Arc<DirConfig>,
        server: u32,
        kind: K,
        encode: impl FnOnce() -> Vec<u8>,
    ) -> Rc<EncodedSettings> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let key = (Arc::as_ptr(dir) as usize, server, kind);
        if let Some(found) = self.known.get(&key) {
            return found.clone();
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let message = define(id, &encode());
        if self.known.len() >= self.most || self.bytes + message.len() > self.most_bytes {
            self.known.clear();
            self.bytes = 0;
        }
        self.bytes += message.len();
        let made = Rc::new(EncodedSettings { id, message, _dir: dir.clone() });
        self.known.insert(key, made.clone());
        made
    }
}

fn define(id: u32, directory: &[u8]) -> Arc<[u8]> {
    let mut message = Vec::with_capacity(directory.len() + 32);
    ToWorker::Define { id, directory }.encode(&mut message);
    message.into()
}

/// Says, when a configuration is used for the first time, that its limits are not those of the pool's processes: they
/// come from a section, which `hostler check` has told, or from an `.htaccess` file.
pub(crate) fn tell_limits(request: &Request) {
    let (own, of_pool) = (&request.resource.dir.core, &request.server.defaults.core);
    let differing = [
        ("RLimitCPU", own.rlimit_cpu != of_pool.rlimit_cpu),
        ("RLimitMEM", own.rlimit_mem != of_pool.rlimit_mem),
        ("RLimitNPROC", own.rlimit_nproc != of_pool.rlimit_nproc),
        ("NiceValue", own.nice != of_pool.nice),
    ];
    for (directive, _) in differing.into_iter().filter(|(_, differs)| *differs) {
        let message = format!(
            "{directive} of a section or an access file holds for CGI programs, not for the warm worker that serves \
             this: its limits stand outside of sections"
        );
        log::request(request, Severity::Warn, "core", &message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_has_a_bound_in_bytes() {
        let mut directories = Directories::new(100, 1 << 10);
        let dir = Arc::new(DirConfig::default());
        let first = directories.of(&dir, 0, 0, || vec![0; 400]);
        assert_eq!(directories.of(&dir, 0, 0, || panic!("it is known")).id, first.id);
        directories.of(&dir, 0, 1, || vec![0; 400]);
        // There is no room for a third: all are forgotten.
        directories.of(&dir, 0, 2, || vec![0; 400]);
        assert!(directories.bytes <= 1 << 10);
        assert_ne!(directories.of(&dir, 0, 0, || vec![0; 400]).id, first.id);
    }

    #[test]
    fn what_is_remembered_has_a_bound_in_number() {
        let mut directories = Directories::new(2, 1 << 20);
        let dir = Arc::new(DirConfig::default());
        for kind in 0..5 {
            directories.of(&dir, 0, kind, || vec![0; 4]);
            assert!(directories.known.len() <= 2);
        }
    }
}
