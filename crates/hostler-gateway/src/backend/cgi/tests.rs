//! Conversations with real programs that behave as badly as programs do.

use super::*;
use hostler_untested::wait::await_that;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::pin::Pin;
use std::process::Command;
use std::rc::Rc;
use tokio::sync::oneshot;

const LONG: Duration = Duration::from_secs(20);

/// A child of this test.
struct Child {
    pid: rustix::process::Pid,
    exit: oneshot::Receiver<Exit>,
}

impl Child {
    fn spawn(script: &str, ends: Ends) -> Self {
        let [stdin, stdout, stderr] = ends;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        let mut child = command.spawn().unwrap();
        drop(command);
        let pid = rustix::process::Pid::from_child(&child);
        let (tell, exit) = oneshot::channel();
        std::thread::spawn(move || {
            let status = child.wait().unwrap();
            let exit = status.signal().map_or(Exit::Status(status.code().unwrap_or(0)), Exit::Signal);
            let _ = tell.send(exit);
        });
        Self { pid, exit }
    }
}

impl Process for Child {
    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<Exit>> {
        pin!(&mut self.exit).poll(context).map(Result::ok)
    }

    fn kill(&mut self) {
        let _ = rustix::process::kill_process_group(self.pid, rustix::process::Signal::KILL);
    }
}

/// Pieces of a body, each after a pause.
struct Pieces(VecDeque<Result<Bytes, Error>>, Duration, Option<Pin<Box<tokio::time::Sleep>>>);

impl Input for Pieces {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if !self.1.is_zero() {
            let pause = self.1;
            // Time: a client that sends slowly.
            let sleep = self.2.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
            std::task::ready!(sleep.as_mut().poll(context));
            self.2 = None;
        }
        Poll::Ready(self.0.pop_front())
    }
}

/// Lines, and of how many it was left to us when they are logged.
#[derive(Clone, Default)]
struct Seen(Rc<RefCell<Vec<String>>>, Rc<Cell<usize>>);

impl Sink for Seen {
    fn line(&mut self, line: &[u8]) {
        self.0.borrow_mut().push(String::from_utf8_lossy(line).into_owned());
    }

    fn rest(&mut self, lines: RestOfLines) {
        let before = self.0.borrow().len();
        lines.at_once(|line| self.line(line));
        self.1.set(self.0.borrow().len() - before);
    }
}

struct Talk {
    exchange: Exchange<Pieces, Child, Seen>,
    seen: Seen,
    pid: rustix::process::Pid,
}

fn talk(script: &str, body: Option<Pieces>, timeout: Duration) -> Talk {
    let (pipes, ends) = Pipes::open(body.is_some()).unwrap();
    let child = Child::spawn(script, ends);
    let (pid, seen) = (child.pid, Seen::default());
    let exchange = Exchange::new(pipes, body, child, seen.clone(), timeout).unwrap();
    Talk { exchange, seen, pid }
}

fn run(script: &str) -> Talk {
    talk(script, None, LONG)
}

fn body(bytes: usize) -> Option<Pieces> {
    let chunks = (0..bytes / 10_000).map(|_| Ok(Bytes::from(vec![b'x'; 10_000]))).collect();
    Some(Pieces(chunks, Duration::ZERO, None))
}

fn later(pieces: &[&'static str], pause: u64) -> Option<Pieces> {
    let chunks = pieces.iter().map(|p| Ok(Bytes::from_static(p.as_bytes()))).collect();
    Some(Pieces(chunks, Duration::from_millis(pause), None))
}

impl Talk {
    async fn header(&mut self) -> Result<Header, Error> {
        self.exchange.header(Limits::default()).await
    }

    async fn rest(&mut self) -> (Vec<u8>, Option<Error>) {
        let mut out = Vec::new();
        while let Some(chunk) = poll_fn(|context| self.exchange.poll_chunk(context)).await {
            match chunk {
                Ok(chunk) => out.extend_from_slice(&chunk),
                Err(error) => return (out, Some(error)),
            }
        }
        (out, None)
    }

    async fn text(&mut self) -> String {
        self.header().await.unwrap();
        let (out, error) = self.rest().await;
        assert!(error.is_none(), "{error:?}");
        String::from_utf8(out).unwrap()
    }
}

/// Returns whether a process of the group is left, soon after. (Zombies are no processes; who reaps them is not our
/// matter.)
fn lives(group: rustix::process::Pid) -> bool {
    let group = group.as_raw_nonzero().to_string();
    let member = |entry: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        fields.next().is_some_and(|state| state != "Z") && fields.nth(1) == Some(&group)
    };
    (0..50).all(|_| {
        // Time: looks again.
        std::thread::sleep(Duration::from_millis(20));
        std::fs::read_dir("/proc").unwrap().flatten().any(member)
    })
}

