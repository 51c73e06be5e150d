//! A worker: serves one request after another until it is told to go, or has done its share.

use hostler_ring::worker::Worker;
use hostler_wire::engine::Setup;
use hostler_wire::work::MovingAverage;
use rustix::process::Pid;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::notes::{self, Notes};
use crate::processor::Processor;
use crate::trip::{Fate, Trip};
use crate::{Engine, Serve, process};

/// The interval at which an idle worker checks whether it should exit: a signal just before it falls asleep does not
/// wake it.
const LOOK: Duration = Duration::from_secs(2);

/// The average duration of requests, in microseconds, up to which responses may wait to be announced together with the
/// next ones.
const LIGHT: u32 = 60;

/// The inputs of a worker's start.
pub(crate) struct Start<'a> {
    pub(crate) parent: Pid,
    pub(crate) memory: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) wakers: Vec<OwnedFd>,
    pub(crate) setup: &'a Setup,
    /// Its name.
    pub(crate) title: &'a str,
    /// The channel by which the parent learns that it has begun, or why not.
    pub(crate) notes: &'a Notes,
}

/// Lives the worker's life; the process ends with it.
pub(crate) fn run<E: Engine>(engine: &mut E, start: Start<'_>) -> ! {
    let setup = start.setup;
    if let Err(e) = process::begin_worker(start.parent, &start.stderr, setup.one_shot) {
        fail::<E>(&e.to_string());
    }
    drop(start.stderr);
    process::title(start.title);
    let worker = match Worker::attach(start.memory, start.wakers) {
        Ok(worker) => worker,
        Err(e) => fail::<E>(&e.to_string()),
    };
    let mut own = match engine.begin_worker() {
        Ok(own) => own,
        Err(why) => {
            complain::<E>(&why);
            start.notes.tell(&why);
            process::exit_now(notes::STATUS)
        }
    };
    // A worker that serves one request has been given it meanwhile.
    start.notes.leave(!setup.one_shot);
    if serve_all(worker, &mut own, setup).is_err() {
        fail::<E>("a malformed message from the front");
    }
    own.end();
    process::exit_now(0)
}

/// A message of the front's is malformed.
struct Malformed;

fn serve_all<S: Serve>(mut worker: Worker, own: &mut S, setup: &Setup) -> Result<(), Malformed> {
    let most = if setup.one_shot { 1 } else { setup.max_requests };
    let mut trip = Trip::new(Processor::new(setup));
    let (mut count, mut usual) = (0, MovingAverage::of(LIGHT));
    while !process::is_terminated() {
        let Some(conversation) = S::idle(|| worker.next(Some(LOOK))) else { continue };
        count += 1;
        match trip.serve(own, conversation, Instant::now(), most != 0 && count >= most) {
            Fate::Goes => break,
            Fate::Stays(conversation) => {
                usual.add(trip.micros());
                if usual.micros() < LIGHT {
                    worker.finish(conversation, Instant::now());
                }
            }
            Fate::Malformed => return Err(Malformed),
        }
    }
    worker.settle();
    // The process ends: what it has is not taken apart before.
    std::mem::forget((worker, trip));
    Ok(())
}

fn fail<E: Engine>(why: &str) -> ! {
    complain::<E>(why);
    process::exit_now(1)
}

fn complain<E: Engine>(why: &str) {
    process::complain(format!("{}: {why}", E::name().to_string_lossy()).as_bytes());
}
