//! The front's end at a moment's notice (SIGTERM, or the master's death). Requests without a response get a page that
//! says why, responses under way are cut off and logged with the cause, and every line that waits for an access log is
//! written.

use crate::io::deadline;
use crate::limits::watch as requests;
use crate::request::thread::Thread;
use hostler_sys::signal::{Number, Signals};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::Interest;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The time limit for the threads to write their lines; one may wait for a program that does not read.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(2);
/// The looks, a [`PAUSE`] apart, for requests to come to their pages and then for connections to come to their lines.
const LOOKS: usize = 200;

/// The threads' agreement on the end.
pub(crate) struct Stop {
    told: watch::Sender<bool>,
    /// Threads that have written their lines.
    written: AtomicUsize,
}

impl Stop {
    pub(crate) fn new() -> Self {
        Self { told: watch::channel(false).0, written: AtomicUsize::new(0) }
    }
}

/// Blocks SIGTERM, so that it arrives where it is waited for. Before threads are started.
pub(crate) fn signals() -> io::Result<Signals> {
    Signals::block(&[Number::TERM])
}

/// Waits for the end and carries it out. `master` ends when the master does: without it the front must not continue to
/// serve (its death takes everything down).
pub(crate) async fn wait(
    thread: Rc<Thread>,
    signals: Signals,
    master: JoinHandle<io::Result<()>>,
    threads: usize,
) {
    tokio::select! {
        _ = master => {}
        _ = terminated(&signals) => {}
    }
    let stop = &thread.shared.of::<Stop>();
    thread.shared.ending.store(true, Ordering::Relaxed);
    stop.told.send_replace(true);
    let all_written = async {
        while stop.written.load(Ordering::Acquire) < threads {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let _ = tokio::time::timeout(PATIENCE, all_written).await;
    std::process::exit(0);
}

async fn terminated(signals: &Signals) -> io::Result<()> {
    let readable = hostler_gateway::register(signals.as_fd().try_clone_to_owned()?, Interest::READABLE)?;
    loop {
        let mut ready = readable.readable().await?;
        if signals.next()?.is_some() {
            return Ok(());
        }
        ready.clear_ready();
    }
}

/// The part of each thread.
pub(crate) async fn write_out(thread: Rc<Thread>) {
    let mut told = thread.shared.of::<Stop>().told.subscribe();
    if told.wait_for(|told| *told).await.is_ok() {
        requests::end_all();
        until(|| !requests::has_requests()).await;
        // Their pages are written.
        tokio::time::sleep(PAUSE).await;
        deadline::cut_off_all();
        until(|| thread.shared.connections.load(Ordering::Relaxed) == 0).await;
        crate::log::access_log::flush_all(&thread);
        thread.shared.of::<Stop>().written.fetch_add(1, Ordering::Release);
    }
}

/// Waits for something that does not take long.
async fn until(done: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if done() {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
