//! The engine behind a real pool of the gateway's.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_gateway::backend::ring::{Pool, Work, before_park};
use hostler_gateway::backend::{OnAbandon, TimeLimit};
use hostler_gateway::pool::Settings;
use hostler_gateway::supervisor::Process;
use hostler_gateway::supervisor::fork::{Host, NewParent};
use hostler_gateway::{Error, Kind};
use hostler_php_frames as frames;
use hostler_sys::pipe::Direction;
use hostler_wire::codec::Encoder;
use hostler_wire::engine::{ServerFacts, Setup};
use hostler_wire::site::Exit;
use hostler_wire::work::{Directory, FromWorker, Outcome, RequestHead, ToWorker, request_flag};
use std::cell::RefCell;
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Starts the engine as a site's process does.
struct Php {
    folder: String,
    /// Its messages that belong to no request.
    said: Rc<RefCell<String>>,
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

impl Host for Php {
    async fn start(&self, _: bool) -> Result<NewParent, Error> {
        let (control, theirs) = hostler_sys::socket::stream_pair()?;
        let (output, errors) = (Direction::FromProgram.pipe()?, Direction::FromProgram.pipe()?);
        let mut command = Command::new(env!("CARGO_BIN_EXE_hostler-php"));
        command.stdin(Stdio::from(theirs)).stdout(Stdio::from(output.1)).stderr(Stdio::from(errors.1));
        let child = command.spawn()?;
        let (pid, output): (u32, [OwnedFd; 2]) = (child.id(), [output.0, errors.0]);
        Ok(NewParent { control, output, pid, door: None, adopted: false, process: Box::new(Parent(child)) })
    }

    fn setup(&self) -> Setup {
        let mut own = Vec::new();
        let ini = Some(format!("{}/php.ini", self.folder));
        frames::Setup { ini, modules: vec!["core".into()], warm: Vec::new() }.encode(&mut Encoder(&mut own));
        let server = ServerFacts {
            document_root: self.folder.clone(),
            software: "Hostler/0.1 (Unix)".into(),
            ..ServerFacts::default()
        };
        Setup { title: "test".into(), servers: vec![server], own, ..Setup::default() }
    }

    fn in_use(&self) {}

    fn line(&self, _: u32, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        eprintln!("engine: {text}");
        self.said.borrow_mut().push_str(&text);
    }
}

/// A pool, and the folder of its scripts.
struct Site {
    pool: Arc<Pool>,
    folder: String,
    said: Rc<RefCell<String>>,
}

/// Runs a test with a pool of the engine, on a thread as the front's are.
fn with_site(files: &[(&str, &str)], test: impl AsyncFnOnce(Site)) {
    if env!("PHP_PARTS").is_empty() {
        return hostler_untested::untested("PHP's library or headers are missing");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    for (name, text) in [("php.ini", "opcache.file_update_protection=0\nlog_errors=1\ndisplay_errors=0\n")]
        .iter()
        .chain(files)
    {
        std::fs::write(Path::new(&path).join(name), text).unwrap();
    }
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().on_thread_park(before_park).build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let settings = Settings { start: 1, queue_timeout: Duration::from_secs(5), ..Settings::default() };
        let pool = Pool::new("php".into(), settings, 1);
        let said = Rc::<RefCell<String>>::default();
        let php = Php { folder: path.clone(), said: said.clone() };
        tokio::task::spawn_local(pool.clone().maintain(php));
        let site = Site { pool: pool.clone(), folder: path, said };
        tokio::time::timeout(Duration::from_secs(60), test(site)).await.expect("the test hangs");
        pool.close();
    });
}

/// The response for a client.
#[derive(Debug, Default)]
struct Answer {
    status: u16,
    content_type: String,
    body: String,
    log: String,
    finished: bool,
}

