//! Before the front of a new generation takes over: the pools that have processes in the generation that serves get
//! theirs in this one, too, so that nobody has to wait for them. Parents that have loaded the same are taken over;
//! others are started. So it is with programs that listen: where fronts share them they are taken over, otherwise they are
//! started anew, and have to serve before the front does.
//!
//! It takes no longer than [`LONGEST`], whatever the programs do that are loaded; a site that does not answer is not
//! waited for. What is not ready by then is so later, and its own requests wait for it.

use crate::hook::plan::plan;
use crate::hook::registry::Resumes;
use crate::request::thread::Thread;
use crate::technique::pools::Engines;
use crate::technique::pools::Which;
use hostler_wire::plan::SiteId;
use serde_bytes::ByteBuf;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The longest time a new generation waits for pools, all together.
const LONGEST: Duration = Duration::from_secs(10);
/// The time limit for a site's process to name its pools, and the number asked at the same time.
const ANSWER: Duration = Duration::from_secs(1);
const ASKED: usize = 32;
/// Pools that are made ready at the same time, for each thread: those that have to load keep a processor busy.
const AT_ONCE: usize = 2;
/// One that takes longer does not keep others waiting.
const LONG: Duration = Duration::from_secs(1);

/// Something to make ready.
pub(crate) enum Wanted {
    Pool(Which),
    /// A module's program of a site.
    Program(Resumes, SiteId, Vec<ByteBuf>),
}

impl Wanted {
    async fn make_ready(self, thread: &Rc<Thread>) {
        match self {
            Self::Pool(which) => thread.shared.of::<Engines>().warm(thread, which).await,
            Self::Program(resume, site, args) => resume(thread.clone(), site, args).await,
        }
    }
}

/// That, and who is told, by the end of this.
type Order = (Wanted, oneshot::Sender<()>);
/// Orders to a thread to make something ready.
pub(crate) type Orders = mpsc::UnboundedReceiver<Order>;

/// The threads that make pools ready, each its share: they look after them from then on.
pub(crate) struct Warming {
    threads: Vec<mpsc::UnboundedSender<Order>>,
    over: watch::Sender<bool>,
}

impl Warming {
    /// For so many threads; what each of them obeys.
    pub(crate) fn new(threads: usize) -> (Self, Vec<Orders>) {
        let (threads, orders) = (0..threads).map(|_| mpsc::unbounded_channel()).unzip();
        (Self { threads, over: watch::channel(false).0 }, orders)
    }

    /// Waits until this front takes over.
    pub(crate) async fn over(&self) {
        // It never closes before.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }
}

/// Makes ready what `sites`, whose processes run already, have pools for; then the front serves.
pub(crate) async fn up(thread: Rc<Thread>, sites: Vec<SiteId>) {
    let mut all: JoinSet<()> = JoinSet::new();
    let asking = Arc::new(Semaphore::new(ASKED));
    for site in sites {
        all.spawn_local(warm_site(thread.clone(), site, asking.clone()));
    }
    let _ = timeout(LONGEST, async { while all.join_next().await.is_some() {} }).await;
    // Who is still at it goes on.
    all.detach_all();
    thread.shared.of::<Warming>().over.send_replace(true);
    thread.shared.hub.ready();
}

async fn warm_site(thread: Rc<Thread>, site: SiteId, asking: Arc<Semaphore>) {
    let Ok(place) = asking.acquire().await else { return };
    let asked = timeout(ANSWER, async { thread.site_of(site).link().await?.parents().await }).await;
    drop(place);
    let Ok(Ok(running)) = asked else { return };
    let pools = thread.shared.of::<Engines>().named(&thread.shared, site, &running.pools);
    let programs = running
        .programs
        .into_iter()
        .filter_map(|program| Some(Wanted::Program(plan().resumes(&program.path)?, site, program.args)));
    let mut waits = Vec::new();
    for (at, wanted) in programs.chain(pools.into_iter().map(Wanted::Pool)).enumerate() {
        let threads = &thread.shared.of::<Warming>().threads;
        let (done, ready) = oneshot::channel();
        if threads[(site as usize + at) % threads.len()].send((wanted, done)).is_ok() {
            waits.push(ready);
        }
    }
    for ready in waits {
        // Its end is the answer.
        let _ = ready.await;
    }
}

/// A thread's part.
pub(crate) async fn obey(thread: Rc<Thread>, mut orders: Orders) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    while let Some((wanted, done)) = orders.recv().await {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let thread = thread.clone();
        tokio::task::spawn_local(async move {
            let mut warm = pin!(wanted.make_ready(&thread));
            if timeout(LONG, &mut warm).await.is_err() {
                drop(place);
                warm.await;
            }
            drop(done);
        });
    }
}