#[tokio::test]
async fn an_answer_comes_whole() {
    let mut talk = run("printf 'Status: 201\\nX-A: b\\n\\nhello'; printf ' world'");
    let header = talk.header().await.unwrap();
    assert_eq!(header.status.unwrap().code, 201);
    assert!(talk.exchange.gather(1 << 16, LONG).await);
    assert_eq!(talk.exchange.whole(), "hello world");
}

#[tokio::test]
async fn stdin_is_empty_without_a_body() {
    assert_eq!(run("printf '\\n'; cat; echo end").text().await, "end\n");
}

#[tokio::test]
async fn input_and_output_flow_at_once() {
    let mut talk = talk("printf 'A: b\\n\\n'; cat", body(2_000_000), LONG);
    assert_eq!(talk.text().await.len(), 2_000_000);
}

#[tokio::test]
async fn a_body_is_given_before_the_answer_is_sent() {
    let mut talk = talk("printf 'A: b\\n\\n'; cat", later(&["one ", "two"], 30), LONG);
    talk.header().await.unwrap();
    assert!(talk.exchange.gather(1 << 16, Duration::from_millis(500)).await);
    assert_eq!(talk.exchange.whole(), "one two");
}

#[tokio::test]
async fn a_program_may_close_its_stdin_or_never_read_it() {
    let closes = "exec <&-; printf '\\n'; head -c 300000 /dev/zero";
    assert_eq!(talk(closes, body(1_000_000), LONG).text().await.len(), 300_000);
    let ignores = "printf '\\n'; head -c 300000 /dev/zero </dev/null; exit 0";
    assert_eq!(talk(ignores, body(1_000_000), LONG).text().await.len(), 300_000);
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nothing() {
    let mut talk =
        run("i=0; while [ $i -lt 20000 ]; do echo \"line $i\" >&2; i=$((i+1)); done; printf '\\nend'");
    assert_eq!(talk.text().await, "end");
    let seen = talk.seen.0.borrow();
    assert_eq!((seen.len(), seen[0].as_str(), seen[19_999].as_str()), (20_000, "line 0", "line 19999"));
}

#[tokio::test]
async fn lines_that_an_ended_program_has_left_are_not_logged_at_once() {
    let mut talk = run("printf '\\n'; yes x | head -c 60000 >&2");
    // Its end is there before its lines are looked at.
    let process = format!("/proc/{}", talk.pid.as_raw_nonzero());
    await_that("the program has ended", || !std::path::Path::new(&process).exists());
    talk.text().await;
    assert_eq!(talk.seen.0.borrow().len(), 30_000);
    assert!(talk.seen.1.get() > 29_000, "{}", talk.seen.1.get());
    assert_eq!(talk.exchange.stderr.last_lines(), ["x", "x", "x"]);
}

#[tokio::test]
async fn long_and_unfinished_lines_are_logged() {
    let mut talk = run("printf '\\n'; head -c 20000 /dev/zero | tr '\\0' a >&2; printf '\\nlast' >&2");
    talk.text().await;
    let lengths: Vec<usize> = talk.seen.0.borrow().iter().map(String::len).collect();
    assert_eq!(lengths, [8192, 8192, 3616, 4]);
}

#[tokio::test]
async fn one_request_cannot_fill_the_log() {
    let mut talk = run(
        "yes 'a line of some length, so that it is soon too much' | head -c 8000000 >&2; printf '\\nend'",
    );
    assert_eq!(talk.text().await, "end");
    let seen = talk.seen.0.borrow();
    assert!(seen.last().unwrap().starts_with("(too much on stderr"));
    assert!(seen.iter().map(|line| line.len() + 1).sum::<usize>() < 5 << 20);
}

#[tokio::test]
async fn working_on_after_closing_the_output_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let (go, done) = (folder.path().join("go"), folder.path().join("done"));
    let waits = format!("until [ -e {} ]; do sleep 0.01; done", go.display());
    let mut talk = run(&format!("printf '\\nend'; exec >&- 2>&-; {waits}; echo x >{}", done.display()));
    assert_eq!(talk.text().await, "end");
    drop(talk);
    std::fs::write(go, "").unwrap();
    await_that("what it does then", || std::fs::read_to_string(&done).is_ok_and(|text| text == "x\n"));
}

