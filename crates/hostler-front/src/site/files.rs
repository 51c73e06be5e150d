//! Files as a site's user sees them: asked of the site's process, remembered until inotify reports a possible change.
//!
//! Each thread has its own memory and its own inotify descriptor per site. An event that was queued before a
//! request arrived is read before that request is answered, because both come through one event loop in order.

use crate::io::open_file::{OpenFile, SMALL};
use crate::site::connection::{Link, SiteError};
use crate::site::hub::Hub;
use crate::values::extensions::Extensions;
use hostler_gateway::lookup::Asker;
use hostler_wire::build::OtherBuild;
use hostler_wire::plan::SiteId;
use hostler_wire::site::{Entry, Walk, WalkResult};
use serde_bytes::ByteBuf;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::Interest;
use tokio::sync::Semaphore;

/// Paths remembered per thread and site.
const MAX_FACTS: usize = 8192;
/// Bytes of file contents kept per thread.
const MAX_CONTENT: usize = 64 << 20;
/// Descriptors of larger files kept per thread and site.
const MAX_OPEN: usize = 256;
/// Questions to the resolver at the same time, per thread and site.
const QUESTIONS: usize = 16;

/// The answer to a walk.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) walked: WalkResult,
    pub(crate) file: Option<Rc<OpenFile>>,
    /// It stays true until the site's epoch changes.
    pub(crate) lasting: bool,
}

impl Facts {
    /// Bytes that the contents take that come with them: the file's, if it is small, and the access files'.
    fn size(&self) -> usize {
        let file = self.file.as_ref().map_or(0, |file| file.info.size.min(SMALL) as usize);
        file + self.access_bytes()
    }

    /// Bytes of the access files.
    pub(crate) fn access_bytes(&self) -> usize {
        let access = self.walked.levels.iter().filter_map(|level| level.htaccess.as_ref());
        access.map(|access| access.text.as_ref().map_or(0, |text| text.len())).sum()
    }
}

/// The rules for `.htaccess` files in a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessFiles {
    /// `AccessFileName`.
    pub(crate) names: Arc<[ByteBuf]>,
    /// Depth from which on they are read; `u32::MAX`: nowhere.
    pub(crate) from: u32,
}

impl AccessFiles {
    /// For looking at a path without regard to them.
    pub(crate) fn none() -> Self {
        Self { names: Arc::from([]), from: u32::MAX }
    }
}

#[derive(Default)]
struct Watched {
    /// The directory's path as requests name it (several where links lead to it).
    directories: Vec<Vec<u8>>,
    /// Something outside the levels: any event makes all facts stale.
    other: bool,
}

/// One thread's view of one site.
pub(crate) struct Site {
    pub(crate) id: SiteId,
    hub: Arc<Hub>,
    link: RefCell<Option<Rc<Link>>>,
    connecting: tokio::sync::Mutex<()>,
    /// When a new process was last given up that said nothing.
    silent: Cell<Option<Instant>>,
    facts: RefCell<BTreeMap<Vec<u8>, Rc<Facts>>>,
    watches: RefCell<HashMap<i32, Watched>>,
    access_names: RefCell<Vec<Vec<u8>>>,
    content_bytes: Cell<usize>,
    open_files: Cell<usize>,
    /// Changes whenever something remembered may have changed.
    epoch: Cell<u64>,
    /// Counts inotify events, the uninteresting too.
    events: Cell<u64>,
    /// Data derived from its files; dropped when no user is left.
    pub(crate) made: Extensions,
    /// One piece of work at a time is done aside.
    pub(crate) aside: Arc<Semaphore>,
    /// Its questions to the resolver.
    pub(crate) asker: Asker,
    /// One directory at a time is listed.
    pub(crate) listing: Semaphore,
    /// Other parts' data for it.
    pub(crate) extensions: Extensions,
}

impl Site {
    pub(crate) fn new(id: SiteId, hub: Arc<Hub>) -> Rc<Self> {
        Rc::new(Self {
            id,
            hub,
            link: RefCell::default(),
            connecting: tokio::sync::Mutex::new(()),
            silent: Cell::new(None),
            facts: RefCell::default(),
            watches: RefCell::default(),
            access_names: RefCell::default(),
            content_bytes: Cell::new(0),
            open_files: Cell::new(0),
            epoch: Cell::new(1),
            events: Cell::new(0),
            made: Extensions::default(),
            aside: Arc::new(Semaphore::new(1)),
            asker: Asker::new(QUESTIONS),
            listing: Semaphore::new(1),
            extensions: Extensions::default(),
        })
    }

    /// Returns the epoch: facts derived in it hold while it lasts.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    /// Closes the connection if the site has been idle; its process ends when all threads have.
    pub(crate) fn close_if_idle(&self, now: u32) {
        let idle = self.hub.is_idle(self.id, now);
        let link = self.link.borrow().clone();
        if let Some(link) = link
            && (link.is_dead() || (idle && link.is_idle()))
        {
            self.forget();
            self.made.clear();
            self.link.borrow_mut().take();
            link.close();
        }
    }

