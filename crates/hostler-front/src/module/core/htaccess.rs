//! `.htaccess` files: read, and kept for each site by each thread, so that a file is read once for each text that it has
//! had, and for what it finds of the files that it asks for.

use crate::limits::aside;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::expr_host;
use crate::request::flow::Halt;
use bytes::Bytes;
use hostler_config::directives::core::Allow;
use hostler_config::{
    ConfigError, DirConfig, Htaccess, HtaccessScope, Origin, Server, Stands, Warning, parse_htaccess_beside,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parsed `.htaccess` files of a site, kept by a thread.
#[derive(Default)]
pub(crate) struct HtaccessCache {
    parsed: hashbrown::HashMap<String, Parsed, foldhash::fast::RandomState>,
    bytes: usize,
}

/// The most entries that are kept, and the bytes they may take; beyond this all are forgotten.
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

/// Larger ones are read aside, in bytes.
const SMALL: usize = 2 << 10;

/// Warnings about one that get into the log each time it is read.
const MOST_WARNINGS: usize = 20;

/// By how much a file grows when it is read.
const GROWTH: usize = 8;

struct Parsed {
    text: Bytes,
    made: Context,
    conf: Meaning,
    stands: FileTests,
}

/// The meaning of a file; or its fault, which would take as long to find again.
type Meaning = Result<Arc<DirConfig>, Arc<str>>;

/// The files that one asks for (`<IfFile>`), and whether they were there.
type FileTests = Arc<BTreeMap<String, bool>>;

/// The circumstances besides its text that determine a file's meaning.
#[derive(PartialEq)]
struct Context {
    host: Origin,
    allow: Arc<Allow>,
}

impl Parsed {
    fn size(&self) -> usize {
        self.text.len() + self.conf.as_ref().map_or_else(|why| why.len(), |conf| GROWTH * conf.weight)
    }
}

impl HtaccessCache {
    fn find(&self, file: &str, text: &[u8], made: &Context) -> Option<(Meaning, FileTests)> {
        let parsed = self.parsed.get(file)?;
        let is_it = parsed.text == text && parsed.made == *made;
        is_it.then(|| (parsed.conf.clone(), parsed.stands.clone()))
    }

    fn keep(&mut self, file: &str, text: &[u8], made: Context, (conf, stands): (Meaning, FileTests)) {
        let parsed = Parsed { text: Bytes::copy_from_slice(text), made, conf, stands };
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

/// An access file on the way to what was asked for.
pub(super) struct Source<'a> {
    /// Its path, and its directory's without a slash at the end.
    pub(super) file: &'a str,
    pub(super) directory: &'a str,
    pub(super) text: &'a [u8],
    /// The directives it may contain.
    pub(super) allow: Arc<Allow>,
}

impl Source<'_> {
    /// Parses it. An error in it is logged, and gives 500.
    pub(super) async fn parse(&self, request: &mut Request, server: &Server) -> Result<Arc<DirConfig>, Halt> {
        let made = Context { host: reader(request), allow: self.allow.clone() };
        if let Some(conf) = self.kept(request, server, &made).await {
            return told(request, conf);
        }
        let mut looked = BTreeMap::new();
        let parsed = loop {
            let mut permit = None;
            if self.text.len() > SMALL {
                permit = Some(aside::permit(request).await?);
                if let Some(conf) = self.kept(request, server, &made).await {
                    return told(request, conf);
                }
            }
            match self.read(request, permit, &made, Stands::Known(looked.clone())).await? {
                Ok(parsed) if !parsed.asks.is_empty() => {
                    for path in parsed.asks {
                        let stands = stands(request, &path).await;
                        looked.insert(path, stands);
                    }
                }
                parsed => break parsed,
            }
        };
        let conf: Meaning = match parsed {
            Ok(parsed) => {
                self.warn(request, &parsed.warnings);
                Ok(parsed.conf)
            }
            Err(error) => Err(error.to_string().into()),
        };
        let site = request.thread.site(server);
        let kept = (conf.clone(), Arc::new(looked));
        site.made.of::<RefCell<HtaccessCache>>().borrow_mut().keep(self.file, self.text, made, kept);
        told(request, conf)
    }

    /// Reads the text: aside, with a permit for it.
    async fn read(
        &self,
        request: &Request,
        permit: Option<aside::Permit>,
        made: &Context,
        stands: Stands,
    ) -> Result<Result<Htaccess, Box<ConfigError>>, Halt> {
        let config = request.thread.shared.config.clone();
        let (host, allow) = (made.host, made.allow.clone());
        let Some(permit) = permit else {
            let (file, directory) = (self.file, self.directory);
            let scope = HtaccessScope { config: &config, host, file, directory, allow };
            return Ok(parse_htaccess_beside(self.text, &scope, stands));
        };
        let (text, file) = (self.text.to_vec(), self.file.to_owned());
        let directory = self.directory.to_owned();
        let read = move || {
            let scope = HtaccessScope { config: &config, host, file: &file, directory: &directory, allow };
            parse_htaccess_beside(&text, &scope, stands)
        };
        aside::run(request, permit, read).await
    }

    /// Returns the remembered meaning, if the files that it refers to still exist, or still do not.
    async fn kept(&self, request: &mut Request, server: &Server, made: &Context) -> Option<Meaning> {
        let site = request.thread.site(server);
        let found = site.made.of::<RefCell<HtaccessCache>>().borrow().find(self.file, self.text, made);
        let (conf, looked) = found?;
        for (path, stood) in looked.iter() {
            if stands(request, path).await != *stood {
                return None;
            }
        }
        Some(conf)
    }

    /// Tells what is odd in it, within bounds.
    fn warn(&self, request: &Request, warnings: &[Warning]) {
        for warning in warnings.iter().take(MOST_WARNINGS) {
            log::request(request, Severity::Warn, "core", &warning.to_string());
        }
        if warnings.len() > MOST_WARNINGS {
            let more = warnings.len() - MOST_WARNINGS;
            let message = format!("{}: {more} more warnings are left out", self.file);
            log::request(request, Severity::Warn, "core", &message);
        }
    }
}

/// A mistake is told with each request that comes upon it.
fn told(request: &Request, conf: Meaning) -> Result<Arc<DirConfig>, Halt> {
    conf.map_err(|why| {
        log::request(request, Severity::Alert, "core", &*why);
        Halt::Status(500)
    })
}

/// Returns whether anything is there for the site's user.
async fn stands(request: &mut Request, path: &str) -> bool {
    let (stands, lasting) = expr_host::stands(request, path.as_bytes()).await;
    request.lasting &= lasting;
    stands
}
