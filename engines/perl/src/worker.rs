//! A worker: serves one request after another until it is told to go, or has done its share.

use hostler_ring::worker::Worker;
use hostler_wire::engine::Setup;
use hostler_wire::work::Usual;
use rustix::process::Pid;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::processor::Processor;
use crate::serving::{Served, Serving};
use crate::{perl, process};

/// How often an idle worker looks whether it was told to go: a signal that comes just before it falls asleep does not
/// wake it.
const LOOK: Duration = Duration::from_secs(2);

/// What requests take on average, in microseconds, as long as answers may wait for the next ones to be told together.
const LIGHT: u32 = 60;

/// What a worker begins with.
pub(crate) struct Start<'a> {
    pub(crate) parent: Pid,
    pub(crate) memory: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) wakers: Vec<OwnedFd>,
    pub(crate) setup: &'a Setup,
    /// Its name.
    pub(crate) title: &'a str,
}

/// Lives the worker's life; the process ends with it.
pub(crate) fn run(start: Start<'_>) -> ! {
    let setup = start.setup;
    if let Err(e) = process::begin_worker(start.parent, &start.stderr, setup.one_shot) {
        fail(&e.to_string());
    }
    drop(start.stderr);
    process::title(start.title);
    let worker = match Worker::attach(start.memory, start.wakers) {
        Ok(worker) => worker,
        Err(e) => fail(&e.to_string()),
    };
    if let Err(why) = perl::child_init(&setup.child_init) {
        process::complain(why.as_bytes());
    }
    serve_all(worker, setup);
    perl::end(&setup.child_exit, setup.one_shot);
    process::exit_now(0)
}

fn serve_all(mut worker: Worker, setup: &Setup) {
    let most = if setup.one_shot { 1 } else { setup.max_requests };
    let mut serving = Serving::new(Processor::new(setup));
    let (mut count, mut usual) = (0, Usual::of(LIGHT));
    while !process::is_terminated() {
        let Some(conversation) = worker.next(Some(LOOK)) else { continue };
        count += 1;
        match serving.serve(conversation, Instant::now(), most != 0 && count >= most) {
            Served::Goes => break,
            Served::Stays(conversation) => {
                usual.add(serving.micros());
                if usual.micros() < LIGHT {
                    worker.finish(conversation, Instant::now());
                }
            }
            Served::Malformed => fail("a malformed message from the front"),
        }
    }
    worker.settle();
    // The process ends: what it has is not taken apart before.
    std::mem::forget((worker, serving));
}

fn fail(why: &str) -> ! {
    process::complain(format!("hostler-perl: {why}").as_bytes());
    process::exit_now(1)
}