impl Site {
    fn work(&self, name: &str, head: RequestHead<'_>) -> Work {
        let (mut own, mut directory, mut define, mut request) = (vec![], vec![], vec![], vec![]);
        frames::Directory { user_ini: true, ..frames::Directory::default() }.encode(&mut Encoder(&mut own));
        Directory { own: &own, ..Directory::default() }.encode(&mut Encoder(&mut directory));
        ToWorker::Define { id: 7, directory: &directory }.encode(&mut define);
        let (filename, uri) = (format!("{}/{name}", self.folder), format!("/{name}"));
        let head = RequestHead {
            directory: 7,
            filename: filename.as_bytes(),
            uri: uri.as_bytes(),
            unparsed_uri: uri.as_bytes(),
            protocol: 1001,
            remote_ip: b"192.0.2.1",
            server_name: b"a.test",
            server_port: 80,
            ..head
        };
        ToWorker::Request(Box::new(head)).encode(&mut request);
        let timeout = TimeLimit { after: Duration::from_secs(20), set_by: "the test" };
        let on_abandon = OnAbandon::RunToEnd(timeout.after);
        Work { thread: 0, directory: (7, define.into()), request, timeout, on_abandon }
    }

    async fn ask(&self, name: &str, head: RequestHead<'_>, body: &[u8]) -> Result<Answer, Error> {
        let has_body = head.flags & request_flag::BODY != 0;
        let mut exchange = self.pool.begin(self.work(name, head)).await?;
        if has_body {
            exchange.tell(&ToWorker::Body(body));
            exchange.tell(&ToWorker::BodyEnd(true));
        }
        let mut answer = Answer::default();
        while let Some(frame) = poll_fn(|context| exchange.poll_next(context)).await.transpose()? {
            match FromWorker::decode(frame.kind, &frame.body).unwrap() {
                FromWorker::Body(piece) => answer.body.push_str(&String::from_utf8_lossy(piece)),
                FromWorker::Head(head) => {
                    answer.status = head.status;
                    answer.content_type =
                        String::from_utf8_lossy(head.content_type.unwrap_or_default()).into();
                }
                FromWorker::Finished(Outcome::Status(status)) => answer.status = status,
                FromWorker::Finished(outcome) => {
                    assert_eq!(outcome, Outcome::Done);
                    answer.finished = true;
                }
                FromWorker::Log { text, .. } => answer.log.push_str(&String::from_utf8_lossy(text)),
                FromWorker::End { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        Ok(answer)
    }

    async fn get(&self, name: &str) -> Answer {
        self.ask(name, RequestHead { method: b"GET", ..RequestHead::default() }, b"").await.unwrap()
    }
}

#[test]
fn a_script_answers_again_and_again() {
    with_site(&[("a.php", "<?php echo 'hello ', $_GET['a'] ?? '';")], async |site| {
        for _ in 0..50 {
            let head = RequestHead { method: b"GET", args: Some(b"a=b"), ..RequestHead::default() };
            let answer = site.ask("a.php", head, b"").await.unwrap();
            assert_eq!((answer.status, &*answer.body, answer.finished), (200, "hello b", true));
            assert_eq!(answer.content_type, "text/html; charset=UTF-8");
        }
        let version = site.pool.status().version;
        assert!(version.starts_with("PHP 8.") && version.contains("/php.ini"), "{version}");
    });
}

#[test]
fn programs_are_told_all_that_apache_tells() {
    let text = "<?php foreach (['PHP_SELF', 'SCRIPT_NAME', 'SERVER_SOFTWARE', 'SERVER_NAME', 'SERVER_PORT', 'REMOTE_ADDR',
        'HTTP_X_A', 'QUERY_STRING', 'REQUEST_METHOD', 'GATEWAY_INTERFACE', 'SERVER_PROTOCOL', 'OWN'] as $n)
        echo $_SERVER[$n] ?? '-', '|';
        echo basename($_SERVER['SCRIPT_FILENAME']), '|', (int) isset($_SERVER['REQUEST_TIME_FLOAT']), '|',
        (int) isset($_SERVER['HTTP_PROXY']);";
    with_site(&[("a.php", text)], async |site| {
        let head = RequestHead {
            method: b"GET",
            headers_in: vec![(b"X-A", b"1"), (b"Proxy", b"evil")],
            subprocess_env: vec![(b"OWN", b"set")],
            ..RequestHead::default()
        };
        let answer = site.ask("a.php", head, b"").await.unwrap();
        let expected = "/a.php|/a.php|Hostler/0.1 (Apache-compatible)|a.test|80|192.0.2.1|1||GET|CGI/1.1|HTTP/1.1|set|\
                        a.php|1|0";
        assert_eq!(answer.body, expected);
    });
}

#[test]
fn forms_and_long_answers_stream() {
    let text = "<?php echo strlen($_POST['a']), str_repeat('x', 3 << 20);";
    with_site(&[("a.php", text)], async |site| {
        let body = format!("a={}", "y".repeat(500_000));
        let length = body.len().to_string();
        let head = RequestHead {
            method: b"POST",
            flags: request_flag::BODY,
            headers_in: vec![
                (b"Content-Type", b"application/x-www-form-urlencoded"),
                (b"Content-Length", length.as_bytes()),
            ],
            ..RequestHead::default()
        };
        let answer = site.ask("a.php", head, body.as_bytes()).await.unwrap();
        assert!(answer.body.starts_with("500000x"));
        assert_eq!(answer.body.len(), 6 + (3 << 20));
    });
}

#[test]
fn a_fatal_error_is_a_500_that_the_log_explains() {
    let files = [("a.php", "<?php nothing();"), ("b.php", "<?php echo 'good';")];
    with_site(&files, async |site| {
        let answer = site.get("a.php").await;
        assert_eq!((answer.status, answer.finished), (500, false));
        assert!(answer.log.contains("Call to undefined function nothing()"), "{}", answer.log);
        assert_eq!(site.get("b.php").await.body, "good");
    });
}

#[test]
fn a_death_costs_its_own_request_and_says_how() {
    let files = [("a.php", "<?php posix_kill(getmypid(), 11); sleep(5);"), ("b.php", "<?php echo 'good';")];
    with_site(&files, async |site| {
        let head = RequestHead { method: b"GET", ..RequestHead::default() };
        let error = site.ask("a.php", head, b"").await.unwrap_err();
        assert_eq!(error.kind, Kind::WorkerDied, "{error}");
        assert_eq!(site.get("b.php").await.body, "good");
    });
}

#[test]
fn workers_share_what_is_compiled() {
    let text = "<?php $s = opcache_get_status(true)['scripts'][__FILE__] ?? null; echo $s ? $s['hits'] : -1;";
    with_site(&[("a.php", text), ("b.php", "<?php posix_kill(getmypid(), 9);")], async |site| {
        let first: i32 = site.get("a.php").await.body.parse().unwrap();
        let head = RequestHead { method: b"GET", ..RequestHead::default() };
        assert!(site.ask("b.php", head, b"").await.is_err());
        // Another worker goes on counting.
        let later: i32 = site.get("a.php").await.body.parse().unwrap();
        assert!(later > first, "{first} {later}");
    });
}

/// An extension that does what those do that watch programs: it starts a thread when it is loaded.
const THREADED: &str = r#"
#include "php.h"
#include <pthread.h>
#include <unistd.h>
static void *rest(void *nothing) { for (;;) pause(); return nothing; }
static PHP_MINIT_FUNCTION(threaded) { pthread_t thread; return pthread_create(&thread, NULL, rest, NULL) == 0 ? SUCCESS : FAILURE; }
static zend_module_entry module = {STANDARD_MODULE_HEADER, "threaded", NULL, PHP_MINIT(threaded), NULL, NULL, NULL, NULL, "1", STANDARD_MODULE_PROPERTIES};
__attribute__((visibility("default"))) zend_module_entry *get_module(void) { return &module; }
"#;

#[test]
fn threads_of_extensions_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("threaded.c"), folder.path().join("threaded.so"));
    std::fs::write(&source, THREADED).unwrap();
    if !env!("PHP_PARTS").is_empty() {
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-w"]).args(env!("PHP_INCLUDES").split_whitespace());
        assert!(cc.arg(&source).arg("-o").arg(&library).status().unwrap().success());
    }
    let ini = format!("log_errors=1\nextension={}\n", library.display());
    with_site(
        &[("php.ini", &ini), ("a.php", "<?php echo (int) extension_loaded('threaded');")],
        async |site| {
            assert_eq!(site.get("a.php").await.body, "1");
            let said = site.said.borrow().clone();
            assert!(said.contains("2 threads run since PHP's extensions were loaded"), "{said}");
        },
    );
}
