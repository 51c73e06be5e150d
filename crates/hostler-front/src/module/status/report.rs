//! The answer to `hostler status`: the same figures as on the status page, as one frame to everybody who connects
//! to the status socket, which the master made and passed.
//!
//! **Runs as** the front. **Diagnostics**: none; who asks is told, or sees the stream end.

use super::members;
use crate::request::counters;
use crate::request::thread::SharedState;
use crate::site::hub::MasterMessage;
use crate::technique::pools::Engines;
use crate::technique::sockets::Sockets;
use hostler_gateway::Kind;
use hostler_gateway::pool::{BUCKETS, Figure, Histogram, Status, WorkerState};
use hostler_wire::frame::{self, HEAD, Head};
use hostler_wire::report::{Ask, Distribution, FORM, MAX_ASK, MAX_REPORT, Pool, Report, Site, State, Worker};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// The time limit for a client to read the reply.
const PATIENCE: Duration = Duration::from_secs(5);
/// After a failed accept (no descriptors left).
const PAUSE: Duration = Duration::from_millis(200);
/// Most characters of a text that comes from elsewhere.
const LONGEST: usize = 500;

/// Answers everybody who asks, one after the other, until this front drains: a newer one answers then.
pub(crate) async fn answer_all(shared: Arc<SharedState>, told: MasterMessage) {
    shared.generation.store(told.generation, Ordering::Relaxed);
    let Ok(listener) = listener(told.socket) else { return };
    let mut drain = shared.drain.clone();
    loop {
        let accepted = tokio::select! {
            _ = drain.wait_for(|drains| *drains) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((mut stream, _)) => {
                let Ok(Ok(asked)) = tokio::time::timeout(PATIENCE, ask(&mut stream)).await else { continue };
                let refused = members::carry_out(&shared, &asked).err();
                let report = Report { refused, ..report(&shared, told.generation, told.started) };
                let _ = tokio::time::timeout(PATIENCE, answer(stream, &report)).await;
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

fn listener(socket: OwnedFd) -> io::Result<UnixListener> {
    let listener = std::os::unix::net::UnixListener::from(socket);
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

/// Reads the request. The client is the server's user, or root.
async fn ask(stream: &mut UnixStream) -> io::Result<Ask> {
    let mut head = [0; HEAD];
    stream.read_exact(&mut head).await?;
    let head = Head::decode(head).map_err(io::Error::other)?;
    if head.body > MAX_ASK || head.fds > 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; head.body];
    stream.read_exact(&mut body).await?;
    frame::decode(&body).map_err(io::Error::other)
}

async fn answer(mut stream: UnixStream, report: &Report) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame::encode(report, 0, &mut bytes).map_err(io::Error::other)?;
    if bytes.len() > MAX_REPORT {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    stream.write_all(&bytes).await?;
    stream.shutdown().await
}

fn report(shared: &SharedState, generation: u32, started: Instant) -> Report {
    let (user, system) = super::processor_time();
    let site = |(id, name): (usize, &String)| {
        let totals = counters::of_site(&shared.counters, id as u32);
        Site {
            name: text(name),
            requests: totals.requests,
            bytes: totals.bytes,
            classes: totals.classes,
            latency: distribution(&totals.latency()),
            limits: shared.hub.limits(id as u32),
            programs: shared.programs.figures(id).running as u64,
            programs_waiting: shared.programs.figures(id).waiting as u64,
        }
    };
    Report {
        form: FORM,
        release: env!("CARGO_PKG_VERSION").to_owned(),
        front: shared.pid,
        generation: generation.into(),
        uptime_ms: started.elapsed().as_millis() as u64,
        serving_ms: shared.started.elapsed().as_millis() as u64,
        processor_ms: ((user + system) * 1000.0) as u64,
        connections: shared.connections.load(Ordering::Relaxed) as u64,
        bounds: BUCKETS.to_vec(),
        sites: shared.site_names.iter().enumerate().map(site).collect(),
        pools: shared
            .of::<Engines>()
            .statuses()
            .iter()
            .chain(&shared.of::<Sockets>().statuses())
            .map(pool)
            .collect(),
        balancers: members::balancers(shared),
        members: members::all(shared),
        refused: None,
    }
}

fn pool(status: &Status) -> Pool {
    let worker = |worker: &hostler_gateway::pool::WorkerStatus| Worker {
        pid: worker.pid,
        state: match worker.state {
            WorkerState::Starting => State::Starting,
            WorkerState::Idle => State::Idle,
            WorkerState::Busy => State::Busy,
            WorkerState::Ending => State::Ending,
        },
        since_ms: worker.since.as_millis() as u64,
        requests: worker.requests,
        memory: worker.memory,
    };
    let error = |(kind, count): &(Kind, u64)| (format!("{kind:?}"), kind.cause().to_owned(), *count);
    Pool {
        name: text(&status.name),
        parent: status.parent,
        failed: status.failed.as_deref().map(text),
        version: text(&status.version),
        parent_memory: status.memory,
        workers: status.workers.iter().map(worker).collect(),
        max_workers: status.max_workers,
        queue: status.queue as u64,
        served: status.served,
        errors: status.errors.iter().filter(|(_, count)| *count > 0).map(error).collect(),
        forked: status.forked,
        crashed: status.crashed,
        evicted: status.evicted,
        idled: status.idled,
        latency: distribution(&status.latency),
        waits: distribution(&status.waits),
        figures: status.figures.all.iter().map(figure).collect(),
        advice: status.figures.advice.as_deref().map(text),
    }
}

fn figure(figure: &Figure) -> (String, String, u64) {
    (figure.name.to_owned(), figure.title.to_owned(), figure.value)
}

fn distribution(histogram: &Histogram) -> Distribution {
    Distribution { counts: histogram.counts.to_vec(), sum: histogram.sum }
}

/// Cleans a text that a tenant's engine may have influenced: short, and without characters that control a terminal.
pub(super) fn text(from: &str) -> String {
    from.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_tame() {
        assert_eq!(text("a\x1b[31mb\n"), "a [31mb ");
        assert_eq!(text(&"x".repeat(9999)).len(), LONGEST);
    }
}
