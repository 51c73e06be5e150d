//! A pool of connections to an application in threads of the test's own: what it does is told to it by the request.

#![allow(clippy::unwrap_used)]

mod application;

use super::*;
use crate::backend::OnAbandon;
use crate::backend::stream;
use crate::pool::{Settings, Status};
use crate::supervisor::connect::Host;
use crate::{Error, Kind};
use application::Application;
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

type Work = stream::Work<Ask>;

const KEPT: Ask = Ask { keep: Keep::Connection, own: None };

const TIMEOUT: Duration = Duration::from_secs(10);

fn run(test: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let limit = Duration::from_secs(30);
    local.block_on(&runtime, async { tokio::time::timeout(limit, test()).await.expect("the test hangs") });
}

struct Path(Rc<Application>);

impl Host for Path {
    async fn connect(&self) -> Result<OwnedFd, Error> {
        let connected = UnixStream::connect(self.0.path());
        connected.map(OwnedFd::from).map_err(|error| Error::because(Kind::NotConnected, error))
    }

    fn in_use(&self) {}

    fn line(&self, _: &[u8]) {}
}

struct Site {
    pool: Arc<Pool>,
    application: Rc<Application>,
}

impl Site {
    fn new(connections: u32) -> Self {
        let settings = Settings {
            start: 1,
            min_spare: 0,
            max_spare: connections,
            max_workers: connections,
            queue_timeout: TIMEOUT,
            ..Settings::default()
        };
        let application = Rc::new(Application::start());
        let pool = Pool::new("test".into(), settings, 1);
        tokio::task::spawn_local(pool.clone().maintain(Path(application.clone())));
        Self { pool, application }
    }

    async fn ask(&self, what: &str) -> Result<String, Error> {
        finish(self.pool.begin(work(what)).await?).await
    }

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

    fn connections(&self) -> u32 {
        self.application.shared.connections.load(Relaxed)
    }

    /// A request that waits for a gate has begun.
    async fn until_begun(&self, count: u32) {
        self.until("begun", |_| self.application.shared.begun.load(Relaxed) >= count).await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.pool.close();
        self.application.end();
    }
}

fn work(what: &str) -> Work {
    let head = head([(&b"DO"[..], what.as_bytes())], false, Keep::Connection).unwrap();
    let on_abandon = OnAbandon::TakeBackOrKill(TIMEOUT);
    Work { thread: 0, head, has_body: false, timeout: TIMEOUT, on_abandon, ask: KEPT }
}

async fn next(exchange: &mut Exchange) -> Option<Result<stream::EventOf<FastCgi>, Error>> {
    poll_fn(|context| exchange.poll_next(context)).await
}

/// The whole output.
async fn finish(mut exchange: Exchange) -> Result<String, Error> {
    let mut output = Vec::new();
    while let Some(event) = next(&mut exchange).await.transpose()? {
        match event {
            Event::Output(piece) => output.extend_from_slice(&piece),
            Event::Log(line) => output.extend([b"[", &line[..], b"]"].concat()),
            Event::End { trouble } => output.extend(trouble.unwrap_or_default().into_bytes()),
        }
    }
    Ok(String::from_utf8(output).unwrap())
}

#[test]
fn a_connection_serves_one_request_after_another() {
    run(async || {
        let site = Site::new(1);
        for number in ["one", "two", "three"] {
            assert_eq!(site.ask(number).await.unwrap(), number);
        }
        assert_eq!(site.connections(), 1);
        let status = site.pool.status();
        assert_eq!((status.begun, status.served), (3, 3));
    });
}

#[test]
fn requests_wait_for_their_turn_when_all_connections_are_busy() {
    run(async || {
        let site = Site::new(2);
        let ask = |what: &'static str| {
            let pool = site.pool.clone();
            tokio::task::spawn_local(async move { finish(pool.begin(work(what)).await?).await })
        };
        let all = [ask("wait gate"), ask("wait gate"), ask("last")];
        site.until_begun(2).await;
        site.until("queued", |status| status.queue == 1).await;
        site.application.open("gate");
        for (asked, expected) in all.into_iter().zip(["wait gate", "wait gate", "last"]) {
            assert_eq!(asked.await.unwrap().unwrap(), expected);
        }
        assert_eq!(site.connections(), 2);
    });
}

#[test]
fn a_body_goes_in_pieces_and_stops_where_the_application_does() {
    run(async || {
        let site = Site::new(1);
        let mut exchange = begin_with_body(&site, "count").await;
        let piece = vec![b'x'; 100_000];
        for _ in 0..30 {
            exchange.send(&piece);
            poll_fn(|context| exchange.poll_room(context)).await;
        }
        exchange.finish();
        assert_eq!(finish(exchange).await.unwrap(), "3000000");
        // One that does not read fills what the kernel holds, and nothing here.
        let mut exchange = begin_with_body(&site, "wait gate").await;
        let mut sent = 0;
        while poll_fn(|context| Poll::Ready(exchange.poll_room(context).is_ready())).await {
            exchange.send(&piece);
            sent += 1;
            assert!(sent < 50, "{sent} pieces were taken");
        }
        site.application.open("gate");
    });
}

async fn begin_with_body(site: &Site, what: &str) -> Exchange {
    let head = head([(&b"DO"[..], what.as_bytes())], true, Keep::Connection).unwrap();
    site.pool.begin(Work { head, has_body: true, ..work(what) }).await.unwrap()
}