#[tokio::test]
async fn a_daemon_that_holds_the_output_does_not_hold_the_answer() {
    let mut talk = run("sleep 30 & printf '\\nend'");
    let start = Instant::now();
    assert_eq!(talk.text().await, "end");
    // Time: the daemon would hold it for thirty seconds.
    assert!(start.elapsed() < Duration::from_secs(5));
    // It is left alone: administrators start programs in such ways.
    assert!(lives(talk.pid));
    rustix::process::kill_process_group(talk.pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_child_may_go_on_with_the_answer() {
    let mut talk = run("printf '\\n'; (sleep 0.5; echo one; sleep 0.5; echo two) & exit 0");
    assert_eq!(talk.text().await, "one\ntwo\n");
}

async fn error(script: &str) -> Error {
    let mut talk = run(script);
    let error = talk.header().await.unwrap_err();
    assert!(!lives(talk.pid), "{script} is left");
    error
}

#[tokio::test]
async fn without_a_header_there_is_a_cause() {
    let none = error("echo 'it broke' >&2; exit 3").await;
    assert_eq!(none.kind, Kind::NoHeader);
    assert_eq!(
        none.to_string(),
        "End of script output before headers (it exited with status 3; last on stderr: it broke)"
    );
    let premature = error("echo 'A: b'").await;
    assert_eq!((premature.kind, premature.status()), (Kind::BadHeader, 500));
    let malformed = error("printf 'hello\\0 world\\nmore'; exec sleep 20").await;
    assert!(malformed.to_string().ends_with(r#"no colon in "hello\x00 world""#), "{malformed}");
    let long = error("printf 'A: '; exec head -c 1000000 /dev/zero").await;
    assert_eq!(long.kind, Kind::BadHeader);
    assert!(long.to_string().len() < 1500);
    let closed = error("exec >&-; sleep 20").await;
    assert_eq!(closed.kind, Kind::NoHeader);
    let signal = error("kill -SEGV $$").await;
    assert_eq!((signal.kind, signal.to_string().contains("signal 11 (SEGV)")), (Kind::Killed, true));
}

#[tokio::test]
async fn a_silent_program_is_ended_with_its_whole_group() {
    let mut talk = talk("sleep 30 & sleep 30", None, Duration::from_millis(200));
    let error = talk.header().await.unwrap_err();
    assert_eq!((error.kind, error.status()), (Kind::Timeout, 504));
    assert!(!lives(talk.pid));
}

#[tokio::test]
async fn a_program_that_falls_silent_breaks_its_answer_off() {
    let mut talk = talk("printf '\\nsome'; exec sleep 30", None, Duration::from_millis(200));
    talk.header().await.unwrap();
    let (out, error) = talk.rest().await;
    assert_eq!((out.as_slice(), error.unwrap().kind), (&b"some"[..], Kind::Timeout));
    assert!(!lives(talk.pid));
}

#[tokio::test]
async fn a_slow_client_is_not_the_programs_fault() {
    let mut talk = talk("printf '\\n'; cat", later(&["a", "b", "c"], 300), Duration::from_millis(200));
    assert_eq!(talk.text().await, "abc");
}

#[tokio::test]
async fn an_answer_cut_by_a_signal_does_not_look_complete() {
    let mut talk = run("printf '\\nsome'; kill -KILL $$");
    talk.header().await.unwrap();
    assert!(!talk.exchange.gather(1 << 16, LONG).await);
    let (out, error) = talk.rest().await;
    assert_eq!((out.as_slice(), error.unwrap().kind), (&b"some"[..], Kind::Killed));
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_program() {
    let mut pieces = later(&["a"], 30).unwrap();
    pieces.0.push_back(Err(Error::new(Kind::ClientGone)));
    let mut talk = talk("cat >/dev/null; sleep 30", Some(pieces), LONG);
    assert_eq!(talk.header().await.unwrap_err().kind, Kind::ClientGone);
    assert!(!lives(talk.pid));
}

#[tokio::test]
async fn nobody_wants_the_rest() {
    let mut talk = run("printf '\\n'; sleep 30 & exec cat /dev/zero");
    talk.header().await.unwrap();
    drop(talk.exchange);
    assert!(!lives(talk.pid));
}

#[tokio::test]
async fn an_answer_that_nobody_takes_waits() {
    let done = tempfile::NamedTempFile::new().unwrap();
    let script = format!("printf '\\n'; head -c 1000000 /dev/zero; echo x >{}", done.path().display());
    let mut talk = run(&script);
    talk.header().await.unwrap();
    assert!(!talk.exchange.gather(1 << 16, LONG).await);
    // Time: that the program does not go on meanwhile is what is tested.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(std::fs::read_to_string(done.path()).unwrap(), "");
    let (out, error) = talk.rest().await;
    assert_eq!((out.len(), error.is_none()), (1_000_000, true));
    assert_eq!(std::fs::read_to_string(done.path()).unwrap(), "x\n");
}

#[tokio::test]
async fn output_after_a_redirect_is_dropped() {
    let mut talk = run("printf 'Location: /a\\n\\n'; head -c 1000000 /dev/zero");
    assert_eq!(talk.header().await.unwrap().location.as_deref(), Some(&b"/a"[..]));
    talk.exchange.discard().await.unwrap();
    assert_eq!(talk.rest().await.0, b"");
}

/// A program that nobody watches over any more.
struct Lost(Child);

impl Process for Lost {
    fn poll_exit(&mut self, _: &mut Context<'_>) -> Poll<Option<Exit>> {
        Poll::Ready(None)
    }

    fn kill(&mut self) {
        self.0.kill();
    }
}

#[tokio::test]
async fn an_answer_that_may_have_been_cut_off_is_no_whole_one() {
    for (script, header) in [("echo Content-Type: text/plain; echo; echo half", true), ("exit 0", false)] {
        let (pipes, ends) = Pipes::open(false).unwrap();
        let child = Lost(Child::spawn(script, ends));
        let mut exchange: Exchange<Pieces, Lost, Seen> =
            Exchange::new(pipes, None, child, Seen::default(), LONG).unwrap();
        let error = match exchange.header(Limits::default()).await {
            Ok(_) => {
                assert!(header);
                assert!(!exchange.gather(1 << 20, LONG).await);
                assert_eq!(poll_fn(|context| exchange.poll_chunk(context)).await.unwrap().unwrap(), "half\n");
                poll_fn(|context| exchange.poll_chunk(context)).await.unwrap().unwrap_err()
            }
            Err(error) => error,
        };
        assert_eq!(error.kind, crate::Kind::SiteLost, "{script}");
    }
}

struct NoLines;

impl Sink for NoLines {
    fn line(&mut self, _: &[u8]) {}
}

fn dialogue(script: &str) -> Dialogue<Child, NoLines> {
    let (pipes, ends) = Pipes::open(true).unwrap();
    Dialogue::new(pipes, Child::spawn(script, ends), NoLines).unwrap()
}

#[tokio::test]
async fn a_line_is_answered_by_a_line_again_and_again() {
    let mut program = dialogue("while read line; do echo \"<$line>\"; done");
    for question in ["one", "two", ""] {
        assert_eq!(
            program.ask(question.as_bytes(), 100, LONG).await,
            Ok(format!("<{question}>").into_bytes())
        );
    }
    // More than a pipe holds, both ways.
    let long = vec![b'x'; 200_000];
    let answer = program.ask(&long, 1 << 20, LONG).await.unwrap();
    assert_eq!(answer.len(), long.len() + 2);
}

#[tokio::test]
async fn who_does_not_answer_a_line_with_a_line_is_found_out() {
    let short = Duration::from_millis(200);
    for (script, why) in [
        ("read line; exit 3", Unanswered::Ended { how: Some(Exit::Status(3)) }),
        ("read line; kill -9 $$", Unanswered::Ended { how: Some(Exit::Signal(9)) }),
        ("read line; printf half; exit 0", Unanswered::Ended { how: Some(Exit::Status(0)) }),
        ("read line; printf 'a\\nb\\n'; read line", Unanswered::OutOfStep),
        ("yes | tr -d '\\n'", Unanswered::TooLong { longest: 100 }),
        ("read line; read line", Unanswered::Silent { after: short }),
    ] {
        let mut program = dialogue(script);
        // What comes unasked is found before the question, or is its answer.
        let patience = if matches!(why, Unanswered::Silent { .. }) { short } else { LONG };
        let said = program.ask(b"key", 100, patience).await;
        let unasked = script.starts_with("yes") && said == Err(Unanswered::OutOfStep);
        assert!(unasked || said == Err(why), "{script}: {said:?}");
    }
}

#[tokio::test]
async fn what_comes_later_than_its_answer_is_nobody_s() {
    let mut program = dialogue("read line; echo one; echo two; read line; echo three; read line");
    let first = program.ask(b"key", 100, LONG).await;
    if first.is_ok() {
        // The second line may come later: it must not become the next answer.
        while !program.stdout_has_more() {
            tokio::task::yield_now().await;
        }
        assert_eq!(program.ask(b"key", 100, LONG).await, Err(Unanswered::OutOfStep));
    } else {
        assert_eq!(first, Err(Unanswered::OutOfStep));
    }
}