    /// The connection to the site's process, which is started if need be.
    pub(crate) async fn link(self: &Rc<Self>) -> Result<Rc<Link>, SiteError> {
        if let Some(link) = self.living_link() {
            return Ok(link);
        }
        let asked = Instant::now();
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(link) = self.living_link() {
            return Ok(link);
        }
        // Who has waited while another was left waiting need not wait as long again.
        if self.silent.get().is_some_and(|at| at > asked) {
            return Err(SiteError::Silent);
        }
        self.forget();
        if let Some(former) = self.link.take() {
            former.close();
        }
        let spawn = |error: io::Error| SiteError::Spawn(error.to_string());
        let mut last = SiteError::Gone;
        // A connection handed out just as the process ends is one more try, not an error.
        for _ in 0..3 {
            let connection = self.hub.connect(self.id).await.map_err(spawn)?;
            match Link::open(connection).await {
                Ok((link, inotify)) => {
                    if let Some(inotify) = inotify {
                        tokio::task::spawn_local(self.clone().follow(inotify, Rc::downgrade(&link)));
                    }
                    *self.link.borrow_mut() = Some(link.clone());
                    return Ok(link);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    self.silent.set(Some(Instant::now()));
                    return Err(SiteError::Silent);
                }
                Err(error) => match error.get_ref().and_then(|e| e.downcast_ref::<OtherBuild>()) {
                    Some(other) => return Err(SiteError::OtherBuild(other.clone())),
                    None => last = spawn(error),
                },
            }
        }
        Err(last)
    }

    fn living_link(&self) -> Option<Rc<Link>> {
        self.link.borrow().as_ref().filter(|link| !link.is_dead()).cloned()
    }

    /// Returns the facts about `path` from memory, if they are known to be current.
    pub(crate) fn remembered(&self, path: &[u8], access: &AccessFiles) -> Option<Rc<Facts>> {
        self.facts.borrow().get(&key(path, access)).cloned()
    }

    /// Returns the facts about `path` (absolute, no dot segments).
    pub(crate) async fn walk(
        self: &Rc<Self>,
        path: &[u8],
        access: &AccessFiles,
    ) -> Result<Rc<Facts>, SiteError> {
        if let Some(facts) = self.remembered(path, access) {
            return Ok(facts);
        }
        // A process that ends while it is asked is asked again, once: looking changes nothing.
        for last in [false, true] {
            let link = self.link().await?;
            let (epoch, events) = (self.epoch.get(), self.events.get());
            let walk = Walk {
                id: 0,
                path: path.to_vec().into(),
                htaccess_from: access.from,
                access_files: access.names.to_vec(),
                open: true,
                watch: true,
            };
            match link.walk(walk).await {
                Ok((walked, descriptor)) => {
                    let undisturbed = epoch == self.epoch.get() && events == self.events.get();
                    return Ok(self.remember(path, access, walked, descriptor, undisturbed));
                }
                Err(SiteError::Gone) if !last => {}
                Err(error) => return Err(error),
            }
        }
        Err(SiteError::Gone)
    }

    /// A directory's entries whose names begin with `prefix`; not remembered.
    pub(crate) async fn list(
        self: &Rc<Self>,
        path: &[u8],
        prefix: &[u8],
    ) -> Result<Result<Vec<Entry>, i32>, SiteError> {
        match self.link().await?.list(path, prefix).await {
            Err(SiteError::Gone) => self.link().await?.list(path, prefix).await,
            done => done,
        }
    }

    fn remember(
        &self,
        path: &[u8],
        access: &AccessFiles,
        walked: WalkResult,
        descriptor: Option<OwnedFd>,
        undisturbed: bool,
    ) -> Rc<Facts> {
        let file = match (descriptor, walked.levels.last()) {
            (Some(descriptor), Some(level)) if walked.opened => {
                Some(Rc::new(OpenFile::new(descriptor, level.info)))
            }
            _ => None,
        };
        let lasting = walked.watched && undisturbed;
        let facts = Rc::new(Facts { walked, file, lasting });
        if lasting {
            self.keep(path, access, &facts);
        }
        facts
    }