#[test]
fn what_is_for_the_log_and_how_it_ended_is_told() {
    run(async || {
        let site = Site::new(1);
        assert_eq!(site.ask("complain").await.unwrap(), "[it is warm]complain");
        assert_eq!(site.ask("overloaded").await.unwrap(), "it is overloaded");
        assert_eq!(site.ask("after").await.unwrap(), "after");
        assert_eq!(site.connections(), 1);
    });
}

#[test]
fn a_connection_that_was_closed_while_it_was_idle_costs_no_request() {
    run(async || {
        let site = Site::new(1);
        // It closes the connection after the answer, though it was not to.
        assert_eq!(site.ask("close after").await.unwrap(), "close after");
        site.until("closed", |_| site.application.shared.closed.load(Relaxed) == 1).await;
        // Time: the event loop takes what the kernel has for it when it rests.
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(site.ask("next").await.unwrap(), "next");
        assert_eq!(site.connections(), 2);
    });
}

#[test]
fn each_failure_has_its_cause() {
    run(async || {
        let site = Site::new(1);
        let cut = site.ask("die").await.unwrap_err();
        assert_eq!((cut.kind, cut.status()), (Kind::ConnectionClosed, 502));
        let other = site.ask("http").await.unwrap_err();
        assert_eq!((other.kind, other.status()), (Kind::ProtocolViolation, 502));
        assert!(other.to_string().contains("is it FastCGI"), "{other}");
        let late = Work { timeout: Duration::from_millis(50), ..work("wait for ever") };
        let late = finish(site.pool.begin(late).await.unwrap()).await.unwrap_err();
        assert_eq!((late.kind, late.status()), (Kind::Timeout, 504));
        assert_eq!(site.ask("after all").await.unwrap(), "after all");
        let errors = site.pool.status().errors;
        assert_eq!(errors.iter().map(|(_, count)| count).sum::<u64>(), 3);
    });
}

#[test]
fn where_nothing_listens_all_are_told_at_once() {
    run(async || {
        let site = Site::new(1);
        site.application.end();
        let error = site.ask("anything").await.unwrap_err();
        assert_eq!(
            (error.kind, error.status(), error.retry_after.is_some()),
            (Kind::NotConnected, 503, true)
        );
    });
}

#[test]
fn an_abandoned_request_is_aborted_and_its_connection_used_again() {
    run(async || {
        let site = Site::new(1);
        let mut exchange = site.pool.begin(work("until aborted")).await.unwrap();
        assert!(matches!(next(&mut exchange).await, Some(Ok(Event::Output(_)))));
        drop(exchange);
        assert_eq!(site.ask("next").await.unwrap(), "next");
        assert_eq!((site.connections(), site.application.shared.aborted.load(Relaxed)), (1, 1));
    });
}

#[test]
fn a_request_that_runs_to_its_end_is_not_aborted() {
    run(async || {
        let site = Site::new(1);
        let run_on = OnAbandon::RunToEnd(TIMEOUT);
        let exchange = site.pool.begin(Work { on_abandon: run_on, ..work("wait gate") }).await.unwrap();
        // Nothing of it has been sent yet.
        drop(exchange);
        site.until_begun(1).await;
        site.application.open("gate");
        assert_eq!(site.ask("next").await.unwrap(), "next");
        assert_eq!((site.connections(), site.application.shared.aborted.load(Relaxed)), (1, 0));
        assert_eq!(site.application.done(), ["wait gate", "next"]);
    });
}

#[test]
fn one_that_takes_longer_than_it_may_loses_its_connection() {
    run(async || {
        let site = Site::new(1);
        let run_on = OnAbandon::RunToEnd(Duration::from_millis(50));
        drop(site.pool.begin(Work { on_abandon: run_on, ..work("wait for ever") }).await.unwrap());
        assert_eq!(site.ask("next").await.unwrap(), "next");
        assert_eq!(site.connections(), 2);
    });
}

/// Types and contents of the records that a body becomes; `own`: the request's own part of it.
fn sent(own: Option<u64>, pieces: &[&[u8]]) -> Vec<(u8, Vec<u8>)> {
    let (mut talk, mut out) = (FastCgi::answer(&Ask { keep: Keep::Connection, own }), Vec::new());
    pieces.iter().for_each(|piece| FastCgi::body(&mut talk, piece, &mut out));
    FastCgi::body_end(&mut talk, &mut out);
    let (mut rest, mut records) = (&out[..], Vec::new());
    while let [_, kind, _, _, high, low, padding, _, more @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        records.push((*kind, more[..length].to_vec()));
        rest = &more[length + usize::from(*padding)..];
    }
    records
}

#[test]
fn a_filter_is_sent_the_request_s_own_body_and_then_the_file() {
    let (stdin, data) = (5, 8);
    let of = |records: &[(u8, &str)]| -> Vec<(u8, Vec<u8>)> {
        records.iter().map(|(kind, content)| (*kind, content.as_bytes().to_vec())).collect()
    };
    assert_eq!(sent(None, &[b"ab"]), of(&[(stdin, "ab"), (stdin, "")]));
    assert_eq!(sent(Some(0), &[b"file"]), of(&[(stdin, ""), (data, "file"), (data, "")]));
    let both = of(&[(stdin, "ab"), (stdin, "c"), (stdin, ""), (data, "file"), (data, "s"), (data, "")]);
    assert_eq!(sent(Some(3), &[b"ab", b"cfile", b"s"]), both);
    assert_eq!(sent(Some(2), &[b"ab"]), of(&[(stdin, "ab"), (stdin, ""), (data, "")]));
    assert_eq!(sent(Some(0), &[]), of(&[(stdin, ""), (data, "")]));
}
