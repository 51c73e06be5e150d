//! Getting a worker for a request: an idle one at once, or the queue of its pool.

use crate::request::Request;
use crate::request::thread::Thread;
use crate::technique::pools::Engines;
use hostler_config::Server;
use hostler_config::technique::Engine;
use hostler_gateway::backend::ring::{Exchange, Pool, Work};
use hostler_gateway::{Error, Kind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The start of a request at a worker.
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one, and moved once")]
pub(crate) enum Begin {
    Now(Exchange),
    /// Too many wait already.
    Never(Error),
    /// No worker is idle.
    Later(Arc<Pool>, Work),
}

/// Why a request that comes now would get no worker, so that none is to be told of it. `one_shot`: it wants a process for
/// itself; `group`: the group whose it is, if the engine's programs are divided.
pub(crate) fn refusal(
    thread: &Rc<Thread>,
    server: &Server,
    engine: &Engine,
    one_shot: bool,
    group: Option<&Arc<str>>,
) -> Option<Error> {
    let engines = thread.shared.of::<Engines>();
    match engines.of_group(thread, server, engine, one_shot, group) {
        Ok(pool) => pool.refusal(),
        Err(error) => Some(error),
    }
}

/// The longest wait for a worker by a request that workers wait for: they could be the ones it needs.
const NESTED: Duration = Duration::from_secs(1);
/// The same for a process of its own, which has to be started first and is never one of those that wait.
const NESTED_PROCESS: Duration = Duration::from_secs(10);

/// Waits in the pool's queue. A request that workers wait for never waits for those: it fails if they are all that the pool
/// may have, or if none of the others falls idle soon.
///
/// # Errors
/// Why there was no worker.
pub(crate) async fn later(request: &Request, pool: &Arc<Pool>, work: Work) -> Result<Exchange, Error> {
    if request.waiting_workers == 0 {
        return pool.begin(work).await;
    }
    let most = hostler_config::pools::settings(&request.server).max_workers;
    let patience = if pool.is_one_shot() { NESTED_PROCESS } else { NESTED };
    let begun = if request.waiting_workers < most || pool.is_one_shot() {
        tokio::time::timeout(patience, pool.begin(work)).await.ok()
    } else {
        None
    };
    begun.unwrap_or_else(|| {
        let why = format!(
            "all workers of its pool are busy, and {} of the {most} that there may be (MaxRequestWorkers) wait for this \
             part of their own response",
            request.waiting_workers.min(most)
        );
        Err(Error::because(Kind::QueueTimeout, why))
    })
}

/// Gives a request to a worker, if one is idle.
pub(crate) fn begin(
    thread: &Rc<Thread>,
    server: &Server,
    engine: &Engine,
    one_shot: bool,
    group: Option<&Arc<str>>,
    work: Work,
) -> Begin {
    let pool = match thread.shared.of::<Engines>().of_group(thread, server, engine, one_shot, group) {
        Ok(pool) => pool,
        Err(error) => return Begin::Never(error),
    };
    match pool.try_begin(work) {
        Ok(exchange) => Begin::Now(exchange),
        Err(work) => Begin::Later(pool, work),
    }
}