    fn keep(&self, path: &[u8], access: &AccessFiles, facts: &Rc<Facts>) {
        self.content_bytes.set(self.content_bytes.get() + facts.size());
        self.open_files.set(self.open_files.get() + usize::from(facts.file.is_some()));
        let full = self.facts.borrow().len() >= MAX_FACTS
            || self.content_bytes.get() > MAX_CONTENT
            || self.open_files.get() > MAX_OPEN.max(MAX_FACTS / 4);
        if full {
            self.forget();
        }
        for name in access.names.iter() {
            let mut known = self.access_names.borrow_mut();
            if !known.iter().any(|k| k.as_slice() == name.as_slice()) {
                known.push(name.to_vec());
            }
        }
        let mut watches = self.watches.borrow_mut();
        let mut end = 0;
        for (depth, level) in facts.walked.levels.iter().enumerate() {
            if depth > 0 {
                end = path[end + 1..].iter().position(|&b| b == b'/').map_or(path.len(), |n| end + 1 + n);
            }
            if let Some(wd) = level.watch {
                let directory = &path[..end];
                let watched = watches.entry(wd).or_default();
                if !watched.directories.iter().any(|d| d == directory) {
                    watched.directories.push(directory.to_vec());
                }
            }
        }
        for wd in &facts.walked.watches {
            watches.entry(*wd).or_default().other = true;
        }
        self.facts.borrow_mut().insert(key(path, access), facts.clone());
    }

    /// Forgets what was made of open files and is of this type, as far as nobody is at it.
    pub(crate) fn forget_made<T: 'static>(&self) {
        self.facts
            .borrow()
            .values()
            .filter_map(|facts| facts.file.as_ref())
            .for_each(|file| file.extensions.forget::<T>());
    }

    /// Forgets everything remembered.
    fn forget(&self) {
        self.facts.borrow_mut().clear();
        self.watches.borrow_mut().clear();
        self.content_bytes.set(0);
        self.open_files.set(0);
        self.epoch.set(self.epoch.get() + 1);
    }

    /// Reads inotify events until the connection they belong to is gone.
    async fn follow(self: Rc<Self>, inotify: OwnedFd, link: std::rc::Weak<Link>) {
        let Ok(inotify) = hostler_gateway::register(inotify, Interest::READABLE) else { return };
        loop {
            let events = inotify.async_io(Interest::READABLE, read_events);
            let events = tokio::select! {
                events = events => events,
                () = tokio::time::sleep(std::time::Duration::from_secs(5)) => Ok(Vec::new()),
            };
            if link.upgrade().is_none_or(|l| l.is_dead()) {
                break;
            }
            match events {
                Ok(events) => events.iter().for_each(|event| self.changed(event)),
                Err(_) => break,
            }
        }
        self.forget();
    }

    fn changed(&self, event: &Event) {
        self.events.set(self.events.get() + 1);
        if event.overflow {
            self.forget();
            return;
        }
        let mut stale: Vec<Vec<u8>> = Vec::new();
        {
            let watches = self.watches.borrow();
            let Some(watched) = watches.get(&event.wd) else { return };
            if watched.other {
                drop(watches);
                self.forget();
                return;
            }
            for directory in &watched.directories {
                let mut path = directory.clone();
                // An access file decides about everything below its directory.
                let whole = event.name.is_empty() || self.access_names.borrow().contains(&event.name);
                if !whole {
                    path.push(b'/');
                    path.extend_from_slice(&event.name);
                }
                stale.push(path);
            }
        }
        let dropped = stale.iter().map(|path| self.forget_below(path)).fold(false, |any, d| any | d);
        if dropped {
            self.epoch.set(self.epoch.get() + 1);
        }
    }

    /// Forgets what stands at `path` and below; whether there was anything.
    fn forget_below(&self, path: &[u8]) -> bool {
        let mut facts = self.facts.borrow_mut();
        let stale: Vec<Vec<u8>> = facts
            .range(path.to_vec()..)
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(path))
            .filter(|key| matches!(key.get(path.len()), Some(0 | b'/')))
            .cloned()
            .collect();
        for key in &stale {
            if let Some(facts) = facts.remove(key) {
                self.content_bytes.set(self.content_bytes.get().saturating_sub(facts.size()));
                let open = usize::from(facts.file.is_some());
                self.open_files.set(self.open_files.get().saturating_sub(open));
            }
        }
        !stale.is_empty()
    }
}

/// Paths have no NUL; after it comes what else the answer depends on.
fn key(path: &[u8], access: &AccessFiles) -> Vec<u8> {
    let mut key = Vec::with_capacity(path.len() + 16);
    key.extend_from_slice(path);
    key.push(0);
    key.extend_from_slice(&access.from.to_be_bytes());
    if access.from != u32::MAX {
        for name in access.names.iter() {
            key.extend_from_slice(name);
            key.push(b'/');
        }
    }
    key
}

struct Event {
    wd: i32,
    name: Vec<u8>,
    overflow: bool,
}

fn read_events(inotify: &OwnedFd) -> io::Result<Vec<Event>> {
    let mut space = [MaybeUninit::uninit(); 8 << 10];
    let mut reader = rustix::fs::inotify::Reader::new(inotify, &mut space);
    let mut events = Vec::new();
    loop {
        let event = reader.next()?;
        events.push(Event {
            wd: event.wd(),
            name: event.file_name().map(|n| n.to_bytes().to_vec()).unwrap_or_default(),
            overflow: event.events().contains(rustix::fs::inotify::ReadFlags::QUEUE_OVERFLOW),
        });
        if reader.is_buffer_empty() {
            return Ok(events);
        }
    }
}
