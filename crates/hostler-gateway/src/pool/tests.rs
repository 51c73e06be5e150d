//! A pool with a false engine: a thread that plays the parent and one thread for each worker, over real shared
//! memory and a real control socket. What a worker does is told to it by the request.

#![allow(clippy::unwrap_used)]

mod adopted;
mod crowd;
mod engine;
mod gather;
mod growth;
mod left;
mod order;
mod trouble;

use super::*;
use crate::backend::OnAbandon;
use crate::backend::TimeLimit;
use crate::backend::ring::{Exchange, Frame, Pool, Work, attentive, before_park};
use engine::{Engine, FalseHost};
use hostler_wire::work::FromWorker;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;

/// The longest time a worker may do nothing.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a test on a thread as the front's are: with a `LocalSet`, and a look at the channels before it parks.
fn run(test: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().on_thread_park(before_park).build().unwrap();
    let local = tokio::task::LocalSet::new();
    let limit = Duration::from_secs(30);
    local.block_on(&runtime, async { tokio::time::timeout(limit, test()).await.expect("the test hangs") });
}

/// A pool with its engine, ended with the value.
struct Site {
    pool: Arc<Pool>,
    engine: Rc<Engine>,
}

impl Site {
    fn new(settings: Settings) -> Self {
        let engine = Rc::new(Engine::default());
        let pool = Pool::new("test".into(), settings, 2);
        tokio::task::spawn_local(pool.clone().maintain(FalseHost(engine.clone())));
        Self { pool, engine }
    }

    /// Begins a request that has the worker do this.
    async fn begin(&self, what: &str) -> Result<Exchange, Error> {
        self.pool.begin(work(what)).await
    }

    /// The whole answer's body.
    async fn ask(&self, what: &str) -> Result<String, Error> {
        finish(self.begin(what).await?).await
    }

    /// Asks in the background.
    fn ask_later(&self, what: &str) -> tokio::task::JoinHandle<Result<String, Error>> {
        let (pool, work) = (self.pool.clone(), work(what));
        tokio::task::spawn_local(async move { finish(pool.begin(work).await?).await })
    }

    /// Waits until this is so.
    async fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) {
        for _ in 0..2000 {
            if is_so(&self.pool.status()) {
                return;
            }
            // Time: looks again.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("never {what}: {:?}", self.pool.status());
    }

    async fn until_busy(&self, count: usize) {
        self.until("busy", |status| in_state(status, WorkerState::Busy) == count).await;
    }

    async fn until_idle(&self, count: usize) {
        self.until("idle", |status| in_state(status, WorkerState::Idle) == count).await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.pool.close();
        self.engine.end();
    }
}

fn in_state(status: &Status, state: WorkerState) -> usize {
    status.workers.iter().filter(|worker| worker.state == state).count()
}

fn work(what: &str) -> Work {
    work_with(what, 0)
}

fn work_with(what: &str, flags: u32) -> Work {
    let mut define = Vec::new();
    hostler_wire::work::ToWorker::Define { id: 7, directory: b"directory" }.encode(&mut define);
    let head = hostler_wire::work::RequestHead {
        flags,
        directory: 7,
        uri: what.as_bytes(),
        ..hostler_wire::work::RequestHead::default()
    };
    let mut request = Vec::new();
    hostler_wire::work::ToWorker::Request(Box::new(head)).encode(&mut request);
    Work {
        thread: 0,
        directory: (7, define.into()),
        request,
        timeout: TimeLimit { after: TIMEOUT, set_by: "the test" },
        on_abandon: OnAbandon::TakeBackOrKill(TIMEOUT),
    }
}

async fn next(exchange: &mut Exchange) -> Option<Result<Frame, Error>> {
    poll_fn(|context| exchange.poll_next(context)).await
}

/// Reads to the end; the body.
async fn finish(mut exchange: Exchange) -> Result<String, Error> {
    let mut body = Vec::new();
    while let Some(frame) = next(&mut exchange).await.transpose()? {
        if frame.kind == FromWorker::BODY {
            body.extend_from_slice(&frame.body);
        }
    }
    Ok(String::from_utf8(body).unwrap())
}

/// A pool of so many workers, no more and no less.
fn exactly(workers: u32) -> Settings {
    Settings { start: workers, min_spare: 1, max_spare: workers, max_workers: workers, ..Settings::default() }
}
