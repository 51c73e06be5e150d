//! `.htaccess` files as they were read, kept for each site by each thread: a file is read once for each text that it
//! has had.

use crate::request::Request;
use bytes::Bytes;
use hostler_config::directives::core::Allow;
use hostler_config::{DirConfig, Origin};
use std::sync::Arc;

/// Parsed `.htaccess` files of a site, kept by a thread.
#[derive(Default)]
pub(crate) struct HtaccessCache {
    parsed: hashbrown::HashMap<String, Parsed, foldhash::fast::RandomState>,
    bytes: usize,
}

/// How many of them are kept, and about how many bytes they may take; beyond this all are forgotten.
const MOST_KEPT: usize = 1024;
const MOST_BYTES: usize = 16 << 20;

/// The virtual host that an access file is read for. Where nothing is known to one alone, all read the same.
pub(crate) fn reader(request: &Request) -> Origin {
    let facts = &request.thread.shared.config.facts;
    let differs = !facts.environment.is_empty()
        || facts.declared.values().any(|word| word.host.is_some())
        || facts.providers.iter().any(|provider| provider.host.is_some());
    if differs { request.server.origin } else { Origin::default() }
}

/// By how much a file grows when it is read.
const GROWTH: usize = 8;

struct Parsed {
    text: Bytes,
    made: Made,
    conf: Arc<DirConfig>,
}

/// What else than its text decides what a file comes to.
#[derive(PartialEq)]
pub(super) struct Made {
    pub(super) host: Origin,
    pub(super) allow: Arc<Allow>,
}

impl Parsed {
    fn size(&self) -> usize {
        self.text.len() + GROWTH * self.conf.weight
    }
}

impl HtaccessCache {
    pub(super) fn find(&self, file: &str, text: &[u8], made: &Made) -> Option<Arc<DirConfig>> {
        let parsed = self.parsed.get(file)?;
        (parsed.text == text && parsed.made == *made).then(|| parsed.conf.clone())
    }

    pub(super) fn keep(&mut self, file: &str, text: &[u8], made: Made, conf: Arc<DirConfig>) {
        let parsed = Parsed { text: Bytes::copy_from_slice(text), made, conf };
        let size = parsed.size();
        if size > MOST_BYTES {
            return;
        }
        if self.parsed.len() >= MOST_KEPT || self.bytes + size > MOST_BYTES {
            self.clear();
        }
        self.bytes += size;
        if let Some(former) = self.parsed.insert(file.to_owned(), parsed) {
            self.bytes = self.bytes.saturating_sub(former.size());
        }
    }

    pub(crate) fn clear(&mut self) {
        self.parsed.clear();
        self.bytes = 0;
    }
}
