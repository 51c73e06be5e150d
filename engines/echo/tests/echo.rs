//! The engine in C behind a real pool of the gateway's.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_gateway::backend::ring::{Pool, Work, before_park};
use hostler_gateway::backend::{OnAbandon, TimeLimit};
use hostler_gateway::pool::Settings;
use hostler_gateway::supervisor::Process;
use hostler_gateway::supervisor::fork::{Host, NewParent};
use hostler_gateway::{Error, Kind};
use hostler_sys::pipe::Direction;
use hostler_wire::codec::Encoder;
use hostler_wire::engine::Setup;
use hostler_wire::site::Exit;
use hostler_wire::work::{Directory, FromWorker, Outcome, RequestHead, ToWorker, request_flag};
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Starts the engine as a site's process does; `own`: the engine's own part of the setup.
struct Echo {
    own: &'static str,
}

struct Parent(Child);

impl Process for Parent {
    fn poll_exit(&mut self, _: &mut Context<'_>) -> Poll<Option<Exit>> {
        match self.0.try_wait() {
            Ok(Some(status)) => Poll::Ready(status.code().map(Exit::Status)),
            _ => Poll::Pending,
        }
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        self.kill();
        let _ = self.0.wait();
    }
}

impl Host for Echo {
    async fn start(&self, _: bool) -> Result<NewParent, Error> {
        let (control, theirs) = hostler_sys::socket::stream_pair()?;
        let (output, errors) = (Direction::FromProgram.pipe()?, Direction::FromProgram.pipe()?);
        let mut command = Command::new(env!("CARGO_BIN_EXE_hostler-echo"));
        command.stdin(Stdio::from(theirs)).stdout(Stdio::from(output.1)).stderr(Stdio::from(errors.1));
        let child = command.spawn()?;
        let (pid, output): (u32, [OwnedFd; 2]) = (child.id(), [output.0, errors.0]);
        Ok(NewParent { control, output, pid, door: None, adopted: false, process: Box::new(Parent(child)) })
    }

    fn setup(&self) -> Setup {
        Setup { title: "test".into(), own: self.own.into(), ..Setup::default() }
    }

    fn in_use(&self) {}

    fn line(&self, _: u32, _: &[u8]) {}
}

/// Runs a test with a pool of the engine, on a thread as the front's are.
fn with_pool(own: &'static str, test: impl AsyncFnOnce(Arc<Pool>)) {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().on_thread_park(before_park).build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let settings = Settings { start: 1, queue_timeout: Duration::from_secs(2), ..Settings::default() };
        let pool = Pool::new("echo".into(), settings, 1);
        tokio::task::spawn_local(pool.clone().maintain(Echo { own }));
        tokio::time::timeout(Duration::from_secs(30), test(pool.clone())).await.expect("the test hangs");
        pool.close();
    });
}

fn work(head: RequestHead<'_>) -> Work {
    let (mut directory, mut define, mut request) = (Vec::new(), Vec::new(), Vec::new());
    Directory { own: b"Hello. ", ..Directory::default() }.encode(&mut Encoder(&mut directory));
    ToWorker::Define { id: 7, directory: &directory }.encode(&mut define);
    ToWorker::Request(Box::new(RequestHead { directory: 7, method: b"GET", ..head })).encode(&mut request);
    let timeout = TimeLimit { after: Duration::from_secs(10), set_by: "the test" };
    let on_abandon = OnAbandon::TakeBackOrKill(timeout.after);
    Work { thread: 0, directory: (7, define.into()), request, timeout, on_abandon }
}

/// The answer's body, or what became of it, and whether the worker ends.
async fn ask(pool: &Arc<Pool>, head: RequestHead<'_>, body: &[u8]) -> Result<(String, bool), Error> {
    let has_body = head.flags & request_flag::BODY != 0;
    let mut exchange = pool.begin(work(head)).await?;
    if has_body {
        exchange.tell(&ToWorker::Body(body));
        exchange.tell(&ToWorker::BodyEnd(true));
    }
    let (mut answer, mut ends) = (Vec::new(), false);
    while let Some(frame) = poll_fn(|context| exchange.poll_next(context)).await.transpose()? {
        match FromWorker::decode(frame.kind, &frame.body).unwrap() {
            FromWorker::Body(piece) => answer.extend_from_slice(piece),
            FromWorker::Head(head) => {
                assert_eq!((head.status, head.content_type), (200, Some(&b"text/plain"[..])));
            }
            FromWorker::Finished(Outcome::Status(status)) => answer = status.to_string().into_bytes(),
            FromWorker::Finished(outcome) => assert_eq!(outcome, Outcome::Done),
            FromWorker::End { exits, .. } => ends = exits,
            other => panic!("{other:?}"),
        }
    }
    Ok((String::from_utf8(answer).unwrap(), ends))
}

#[test]
fn it_answers_with_what_it_was_asked() {
    with_pool("", async |pool| {
        let head = RequestHead {
            uri: b"/x",
            args: Some(b"a=b"),
            headers_in: vec![(b"Host", b"a"), (b"Accept", b"*/*")],
            flags: request_flag::BODY,
            ..RequestHead::default()
        };
        let body = "y".repeat(100_000);
        let expected = format!("Hello. GET /x?a=b\nHost: a\nAccept: */*\n{body}");
        for _ in 0..3 {
            assert_eq!(ask(&pool, head.clone(), body.as_bytes()).await.unwrap(), (expected.clone(), false));
        }
        let plain = RequestHead { uri: b"/missing", ..RequestHead::default() };
        assert_eq!(ask(&pool, plain, b"").await.unwrap().0, "404");
        let last = RequestHead { uri: b"/last", ..RequestHead::default() };
        assert_eq!(ask(&pool, last, b"").await.unwrap(), ("Hello. GET /last\n".to_owned(), true));
        assert_eq!(pool.status().version, "echo 1");
    });
}

#[test]
fn a_parent_that_cannot_load_says_why() {
    with_pool("no load", async |pool| {
        let error = ask(&pool, RequestHead::default(), b"").await.unwrap_err();
        assert_eq!(error.kind, Kind::EngineNotLoaded);
        assert!(error.to_string().contains("it was told not to load"), "{error}");
    });
}

#[test]
fn a_worker_that_cannot_begin_says_why() {
    with_pool("no workers", async |pool| {
        let error = ask(&pool, RequestHead::default(), b"").await.unwrap_err();
        assert_eq!(error.kind, Kind::WorkerNotMade);
        assert!(error.to_string().contains("it was told not to begin"), "{error}");
    });
}
