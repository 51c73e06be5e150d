//! How a request comes to a worker: one that is idle at once, or the queue of its pool.

use crate::request::thread::Thread;
use crate::technique::pools::Engines;
use hostler_config::Server;
use hostler_config::technique::Engine;
use hostler_gateway::Error;
use hostler_gateway::backend::ring::{Exchange, Pool, Work};
use std::rc::Rc;
use std::sync::Arc;

/// How a request comes to a worker.
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one, and moved once")]
pub(crate) enum Begin {
    Now(Exchange),
    /// Too many wait already.
    Never(Error),
    /// Nobody is idle.
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
